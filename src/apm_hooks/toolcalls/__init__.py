"""A tool call of any host, read: which files it could touch, and what of it cannot be judged (protocol, section 8).

Nothing is run and no file is looked at. Known tools are read by the table; of any other tool each argument that reads
like a path counts. Nothing is passed over in silence: what is not understood comes out as unjudged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apm_hooks.access import Calling
from apm_hooks.toolcalls import changes, commands, lookups, unknown
from apm_hooks.toolcalls.arguments import Arguments, fold, mapping, records
from apm_hooks.toolcalls.gathering import Gathering
from apm_hooks.toolcalls.paths import Why, base_of
from apm_hooks.toolcalls.table import LOOKING, MCP_TOOLS, SERVED, TAKEN, TOOLS, Does, Taken

__all__ = ["Why", "read_call"]

_DEPTH = 8
_CALLS = 256
_NAME_CHARS = 512

_NATIVE = {fold(name): tool.does for tool in TOOLS for name in tool.names.split()}
_SERVED = {fold(name): tool.does for tool in MCP_TOOLS for name in tool.names.split()}
_OURS = re.compile(
    r"(?:functions\.)?mcp__(?:plugin_.+?_)?apm[-_]?hooks__(?P<served>.+)"
    r"|(?!mcp__)(?:mcp[_:/-])?apm[-_]?hooks(?:__|[-_.:/])(?P<joined>[^_].*)",
    re.IGNORECASE | re.DOTALL,
)
_BY_SERVER = re.compile(r"(?:functions\.)?mcp__.+?__(?P<tool>.+)|mcp:(?P<named>.+)", re.IGNORECASE | re.DOTALL)
_BARE = re.compile(r"(?:.*[.:/])?(?:(?:developer|platform|builtin|default_api)_+)?(?P<tool>.+)", re.DOTALL)
_SERVER_WORDS = frozenset(("mcp", "filesystem", "fs", "files", "file", "commander", "serena"))

_CALL_LISTS = "tool_calls tool_uses calls invocations"
_CALL_NAMES = "id name tool tool_name recipient_name"
_CALL_ARGUMENTS = "args arguments parameters params input tool_input"

_MAIN: dict[Does | None, str] = {
    None: "input",
    Does.PATCH: "input",
    Does.SHELL: "command",
    Does.OTHER_SHELL: "command",
    Does.CODE: "code",
    Does.FETCH: "url",
    Does.GLOB: "pattern",
    Does.FLOATING_GLOB: "pattern",
    Does.SEARCH: "pattern",
}
"""The argument that a text stands for which comes instead of a record; otherwise a path."""

_READERS: dict[Does, Callable[[Arguments, Gathering], None]] = {
    Does.READ: lookups.read,
    Does.VIEW: lookups.view,
    Does.READ_MANY: lookups.read_many,
    Does.LIST: lookups.listing,
    Does.TREE: lookups.tree,
    Does.GLOB: lookups.glob,
    Does.FLOATING_GLOB: lookups.floating_glob,
    Does.SEARCH: lookups.search,
    Does.SEARCH_EVERYWHERE: lookups.search_everywhere,
    Does.SESSIONS: lookups.sessions,
    Does.FETCH: lookups.fetch,
    Does.MEDIA: lookups.media,
    Does.OUTPUT: lookups.output,
    Does.WRITE: changes.write,
    Does.EDIT: changes.edit,
    Does.EDITOR: changes.editor,
    Does.CHANGE: changes.change,
    Does.DELETE: changes.delete,
    Does.MOVE: changes.move,
    Does.COPY: changes.copy,
    Does.FOLDER: changes.folder,
    Does.PATCH: changes.patch,
    Does.HOST_MEMORY: changes.host_memory,
    Does.SHELL: commands.shell,
    Does.STDIN: commands.stdin,
    Does.OTHER_SHELL: commands.other_shell,
    Does.CODE: commands.code,
}


def read_call(name: str, arguments: Mapping[str, Any], *, cwd: str, home: str, host: str = "claude-code") -> Calling:
    """What a tool call could do; relative paths start from `cwd`, and `home` is what `~` stands for.

    Both are absolute; empty where they are not known. `host` says whose tool it is: arguments narrow what the tool does
    only where that host is known to take them (`table.TAKEN`); others count besides, since it would pass over them.
    Paths come out absolute and resolved by their letters alone. A word with `..` in it comes out a second time with its
    `..` kept, for whoever follows links as the system does, and so does each other reading that some host gives it.
    A call of our own tools is known and has its words in `own`. Never raises, whatever a host or an agent sends.
    """
    found = Gathering(base_of(cwd, home))
    _call(name, arguments, host, found, 0)
    return found.calling()


def _call(name: Any, given: Any, host: str, found: Gathering, depth: int) -> None:
    if not isinstance(name, str):
        found.doubt(Why.NOT_TEXT, type(name).__name__)
        name = ""
    does, served = _does(name)
    record = {} if given is None else mapping(given)
    if record is None and isinstance(given, str):
        record = {_MAIN.get(does, "path"): given}
    elif record is None:
        found.doubt(Why.NOT_TEXT, type(given).__name__)
        record = {"arguments": given}
    if len(name) <= _NAME_CHARS and (ours := _OURS.fullmatch(name)):
        found.own[_own_words(ours["served"] or ours["joined"], record)] = None
    elif does is None:
        found.taken = Taken()
        unknown.unknown(name, record, found)
    elif does is Does.WRAPPER:
        _wrapped(record, host, found, depth)
    elif does is not Does.NOTHING:
        known = Arguments(record)
        found.taken = TAKEN.get((SERVED if served else host, does), Taken())
        _READERS[does](known, found)
        unknown.rest(known.rest(), found, unknown.LOOKS if does in LOOKING else unknown.LOOKS_AND_CHANGES)


def _does(name: str) -> tuple[Does | None, bool]:
    """The kind of a tool, by its name in any of the forms that hosts give to their own and to served tools, and whether
    it is served."""
    if len(name) > _NAME_CHARS:
        return None, False
    if served := _BY_SERVER.fullmatch(name):
        return _SERVED.get(fold(served["tool"] or served["named"])), True
    bare = _BARE.fullmatch(name)
    does = _NATIVE.get(fold(name)) or (_NATIVE.get(fold(bare["tool"])) if bare else None)
    if does is not None:
        return does, False
    # `mcp_filesystem_read_file`, `filesystem-read_file`, `server__read_file`: where the server's part ends is not told.
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    for at in range(1, len(words)):
        server = {word.lower() for word in words[:at]}
        if "__" in name or server & _SERVER_WORDS:
            does = _SERVED.get(fold("".join(words[at:])))
            if does is not None:
                return does, True
    return None, False


def _wrapped(record: Mapping[Any, Any], host: str, found: Gathering, depth: int) -> None:
    """Reads the call, or the calls, that a tool passes on to others: every one that it could mean."""
    outer = Arguments(record)
    calls = records(outer.take(_CALL_LISTS))
    if depth >= _DEPTH or len(calls) > _CALLS:
        found.doubt(Why.TOO_DEEP, "")
        return
    passed = 0
    for call in [*calls, outer.rest()]:
        inner = mapping(call) or {}
        function = mapping(inner.get("function"))
        for each in (inner, function or {}):
            one = Arguments(each)
            if each is inner and function is not None and not one.has(_CALL_ARGUMENTS):
                continue
            names = {name for name in one.take(_CALL_NAMES) if isinstance(name, str)}
            servers = [name for name in one.take("server_name server") if isinstance(name, str)]
            names |= {f"mcp__{server}__{name}" for server in servers for name in names}
            given = one.take(_CALL_ARGUMENTS) or [one.rest()]
            for name, arguments in [(name, arguments) for name in sorted(names) for arguments in given]:
                _call(name, arguments, host, found, depth + 1)
                passed += 1
    if passed < max(len(calls), 1):
        found.doubt(Why.ARGUMENTS, "")
        unknown.unknown("", record, found)


def _own_words(tool: str, record: Mapping[Any, Any]) -> tuple[str, ...]:
    """A call of our own MCP tool in the words of our command: its texts as options."""
    options = (
        (f"--{key.replace('_', '-')}", value)
        for key, value in record.items()
        if isinstance(key, str) and isinstance(value, str)
    )
    return (commands.OWN, "mcp", tool, *(word for option in options for word in option))

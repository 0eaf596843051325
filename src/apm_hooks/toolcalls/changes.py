"""Tools that change files: whole texts, replacements, editors with commands, patches, moves, copies, deletions."""

from __future__ import annotations

from apm_hooks.access import AccessKind, Edit
from apm_hooks.toolcalls.arguments import FILE, Arguments, mapping, path_words, records, texts
from apm_hooks.toolcalls.gathering import Gathering
from apm_hooks.toolcalls.patches import block_edits, line_edits, new_text, read_envelope, read_unified
from apm_hooks.toolcalls.paths import Why

TEXT = "content contents file_text text data new_content file_content code"
OLD = "old_string old_str old_text old old_content search find before needle"
NEW = "new_string new_str new_text new replace replacement repl after"
EVERY = "replace_all every all change_all allow_multiple expected_replacements"
EDITS = "edits changes replacements"
SOURCE = "source source_path src old_path from from_path path file_path"
TARGET = "destination destination_path dest dst new_path to to_path target target_path"
PATCH = "input patch patch_text diff command cmd"
ITEMS = 1_000

MADE = FILE + " dir_path directory dir folder directory_path"

_APPENDS = frozenset(("append", "a", "a+", "ab"))
_LOOSE = "use_regex regex is_regex ignore_case case_insensitive"
_SHOWS = frozenset(("view", "read", "open", "cat"))
_CREATES = frozenset(("create", "write", "write_file", "overwrite", "save"))
_REPLACES = frozenset(("str_replace", "replace", "edit", "string_replace", "find_replace", "replace_string"))
_INSERTS = frozenset(("insert", "append", "undo_edit", "diff"))


def write(arguments: Arguments, found: Gathering) -> None:
    """A whole new text. Where the tool may add to the old one, the text is not told."""
    if _commands(arguments):
        editor(arguments, found)
        if not arguments.has(TEXT):
            return
    adds = arguments.flag("append") or any(mode.strip().lower() in _APPENDS for mode in texts(arguments, "mode"))
    content = arguments.text(TEXT)
    content = None if adds else content
    words = path_words(arguments, FILE, found)
    for word in words:
        found.touch(AccessKind.WRITE, word, content=content)
    for folder in texts(arguments, "directory"):
        for word in words:
            found.touch(AccessKind.WRITE, f"{folder}/{word}", content=content)


def edit(arguments: Arguments, found: Gathering) -> None:
    """Replacements, one or a list, the items of which may name files of their own.

    All that goes to one file is told together, in order; not at all where a part of it cannot be told.
    """
    if _commands(arguments):
        editor(arguments, found)
        if not arguments.has(f"{EDITS} {OLD} {NEW}"):
            return
    given = records(arguments.take(EDITS))
    if len(given) > ITEMS:
        found.doubt(Why.TOO_MUCH, "")
    items = [Arguments(mapping(item) or {}) for item in given[:ITEMS]]
    elsewhere = bool(items) and all(item.has(FILE) for item in items)
    words = path_words(arguments, FILE, found, needed=not elsewhere)
    single = _replacement(arguments)
    mine: list[Edit | None] = [single] if single else []
    theirs: dict[str, list[Edit | None]] = {}
    for item in items:
        change = _replacement(item)
        named = path_words(item, FILE, found, needed=False)
        for word in named:
            theirs.setdefault(word, []).append(change)
        if not named:
            mine.append(change)
    if not items and not single:
        blocks = [block_edits(text) for text in texts(arguments, "diff blocks content")]
        mine += blocks[0] or [None] if len(blocks) == 1 else [None] * len(blocks)
    # In which order the tool takes what stands in two places, or is too much, is not known.
    certain = len(given) <= ITEMS and not (items and single)
    edits = _whole(mine) if certain else ()
    for word in words:
        found.touch(AccessKind.EDIT, word, edits=() if word in theirs else edits)
    for word, plan in theirs.items():
        found.touch(AccessKind.EDIT, word, edits=_whole(plan) if certain and word not in words else ())


def _whole(plan: list[Edit | None]) -> tuple[Edit, ...]:
    """The replacements of a plan, none where one of them cannot be told."""
    known = tuple(change for change in plan if change is not None)
    return known if len(known) == len(plan) else ()


def editor(arguments: Arguments, found: Gathering) -> None:
    """An editor with commands; one that is not known may read and change."""
    commands = _commands(arguments) or [""]
    arguments.take("command")
    content = arguments.text(TEXT)
    change = _replacement(arguments)
    arguments.take("insert_text diff")
    if "rename" in commands:
        move(arguments, found)
    for does in commands:
        for word in path_words(arguments, FILE, found, needed="rename" not in commands):
            _edited(does, word, content, change, found)


def _edited(does: str, word: str, content: str | None, change: Edit | None, found: Gathering) -> None:
    if does in _CREATES:
        found.touch(AccessKind.WRITE, word, content=content)
    elif does in _REPLACES:
        found.touch(AccessKind.EDIT, word, edits=(change,) if change else ())
    elif does in _INSERTS:
        found.touch(AccessKind.EDIT, word)
    elif does == "delete":
        found.touch(AccessKind.DELETE, word, recursive=True)
    elif does != "rename":
        found.touch(AccessKind.READ, word)
        found.touch(AccessKind.LIST, word, recursive=True)
        if does not in _SHOWS:
            found.touch(AccessKind.EDIT, word)


def change(arguments: Arguments, found: Gathering) -> None:
    """A change that is not told as texts: notebook cells, sketches of code, insertions by line."""
    arguments.take(f"{TEXT} {OLD} {NEW} new_source code_edit insert_text")
    for word in path_words(arguments, FILE, found):
        found.touch(AccessKind.EDIT, word)


def delete(arguments: Arguments, found: Gathering) -> None:
    """Takes files or whole folders away."""
    for word in path_words(arguments, MADE, found):
        found.touch(AccessKind.DELETE, word, recursive=True)


def move(arguments: Arguments, found: Gathering) -> None:
    """Takes a file or folder to another place."""
    _carry(arguments, found, AccessKind.MOVE_FROM)


def copy(arguments: Arguments, found: Gathering) -> None:
    """Reads a file or folder and writes it to another place."""
    _carry(arguments, found, AccessKind.READ)


def folder(arguments: Arguments, found: Gathering) -> None:
    """Makes a folder."""
    for word in path_words(arguments, MADE, found):
        found.touch(AccessKind.WRITE, word)


def patch(arguments: Arguments, found: Gathering) -> None:
    """A patch in one text, a list of operations, or a change of one file that is named beside it."""
    written = [text for text in texts(arguments, PATCH) if text]
    operations = [record for each in records(arguments.take("operation operations")) if (record := mapping(each))]
    for operation in operations:
        _operation(Arguments(operation), found)
    named = arguments.has(FILE)
    read = bool(operations)
    for text in written:
        if not named or "***" in text:
            read = read_envelope(text, found) or read_unified(text, found) or read
    if named:
        single = _replacement(arguments)
        plans: list[tuple[Edit, ...]] = [(single,)] if single else []
        plans += [block_edits(text) or _hunks(text) for text in written]
        for word in path_words(arguments, FILE, found):
            found.touch(AccessKind.EDIT, word, edits=plans[0] if len(plans) == 1 else ())
    elif not read:
        found.doubt(Why.PATCH, "\n".join(written))


def host_memory(arguments: Arguments, found: Gathering) -> None:
    """A memory that the host keeps for all conversations, by a tool or as files with an editor."""
    if _commands(arguments):
        editor(arguments, found)
        if not arguments.has("fact action target"):
            return
    arguments.take(f"{TEXT} {OLD} {NEW} fact action target operations")
    places = ("~/.gemini/GEMINI.md", "~/.qwen/QWEN.md") if arguments.has("fact") else ("~/.hermes/memories",)
    for place in places:
        found.touch(AccessKind.WRITE, place, recursive=True, shown="")


def _operation(one: Arguments, found: Gathering) -> None:
    does, diff = one.text("type"), one.text("diff")
    for word in path_words(one, FILE, found):
        if does == "create_file":
            found.touch(AccessKind.WRITE, word, content=None if diff is None else new_text(diff))
        elif does == "delete_file":
            found.touch(AccessKind.DELETE, word)
        else:
            found.touch(AccessKind.EDIT, word, edits=_hunks(diff or ""))


def _hunks(diff: str) -> tuple[Edit, ...]:
    return (line_edits(diff.rstrip("\n").split("\n")) or ()) if diff.startswith("@@") else ()


def _commands(arguments: Arguments) -> list[str]:
    """The commands of an editor, without repeats; several only where one name is spelled in several ways."""
    return list(dict.fromkeys(text.strip().lower() for text in texts(arguments, "command")))


def _replacement(one: Arguments) -> Edit | None:
    old, new, flags = one.text(OLD), one.text(NEW), one.take(EVERY)
    every = one.flag(EVERY)
    # Two flags that differ are one that the tool knows and one that it passes over.
    if len(set(map(bool, flags))) > 1 or one.flag(_LOOSE) or "regex" in texts(one, "mode"):
        return None
    return Edit(old, new, every) if old is not None and new is not None else None


def _carry(arguments: Arguments, found: Gathering, kind: AccessKind) -> None:
    sources, targets = path_words(arguments, SOURCE, found), path_words(arguments, TARGET, found)
    for word in sources:
        found.touch(kind, word, recursive=True)
    for word in targets:
        found.touch(AccessKind.WRITE, word, recursive=True)
        # A folder that is there takes what comes under its own name.
        for source in sources if not found.full else ():
            name = source.rstrip("/").rpartition("/")[2]
            if name not in ("", ".", ".."):
                found.touch(AccessKind.WRITE, f"{word}/{name}", recursive=True, shown=word)

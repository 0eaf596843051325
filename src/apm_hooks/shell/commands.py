"""What each known program does with its words, and what is said of one that is not known."""

from __future__ import annotations

import re
from dataclasses import replace

from apm_hooks.shell.archives import ARCHIVES
from apm_hooks.shell.builtins import BUILTINS
from apm_hooks.shell.call import Call, Handler
from apm_hooks.shell.code import CODE
from apm_hooks.shell.files import FILES
from apm_hooks.shell.filters import FILTERS
from apm_hooks.shell.generic import decodes, generic
from apm_hooks.shell.git import GIT
from apm_hooks.shell.network import NETWORK
from apm_hooks.shell.own import OWN, own
from apm_hooks.shell.prints import decoded
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.search import SEARCHES
from apm_hooks.shell.state import Outcome, same
from apm_hooks.shell.values import UNKNOWN_OUTPUT, Output, Value
from apm_hooks.shell.wrappers import WRAPPERS

PROGRAMS: dict[str, Handler] = {
    **ARCHIVES, **CODE, **FILES, **FILTERS, **GIT, **NETWORK, **SEARCHES, **WRAPPERS, **BUILTINS,
}  # fmt: skip

"""Programs with a function of their own; those of `shell.specs` have a line there."""

_USUAL = re.compile(r"/(?:usr/(?:local/)?)?s?bin/|/opt/homebrew/bin/")
# They run what a project's own files say.
_TASKS = frozenset(
    words(
        "make gmake cmake ninja just task npm npx yarn pnpm pnpx cargo go pytest tox nox uv uvx poetry pip "
        "pip3 pipx pdm hatch gradle gradlew mvn mvnw ant bazel dotnet bundle rake rails composer mix rebar3 "
        "stack cabal docker docker-compose podman kubectl helm terraform ansible ansible-playbook vagrant "
        "pre-commit ruff black flake8 pylint pyflakes pycodestyle isort yapf mypy pyright golangci-lint "
        " eslint prettier tsc jest vitest webpack vite next ng swift "
        "xcodebuild tmux screen at batch crontab systemctl service "
        "launchctl parallel entr nodemon direnv nix nix-shell conda mamba pyenv rbenv nvm asdf mise"
    )
)

_LATER = frozenset(words("at batch crontab"))
_MAKES = frozenset(words("make gmake just task"))
# The file of rules is what is piped in, or given by a process.
_STDIN_FILE = re.compile(r"-|-f-|--(?:file|makefile|justfile|taskfile)=-|(?:--\w+=|-f)?/dev/.*")
# What runs an agent: each would start a conversation of its own, as whoever it is told to be.
_HOSTS = frozenset(
    words(
        "claude claude-code codex gemini gemini-cli qwen qwen-code copilot opencode openclaw clawdbot moltbot droid "
        "cline hermes hermes-agent goose aider amp cursor-agent crush vibe kiro-cli nanobot letta deepagents"
    )
)
_RUNNERS = _TASKS | frozenset(words("node nodejs bun bunx deno tsx ts-node python python3"))


def run_program(call: Call) -> Outcome:
    """Notes what the call's first word, a builtin or program, does with the others."""
    program = call.words[0]
    text = program.literal
    if text is None:
        call.unknown(program, Reason.PROGRAM)
        if program.gap is None:
            call.doubt(Reason.PROGRAM)
        return _unknown(call)
    name = text
    if "/" in text:
        name = text.rpartition("/")[2]
        if name != OWN and not _USUAL.fullmatch(text[: len(text) - len(name)]):
            call.use(UseKind.EXECUTE, program)
            call.doubt(Reason.SCRIPT)
        if name in BUILTINS and name not in {"echo", "printf", "test", "[", "pwd", "true", "false"}:
            name = ""
    call = replace(call, name=name)
    if name in _HOSTS or (name in _RUNNERS and any(map(_starts_host, call.args))):
        call.doubt(Reason.HOST, " ".join(dict.fromkeys(value.raw for value in call.words)))
    if name == OWN:
        own(call, call.args)
        return same(call.state, UNKNOWN_OUTPUT)
    if name in {"base64", "gbase64"} and _decodes(call):
        return same(call.state, decoded(call))
    handler = PROGRAMS.get(name) or PROGRAMS.get(re.sub(r"^(python3?|pip3?|perl|ruby|php|lua)[\d.]+$", r"\1", name))
    if handler is None:
        output = generic(call)
        return same(call.state, output) if output is not None else _unknown(call)
    if PROGRAMS.get(name) is None:
        call = replace(call, name=re.sub(r"[\d.]+$", "", name))
    result = handler(call)
    if isinstance(result, Outcome):
        return result
    return same(call.state, UNKNOWN_OUTPUT if result is None else result)


def _starts_host(value: Value) -> bool:
    """Whether a word names a host, or its package in any version: `@openai/codex@1.2`, `openclaw.mjs`."""
    text = (value.literal or "").rpartition("/")[2]
    return re.sub(r"(?:@.*|\.[a-z]+)\Z", "", text) in _HOSTS


def _decodes(call: Call) -> bool:
    """`base64 -d` of what is piped into it."""
    return [value.literal for value in call.args] in (["-d"], ["-D"], ["--decode"], ["-di"])


def _unknown(call: Call) -> Outcome:
    text = call.words[0].literal
    if text is not None and "/" not in text:
        call.doubt(Reason.SCRIPT if text in _TASKS else Reason.PROGRAM)
    task = text in _TASKS
    for value in call.args:
        call.possible(value)
        if value.literal == "." and not task:
            call.use(UseKind.READ, value, recursive=True)
    if text in _MAKES and any(_STDIN_FILE.fullmatch(value.literal or "") for value in call.args):
        call.doubt(Reason.INLINE_CODE, None, (call.cwd.path,))
    if text in _LATER and call.stdin is not None:
        call.doubt(Reason.INLINE_CODE, None, (call.cwd.path,))
    return same(call.state, Output(encoded=decodes(call)))

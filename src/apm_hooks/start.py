"""Where the installed line starts: the fast lane first, else the full path, in this one process.

A script is compiled anew at each start, an imported module is not: so this file stays short and takes the lane
through the import system's bytecode cache. Whatever fails here, the host's turn goes on: exit 0, nothing printed.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name: str, **given: object) -> "Any":
    """A module beside this one, by way of the bytecode cache, with what it would import from there."""
    from _frozen_importlib_external import SourceFileLoader

    full = "apm_hooks." + name
    module = type(sys)(full)
    module.__dict__.update(given)
    code = SourceFileLoader(full, f"{HERE}/{name}.py").get_code(full)
    exec(code or "", module.__dict__)  # noqa: S102 - our own file
    return module


def fast(arguments: list[str], data: bytes) -> bytes | None:
    """The fast lane's answer, or None."""
    lane = load("fastlane")

    def sessions() -> "Any":
        activity = load("activity", markfile=load("markfile"))
        return load("sessionlane", fastlane=lane, activity=activity)

    printed: bytes | None = lane.answer(arguments, data, os.environ, sessions)
    return printed


def full(arguments: list[str], data: bytes) -> bytes:
    """The full path's answer; it needs the site packages that the installed line leaves out.

    While it runs, whatever writes to the host's channel, compiled code and child processes too, writes to the log.
    """
    import site

    site.main()
    sys.path.insert(0, os.path.dirname(HERE))
    from apm_hooks.cli.hook import answer

    channel = os.dup(1)
    os.dup2(2, 1)
    try:
        return answer(arguments, data, os.environ, channel)
    finally:
        os.dup2(channel, 1)
        os.close(channel)


def closed(arguments: list[str], data: bytes) -> bytes:
    """The answer where not even the full path can be loaded: a tool call is denied where the host names the
    conversation, which may be anybody's (privacy fails closed); nothing else is."""
    if b'"PreToolUse"' not in data or ("--session" not in arguments and "APM_SESSION" not in os.environ):
        return b""
    return (
        b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", '
        b'"permissionDecisionReason": "This call cannot be judged now: apm-hooks does not run. Go on without it."}}\n'
    )


def main() -> None:
    data = b""
    while len(data) <= 1 << 24 and (chunk := os.read(0, 1 << 20)):
        data += chunk
    arguments = sys.argv[1:]
    try:
        printed = fast(arguments, data)
        if printed is None:
            printed = full(arguments, data)
    except BaseException:
        os.write(1, closed(arguments, data))
        raise
    while printed:
        printed = printed[os.write(1, printed) :]


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:  # noqa: BLE001
        # A broken installation must not break the host: one line for its log, and the turn goes on. Compiled
        # extensions raise more than Exception.
        sys.stderr.write(f"apm-hooks: {type(error).__name__}: {error}\n")
    sys.stderr.flush()
    # A thread that a plugin left behind must not keep the host waiting.
    os._exit(0)

"""Every error of this library: one base class, an exit code on each, a message of one line.

ApmError                    something is wrong; exit 1
├── UsageError              the caller's words are off; exit 2
├── SettingsError           a settings file or variable does not say what it should; exit 3
├── NameRefusedError        a name that may not become a path; exit 3
├── NotTrustedError         the workspace was not accepted by its owner; exit 4
├── ScopeError              the session has no right to this; exit 4
├── MemoryFileError         a memory file cannot be read safely; exit 5
└── LockTimeoutError        a lock did not come in time; exit 6
"""

from __future__ import annotations


class ApmError(Exception):
    """Base of every error raised on purpose.

    `cause` says what is wrong, `remedy` what to do about it, `file` and `line` where; `key` names the setting
    or entry in that file. The text of the error is one line built from them.
    """

    exit_code = 1
    code = "error"

    def __init__(self, cause: str, *, file: str = "", line: int = 0, key: str = "", remedy: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.file = file
        self.line = line
        self.key = key
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        parts = [part for part in (place, f"[{self.key}]" if self.key else "") if part]
        head = " ".join(parts)
        text = f"{head}: {self.cause}" if head else self.cause
        text = f"{text}. {self.remedy}" if self.remedy else text
        line = " ".join(text.split())
        # What it names comes from files of others: a terminal must not act on it.
        return "".join(char if char.isprintable() else f"<U+{ord(char):04X}>" for char in line)

    def __reduce__(self) -> tuple[object, ...]:
        fields = {"cause": self.cause, "file": self.file, "line": self.line, "key": self.key,
                  "remedy": self.remedy}  # fmt: skip
        return _rebuild, (type(self), fields)

    def as_dict(self) -> dict[str, object]:
        """The fields as a JSON-ready mapping: `code`, `cause`, `file`, `line`, `key`, `remedy`."""
        return {"code": self.code, "cause": self.cause, "file": self.file or None,
                "line": self.line or None, "key": self.key or None, "remedy": self.remedy or None}  # fmt: skip


def _rebuild(kind: type[ApmError], fields: dict[str, object]) -> ApmError:
    cause = str(fields.pop("cause"))
    return kind(cause, **fields)  # type: ignore[arg-type]


class UsageError(ApmError, ValueError):
    """The command line or a call's arguments make no sense together."""

    exit_code = 2
    code = "usage"


class SettingsError(ApmError, ValueError):
    """A settings file, group map or environment variable does not hold what it should."""

    exit_code = 3
    code = "settings"


class NameRefusedError(ApmError, ValueError):
    """A friendly name that may not become a path component (protocol, section 3)."""

    exit_code = 3
    code = "name-refused"


class NotTrustedError(ApmError, PermissionError):
    """The workspace, or a privacy setting in it, was not accepted by its owner."""

    exit_code = 4
    code = "not-trusted"


class ScopeError(ApmError, PermissionError):
    """A session asked for what belongs to another owner (protocol, section 2)."""

    exit_code = 4
    code = "scope"


class MemoryFileError(ApmError, OSError):
    """A file cannot be read or written safely: a link, a device, too large, not there."""

    exit_code = 5
    code = "memory-file"


class LockTimeoutError(ApmError, TimeoutError):
    """Another process held a lock for longer than the bound."""

    exit_code = 6
    code = "lock-timeout"

"""Plugin code runs here: in a thread of its own, so that whatever it does costs nothing but its own answer.

It may raise anything, SystemExit and KeyboardInterrupt included, or never return: the caller waits for as long as it
chooses and goes on. What cannot be held off inside one process: `os._exit`, a crash of compiled code, and compiled
code that keeps the interpreter's lock. Standard output is not touched: that is the embedding process's own, and the
hook command redirects it for the whole process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TypeVar

from apm_hooks.plugin_records import ContractError

TEXT_CHARS = 300
"""So much of an exception's own text is told."""

_OURS = ("apm_hooks", "pluggy")

Asked = TypeVar("Asked")


class Call:
    """`job` running in a daemon thread, named for `name`, in a copy of the caller's context.

    Once `wait` has returned True, either `error` says in one sentence what went wrong, or `answer` is what the job
    returned. `quote`: the text of an exception may be told; without it only its type and the plugin's line are, since
    an exception in the middle of a hook may hold memory content.
    """

    __slots__ = ("_done", "_job", "_quote", "answer", "error")

    def __init__(self, job: Callable[[], object], name: str, *, quote: bool = False) -> None:
        # Needed only where a plugin is really called.
        from contextvars import copy_context
        from threading import Event, Thread

        self.answer: object = None
        self.error = "ended without a word"
        self._job: Callable[[], object] | None = job
        self._quote = quote
        self._done = Event()
        try:
            Thread(target=copy_context().run, args=(self._run,), name=f"apm-hooks plugin {name}", daemon=True).start()
        except RuntimeError as error:
            self.error = f"cannot be called: {error}"
            self._done.set()

    def wait(self, seconds: float) -> bool:
        """True when the job is over; waits at most `seconds` for that."""
        return self._done.wait(max(seconds, 0.0))

    def _run(self) -> None:
        try:
            if self._job is not None:
                self.answer, self.error = self._job(), ""
        except BaseException as error:  # noqa: BLE001 - a plugin that exits ends its own call, not the host
            self.error = told(error, quote=self._quote)
        finally:
            self._job = None
            self._done.set()


def told(error: BaseException, *, quote: bool) -> str:
    """What a plugin's exception says, in one bounded sentence. It runs the plugin's code: call it in its thread."""
    try:
        if isinstance(error, ContractError):
            return str(error.args[0])
        sentence = f"raised {type(error).__name__}"
        if quote:
            text = " ".join(str(error).split())
            return f"{sentence}: {text[:TEXT_CHARS]}" if text else sentence
        return sentence + _place(error)
    except BaseException:  # noqa: BLE001 - even the exception's text is the plugin's code
        return "raised an exception that cannot be shown"


def _place(error: BaseException) -> str:
    """The line of the hook function that the exception came through."""
    step = error.__traceback__
    while step is not None:
        if str(step.tb_frame.f_globals.get("__name__")).partition(".")[0] not in _OURS:
            return f" at {step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
        step = step.tb_next
    return ""


def one_by_one(asked: Sequence[Asked], begin: Callable[[Asked], Call], until: float) -> Iterator[tuple[Asked, Call]]:
    """Begin a call for each of `asked`, and give it when it is over or has had its share of the time that is left.

    `until` is the deadline of all together, on the monotonic clock. A call that is not over goes on in its thread while
    the next one has its turn, so that one that hangs takes nothing from the others but a share of the wait.
    """
    for position, each in enumerate(asked):
        call = begin(each)
        call.wait((until - monotonic()) / (len(asked) - position))
        yield each, call

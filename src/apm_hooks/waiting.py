"""A wait that ends when a bell rings, and that counts the time in which the machine sleeps."""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress

LEAST_WAIT = 1.0
"""No wait is shorter, in seconds: what rings may ring many times a second."""

_CLOCK_BOOTTIME = 7
_SECOND = 1_000_000_000


class Waiting:
    """Waits for the bell, which is whatever makes the non-blocking descriptor `ear` readable, and for time to pass.

    Before 3.13 Python has no timer that goes on while the machine sleeps. Where the system has none, the time that it
    sleeps through does not count.
    """

    def __init__(self, ear: int, stopping: Callable[[], bool]) -> None:
        import ctypes

        self._ear = ear
        self._stopping = stopping
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._timer = -1
        if hasattr(self._libc, "timerfd_create"):
            self._timer = self._libc.timerfd_create(_CLOCK_BOOTTIME, os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until the bell rings; the least wait only a stop can cut short."""
        until = time.monotonic() + LEAST_WAIT
        rung = False
        while not self._stopping() and (rest := until - time.monotonic()) > 0:
            rung = self._listen(rest) or rung
        if not rung and not self._stopping():
            self._set_timer(seconds - LEAST_WAIT)
            self._listen(seconds - LEAST_WAIT, self._timer)

    def close(self) -> None:
        """Give the timer back."""
        if self._timer >= 0:
            os.close(self._timer)

    def _set_timer(self, seconds: float) -> None:
        import ctypes

        # Of no time at all it would never go off.
        whole, part = divmod(max(int(seconds * _SECOND), 1), _SECOND)
        if self._timer >= 0:
            times = (ctypes.c_long * 4)(0, 0, whole, part)
            self._libc.timerfd_settime(self._timer, 0, ctypes.byref(times), None)

    def _listen(self, seconds: float, timer: int = -1) -> bool:
        """Wait for the bell, the timer, or `seconds` to pass; True where the bell rang."""
        poll = select.poll()
        for descriptor in (self._ear, timer):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        ready = [descriptor for descriptor, _ in poll.poll(max(math.ceil(seconds * 1000), 0))]
        if self._ear not in ready:
            return False
        with suppress(BlockingIOError):
            while os.read(self._ear, 4096):
                pass
        return True

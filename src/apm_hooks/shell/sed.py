"""Scripts of sed: whether they touch files of their own, and which."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"\s*(?:\d+(?:~\d+)?|\$|[+~]\d+)")
_FLAGS = re.compile(r"[gpiImM0-9]*")
_LABEL = re.compile(r"\s*[^;}\n]*")
_SIMPLE = frozenset("dDgGhHnNpPxzF=")


class _StrangeError(Exception):
    pass


def safe_script(text: str) -> list[tuple[str, str]] | None:
    """The files that the script names, as (`r` or `w`, path); None where it runs commands, or is not understood."""
    try:
        return _Script(text).read()
    except (_StrangeError, IndexError):
        return None


class _Script:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[tuple[str, str]] = []

    def read(self) -> list[tuple[str, str]]:
        while True:
            while self.peek() and self.peek() in " \t\n;}":
                self.at += 1
            if not self.peek():
                return self.found
            self.addresses()
            self.command()

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        if match is None or match.end() == self.at:
            return False
        self.at = match.end()
        return True

    def blanks(self) -> None:
        while self.peek() and self.peek() in " \t":
            self.at += 1

    def addresses(self) -> None:
        self.address()
        self.blanks()
        if self.peek() == ",":
            self.at += 1
            self.address()
        self.blanks()
        while self.peek() and self.peek() in "! \t":
            self.at += 1

    def address(self) -> None:
        self.blanks()
        if self.skip(_ADDRESS):
            return
        if self.peek() == "/":
            self.at += 1
            self.delimited("/")
        elif self.peek() == "\\":
            mark = self.text[self.at + 1]
            self.at += 2
            self.delimited(mark)
        while self.peek() and self.peek() in "IM":
            self.at += 1

    def delimited(self, mark: str) -> None:
        """To after the next unescaped mark; a bracket expression may hold it."""
        while True:
            char = self.text[self.at]
            self.at += 1
            if char == mark:
                return
            if char == "\\":
                self.at += 1
            elif char == "\n":
                raise _StrangeError
            elif char == "[" and mark != "[":
                close = self.text.find("]", self.at + (2 if self.text[self.at] == "^" else 1))
                inside = self.text[self.at : close] if close > 0 else ""
                # Seds differ on a mark inside brackets; only where there is none is the end certain.
                if mark in inside:
                    raise _StrangeError

    def command(self) -> None:
        char = self.text[self.at]
        self.at += 1
        if char in "{}":
            return
        if char == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char in _SIMPLE:
            self.end()
        elif char in "lLqQ":
            self.skip(re.compile(r"\s*\d*"))
            self.end()
        elif char in ":bBtT":
            self.skip(_LABEL)
        elif char in "aic":
            self.words()
        elif char in "rRwW":
            self.file("r" if char in "rR" else "w")
        elif char == "s":
            self.substitution()
        elif char == "y":
            mark = self.text[self.at]
            self.at += 1
            self.delimited(mark)
            self.delimited(mark)
            self.end()
        else:
            raise _StrangeError

    def end(self) -> None:
        self.blanks()
        if self.peek() not in {"", ";", "}", "\n", "#"}:
            raise _StrangeError

    def words(self) -> None:
        """The text of `a`, `i`, `c`: to the end of the line, which a backslash puts off."""
        while self.peek() and self.peek() != "\n":
            self.at += 2 if self.peek() == "\\" else 1

    def file(self, kind: str) -> None:
        self.blanks()
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        self.found.append((kind, self.text[self.at : end]))
        self.at = end

    def substitution(self) -> None:
        mark = self.text[self.at]
        self.at += 1
        if mark in "\\\n":
            raise _StrangeError
        self.delimited(mark)
        self.replacement(mark)
        self.skip(_FLAGS)
        if self.peek() == "w":
            self.at += 1
            self.file("w")
            return
        self.end()

    def replacement(self, mark: str) -> None:
        while True:
            char = self.text[self.at]
            self.at += 1
            if char == mark:
                return
            if char == "\\":
                self.at += 1

"""What was found in a tool call so far: each thing once, in order, and never more than the gate can look at."""

from __future__ import annotations

from apm_hooks.access import Access, AccessKind, Calling, Edit, Unjudged
from apm_hooks.toolcalls.paths import Base, Why, normal, placed
from apm_hooks.toolcalls.patterns import literal, reaches
from apm_hooks.toolcalls.table import Taken

ACCESSES = 4_000
WORD_CHARS = 131_072
TEXT_CHARS = 1_048_576
"""Beyond these sizes a path and a text are not looked into: a host does not wait for the gate for ever."""


class Gathering:
    """Collects the accesses of one tool call; paths start from `base`. `taken` are the arguments that narrow what the
    tool at hand does."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.taken = Taken()
        self.known = True
        self.full = False
        self.commands: list[str] = []
        self.own: dict[tuple[str, ...], None] = {}
        self._accesses: dict[Access, None] = {}
        self._unjudged: dict[Unjudged, None] = {}
        self._seen: set[tuple[object, ...]] = set()

    def calling(self) -> Calling:
        """All of it as a record."""
        return Calling(
            tuple(self._accesses), tuple(self._unjudged), self.known, "\n".join(self.commands), tuple(self.own)
        )

    def first_time(self, asked: tuple[object, ...]) -> bool:
        """Whether this very thing was not asked before."""
        new = asked not in self._seen
        self._seen.add(asked)
        return new

    def add(self, access: Access) -> None:
        """Notes an access as it is."""
        if len(self._accesses) + len(self._unjudged) < ACCESSES or access in self._accesses:
            self._accesses[access] = None
        elif not self.full:
            self.full = True
            self._unjudged[Unjudged(Why.TOO_MUCH.value, "")] = None

    def doubt(self, reason: str, word: str, *, opaque: bool = False) -> None:
        """Notes what cannot be judged. A word that has to be cut is no longer all that a judge would need to see."""
        if len(self._unjudged) < ACCESSES:
            whole = len(word) <= WORD_CHARS
            self._unjudged[Unjudged(str(reason), word[:WORD_CHARS].replace("\0", "\\0"), opaque and whole)] = None

    def touch(
        self,
        kind: AccessKind,
        word: str,
        *,
        recursive: bool = False,
        only: tuple[str, ...] = (),
        content: str | None = None,
        edits: tuple[Edit, ...] = (),
        shown: str | None = None,
    ) -> None:
        """Notes an access to each path that `word` may mean; `shown` is what the agent wrote, if not `word`."""
        shown = word if shown is None else shown
        if len(word) > WORD_CHARS:
            self.doubt(Why.TOO_MUCH, word)
            return
        if self.full or not self.first_time((kind, word, recursive, only, content, edits, shown)):
            return
        places = placed(word, self.base)
        for reason in places.reasons:
            self.doubt(reason, word)
        for path in places.paths:
            self.add(Access(kind, path, recursive, only=only, content=content, edits=edits, word=shown))

    def match(self, kind: AccessKind, pattern: str, folder: str = ".", *, floating: bool = False) -> None:
        """Notes an access to all that `pattern` covers, which starts from `folder`."""
        if "\0" in pattern or "\0" in folder:
            self.doubt(Why.NUL, pattern)
            return
        for reach in reaches(pattern.strip() or "*", floating=floating):
            start = reach.start
            rooted = start.startswith(("/", "~"))
            places = placed(start if rooted else folder, self.base)
            for reason in places.reasons:
                self.doubt(reason, pattern)
            for path in places.paths:
                whole = path if rooted or not start else f"{literal(path) if reach.glob else path}/{start}"
                self.add(
                    Access(
                        kind,
                        normal(whole),
                        recursive=reach.recursive,
                        glob=reach.glob,
                        only=reach.only,
                        word=pattern,
                    )
                )

"""One member's index, written: each method one change, under the file's lock, linted before it lands.

A change that would add an error is refused and names the rule; errors that stand there already do not stop it. What a
change does to two files is done in the order in which a kill between the two loses nothing: a note before the line that
links it, the log of a cut before the cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

from apm_hooks.credentials import find_secrets
from apm_hooks.errors import ApmError, MemoryFileError, UsageError
from apm_hooks.facts.config import Member
from apm_hooks.facts.desk import read_memory
from apm_hooks.facts.edits import appended, corrected, found, insertion, log_entry, made, split_argument
from apm_hooks.facts.grammar import parse_facts, render
from apm_hooks.facts.lint import Checks, every_finding
from apm_hooks.facts.model import CUTS, INDEX, NOTES, Fact, FactIndex, Memory, Note
from apm_hooks.facts.parts import note_path, same_name, slug_key
from apm_hooks.files import create_absent
from apm_hooks.findings import Finding, Level
from apm_hooks.guarded import change_file
from apm_hooks.images import keep_image
from apm_hooks.names import check_name, printable
from apm_hooks.notebook import COPY_TOO_LARGE, LEAVE_OUT, NO_COPY, NO_CREDENTIALS, THERE, WRITTEN, Written
from apm_hooks.rawlines import Edit, RawText, apply_edits, rewrite, split_raw
from apm_hooks.records import DM, LIMITS, Limits

NO_INDEX = "does not exist"
NO_INDEX_FIX = "Create it with: apm-hooks facts init"
INDEX_THERE = "exists already"
INDEX_THERE_FIX = "See what would stand in it with --dry-run."
REFUSED = "this would add an error ({rule}): {sentence}"
NOTHING_TO_CORRECT = "nothing to correct"
NOTHING_TO_CORRECT_FIX = "Give --text, --so or --as."
BAD_NOTE = "the note link of {slug} leads nowhere: {why}"
BAD_NOTE_FIX = "Correct the link by hand."
_CUTS_HEAD = "# Cuts\n"


class FactStore:
    """The index of one member whose directory is `directory` (absolute). `today` is the day of the member's time zone.

    Every method may raise UsageError for what cannot be stored or would add an error, MemoryFileError for a file that
    cannot be read or written safely, and LockTimeoutError.
    """

    def __init__(self, directory: str, member: Member, *, today: date, limits: Limits = LIMITS) -> None:
        self._root = directory
        self._member = member
        self._today = today
        self._limits = limits
        # Tokens are no error, so that they are not counted here.
        self._checks = Checks(today, member.budgets, member.words)

    def add(
        self, slug: str, text: str, so: str, *, provenance: str = "", note: str = "", section: str = ""
    ) -> Written:  # fmt: skip
        """A new fact, at the end of its section or of the index. The same line is never written twice."""
        _refuse_secrets(text, so)
        fact = made(slug, text, so, provenance=provenance, note=note, words=self._member.words)

        def edit(lines: list[str], index: FactIndex) -> list[Edit]:
            if any(lines[each.line - 1].rstrip() == render(fact) for each in index.facts):
                return []
            return [insertion(lines, index, fact, section)]

        return self._change(edit)

    def correct(
        self, slug: str, *, text: str | None = None, so: str | None = None, provenance: str | None = None, line: int = 0
    ) -> Written:
        """Replace parts of a fact in place."""
        if text is None and so is None and provenance is None:
            raise UsageError(NOTHING_TO_CORRECT, remedy=NOTHING_TO_CORRECT_FIX)
        _refuse_secrets(text or "", so or "")

        def edit(lines: list[str], index: FactIndex) -> list[Edit]:
            fact = found(index, slug, line)
            return _replacing(
                lines, fact, corrected(fact, text=text, so=so, provenance=provenance, words=self._member.words)
            )

        return self._change(edit)

    def cut(self, slug: str, why: str, *, line: int = 0) -> Written:
        """Delete a fact's line, and log in `log/cuts.md` what was cut, when and why: the log first."""
        _refuse_secrets(why)

        def edit(lines: list[str], index: FactIndex) -> list[Edit]:
            return [Edit(found(index, slug, line).line - 1, (), 1)]

        def before(index: FactIndex) -> None:
            self._append(CUTS, [log_entry(found(index, slug, line), why, self._today)], _CUTS_HEAD)

        return self._change(edit, before)

    def move(self, slug: str, *, text: str | None = None, so: str | None = None, line: int = 0) -> Written:
        """Move a fact's argument into its note, which is made where it is absent, and link it: the note first.

        The line keeps its first sentence, or says `text`; then all that it said goes into the note.
        """
        _refuse_secrets(text or "", so or "")

        def plan(index: FactIndex) -> tuple[Fact, Fact, str, list[str]]:
            fact = found(index, slug, line)
            kept, argument = split_argument(fact, text)
            if so is not None and fact.consequence:
                argument = [*argument, "", f"So: {fact.consequence}"]
            target = fact.note or f"notes/{check_name(fact.slug)}.md"
            path, wrong = note_path(target)
            if wrong:
                raise UsageError(BAD_NOTE.format(slug=printable(slug), why=wrong), file=INDEX, line=fact.line,
                                 remedy=BAD_NOTE_FIX)  # fmt: skip
            return fact, corrected(fact, text=kept, so=so, note=target, words=self._member.words), path, argument

        def edit(lines: list[str], index: FactIndex) -> list[Edit]:
            fact, after, _, _ = plan(index)
            return _replacing(lines, fact, after)

        def before(index: FactIndex) -> None:
            fact, _, path, argument = plan(index)
            self._append(f"{NOTES}/{path}", argument, f"# {fact.slug}\n")

        def noted(index: FactIndex) -> Note:
            _, _, path, argument = plan(index)
            return Note(path, "\n".join(argument))

        return self._change(edit, before, noted)

    def initialise(self, text: str) -> Written:
        """Create the index with this text; raises MemoryFileError where there is one."""
        _refuse_secrets(text)
        if not create_absent(self._root, INDEX, text.encode("utf-8", "surrogatepass")):
            raise MemoryFileError(INDEX_THERE, file=INDEX, remedy=INDEX_THERE_FIX)
        return Written(INDEX, WRITTEN, 1)

    def _change(
        self, edit: Callable[[list[str], FactIndex], list[Edit]], before: Callable[[FactIndex], None] | None = None,
        noted: Callable[[FactIndex], Note] | None = None,
    ) -> Written:  # fmt: skip
        """Make the edits that `edit` asks for of the index, after `before` did what must be there first. `noted` is the
        note that `before` is about to write."""
        written = Written(INDEX, THERE)

        def change(data: bytes | None) -> bytes | None:
            nonlocal written
            if data is None:
                raise MemoryFileError(NO_INDEX, file=INDEX, remedy=NO_INDEX_FIX)
            raw = split_raw(data, INDEX)
            lines = raw.texts
            index = parse_facts("\n".join(lines), self._member.words)
            edits = edit(lines, index)
            if not edits:
                written = Written(INDEX, THERE)
                return None
            self._check(lines, apply_edits(lines, edits), index, noted(index) if noted else None)
            after = rewrite(raw, edits, INDEX)
            if before is not None:
                before(index)
            written = Written(INDEX, WRITTEN, _first(edits[0]), shrunk=len(after) * 2 < len(data))
            return after

        def keep(data: bytes) -> None:
            nonlocal written
            written = self._kept(INDEX, data, written)

        change_file(self._root, INDEX, change, keep=keep, limits=self._limits)
        return written

    def _check(self, lines: Sequence[str], after: Sequence[str], index: FactIndex, note: Note | None) -> None:
        """Raise UsageError where the lines after a change hold an error more than before."""
        memory = read_memory(self._root, limits=self._limits)
        then = replace(memory, index="\n".join(after))
        if note is not None:
            there = memory.notes.get(same_name(note.path))
            added = replace(note, text=f"{there.text}\n{note.text}") if there and there.text else note
            then = replace(then, notes={**memory.notes, same_name(note.path): added})
        now = self._errors(replace(memory, index="\n".join(lines)), index)
        for (rule, _), (number, error) in self._errors(then, None).items():
            if number > now.get((rule, _), (0, error))[0]:
                cause = REFUSED.format(rule=rule, sentence=error.sentence.removesuffix("."))
                raise UsageError(cause, file=error.path, line=error.line, remedy=error.remedy)

    def _errors(self, memory: Memory, index: FactIndex | None) -> dict[tuple[str, str], tuple[int, Finding]]:
        """How many errors there are of each rule and fact (or line that is none), and the last of each."""
        index = parse_facts(memory.index or "", self._checks.words) if index is None else index
        slugs = {fact.line: slug_key(fact.slug) for fact in index.facts}
        texts = (memory.index or "").split("\n")
        numbers: Counter[tuple[str, str]] = Counter()
        last: dict[tuple[str, str], Finding] = {}
        for error in every_finding(memory, self._checks, index):
            if error.level is not Level.ERROR:
                continue
            about = f"{error.path}:{error.sentence}"
            if error.path == INDEX and 0 < error.line <= len(texts):
                about = slugs.get(error.line) or texts[error.line - 1]
            numbers[error.rule, about] += 1
            last[error.rule, about] = error
        return {key: (number, last[key]) for key, number in numbers.items()}

    def _append(self, path: str, lines: Sequence[str], head: str) -> None:
        """Put lines at the end of a file, which begins as `head` where it is absent; never twice."""

        def change(data: bytes | None) -> bytes | None:
            raw: RawText = split_raw(head.encode() if data is None else data, path)
            edits = appended(raw.texts, lines)
            return rewrite(raw, edits, path) if edits else None

        def keep(data: bytes) -> None:
            self._kept(path, data, Written(path))

        change_file(self._root, path, change, keep=keep, limits=self._limits)

    def _kept(self, path: str, data: bytes, written: Written) -> Written:
        """Keep a copy of what is about to be replaced; where none can be kept, say so."""
        try:
            kept = keep_image(self._root, DM, path, data, limits=self._limits)
            why = "" if kept else COPY_TOO_LARGE.format(limit=self._limits.image_bytes)
        except ApmError as error:
            if written.shrunk:
                raise
            why = str(error)
        return replace(written, note=NO_COPY.format(why=why)) if why else written


def _first(edit: Edit) -> int:
    """The number of the first line that an edit wrote, or took away."""
    blank = next((at for at, text in enumerate(edit.lines) if text.strip()), 0)
    return edit.at + blank + 1


def _replacing(lines: Sequence[str], fact: Fact, after: Fact) -> list[Edit]:
    line = render(after)
    return [] if lines[fact.line - 1].rstrip() == line else [Edit(fact.line - 1, (line,), 1)]


def _refuse_secrets(*texts: str) -> None:
    for text in texts:
        for secret in find_secrets(text):
            raise UsageError(NO_CREDENTIALS.format(line=secret.line, kind=secret.kind), remedy=LEAVE_OUT)

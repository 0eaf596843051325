"""One scope's memory, written by helpers: each method one edit of one file (protocol, section 10).

For agents and operators; no hook calls it. Every method checks its text, takes the file's lock, keeps a copy of what is
there and replaces the file durably, or changes nothing and says why.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from apm_hooks import aggregate
from apm_hooks.credentials import find_secrets
from apm_hooks.errors import ApmError, MemoryFileError, NameRefusedError, UsageError
from apm_hooks.files import read_bytes, stamp
from apm_hooks.flush import add_pending, done_pending
from apm_hooks.flushrecords import Book, Pending, PendingKind
from apm_hooks.flushstate import read_state, updating
from apm_hooks.frontmatter import mark_active, mark_archived, touch_updated
from apm_hooks.guarded import change_file
from apm_hooks.images import Image, all_images, keep_image, restore
from apm_hooks.index import parse_index
from apm_hooks.names import check_name, shell_word
from apm_hooks.notes import NO_TEXT, NO_TEXT_REMEDY, add_entry, append_day, append_note, note_lines, replace_body
from apm_hooks.opening import kind_of
from apm_hooks.ownership import loads, owner_writes
from apm_hooks.protocol.group import ATTENTION, is_archived
from apm_hooks.rawlines import Edit, rewrite, split_raw
from apm_hooks.records import LIMITS, Limits, Scope, ScopeKind
from apm_hooks.routerows import add_row, keeps_rows, retire_rows, row_path
from apm_hooks.writeback import template

NO_CREDENTIALS = "line {line} of the text holds {kind}, and memory keeps no secrets"
LEAVE_OUT = "Leave the value out, and say where it is kept."
TEXT_TOO_LARGE = "the text has more than {limit} bytes"
NO_DAYS = "a group has no days: summaries of days are the owner's"
NO_DAYS_REMEDY = "Write what matters of it as a decision, a status or a note."
NO_SOURCE = "people.md of a group has no pointers to sources"
NO_PROJECT = "each project of the owner has a file of its own"
NO_PROJECT_REMEDY = "Name it with --project NAME."
ONE_PROJECT = "a group has one project file"
LEAVE_OPTION_OUT = "Leave {option} out."
NO_INDEX = "does not exist, so nothing leads to this memory"
NO_INDEX_DM = "Create it with: apm-hooks init"
NO_INDEX_GROUP = "The owner creates it with: apm-hooks group add NAME --id ID --init"
NO_FILE = "does not exist"
NAME_A_FILE = "Name a file in {directory}/."
NOT_OURS = "{path} is not {scope}'s to write"
ONE_LINE = "{what} is one line of at most {chars} characters"
ARCHIVED_BY_TITLE = "says in its heading that it is archived"
ARCHIVED_BY_TITLE_REMEDY = "Take the mark out of the heading."
LOSES_ROWS = "that copy of the index lacks rules or rows that stand there now, and those are never removed"
LOSES_ROWS_REMEDY = "Edit the index by hand."
NO_ITEM = "there is no pending item {ids}"
SEE_PENDING = "See: apm-hooks pending list"
NOT_ROUTED = "no row of the index leads to it yet: apm-hooks route add SCENARIO {file}"
NO_FILE_YET = "{file} does not exist yet"
STILL_ARCHIVED = "it is archived, so it is passed over: apm-hooks archive {file} --undo"
NO_COPY = "no copy of the earlier text was kept: {why}"
COPY_TOO_LARGE = "it has more than {limit} bytes"

WRITTEN, THERE = "written", "there already"
_NEW_PROJECT = "# {name}\n"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a request: `path` in the workspace, `status` (`written` or `there already`), the first line that
    was added or changed (from 1; 0: none).

    `shrunk`: the file lost more than half of its text; `restore` gives it back. `note` is one sentence that the caller
    should know, such as that no copy could be kept (empty: none).
    """

    path: str
    status: str = WRITTEN
    line: int = 0
    shrunk: bool = False
    note: str = ""


class Notebook:
    """The memory of `scope` in the workspace at `root`. `today` is the calendar day of the workspace's time zone.

    Every method may raise UsageError for a text that cannot be stored, MemoryFileError for a file that cannot be read
    or written safely, and LockTimeoutError.
    """

    def __init__(self, root: str, scope: Scope, *, today: date, limits: Limits = LIMITS) -> None:
        self._root = root
        self._scope = scope
        self._today = today.isoformat()
        self._limits = limits
        self._dm = scope.kind is ScopeKind.DM

    def decision(self, text: str, *, source: str = "") -> Written:
        """A decision or lesson, dated, newest first: a group's in `experience.md`, the owner's in `longterm.md`.

        `source` says in one line where it comes from.
        """
        lines, pointer = self._text(text), self._line(source, "a source")
        path = self._path("longterm.md" if self._dm else "experience.md")
        today = self._today
        return self._edit(
            path, lambda old: add_entry(old, lines, today=today, source=pointer, path=path), self._head(path)
        )

    def status(self, text: str) -> Written:
        """What is: the text takes the place of all that stands in `attention.md` below its title."""
        lines, archived = self._text(text), False
        path = self._path(ATTENTION)

        def edit(old: list[str]) -> list[Edit]:
            nonlocal archived
            archived = is_archived("\n".join(old))
            return replace_body(old, lines)

        written = self._edit(path, edit, self._head(path))
        return _noting(written, STILL_ARCHIVED.format(file=ATTENTION) if archived else "")

    def note(self, text: str, *, project: str = "") -> Written:
        """A fact about a project: a group's in `project.md`, the owner's in `projects/{project}.md`, which is made.

        Raises NameRefusedError for a name that may not become a path.
        """
        if self._dm and not project:
            raise UsageError(NO_PROJECT, remedy=NO_PROJECT_REMEDY)
        if project and not self._dm:
            raise UsageError(ONE_PROJECT, remedy=LEAVE_OPTION_OUT.format(option="--project"))
        lines = self._text(text)
        if not self._dm:
            path = self._path("project.md")
            return self._edit(path, lambda old: append_note(old, lines, path=path), self._head(path))
        name = check_name(project)
        path = self._path(f"projects/{name}.md")
        head = _NEW_PROJECT.format(name=name.rpartition("/")[2])
        written = self._edit(path, lambda old: append_note(old, lines, path=path), head)
        file = f"projects/{name}.md"
        return _noting(written, "" if self._is_routed(file) else NOT_ROUTED.format(file=shell_word(file)))

    def person(self, text: str, *, source: str = "") -> Written:
        """A person and their role: a group's in `people.md`, the owner's, dated, in `longterm.md`."""
        if self._dm:
            return self.decision(text, source=source)
        if source:
            raise UsageError(NO_SOURCE, remedy=LEAVE_OPTION_OUT.format(option="--source"))
        lines = self._text(text)
        path = self._path("people.md")
        return self._edit(path, lambda old: append_note(old, lines, path=path), self._head(path))

    def day(self, text: str) -> Written:
        """A summary of the day, in `daily-synced.md` under its date; the owner's alone."""
        if not self._dm:
            raise UsageError(NO_DAYS, remedy=NO_DAYS_REMEDY)
        lines = self._text(text)
        path = self._path("daily-synced.md")
        return self._edit(path, lambda old: append_day(old, lines, today=self._today, path=path), self._head(path))

    def route_add(self, scenario: str, file: str, *, priority: str = "") -> Written:
        """A row of the index's routing table: a message of that scenario leads to that file.

        Raises NameRefusedError for a file outside the scope's directory, and MemoryFileError for one behind a link.
        """
        self._text(scenario)
        target = self._file(file)
        found = stamp(self._root, target)
        kind = kind_of(found.mode) if found is not None else ""
        if kind:
            raise MemoryFileError(f"is {kind}", file=target, remedy=self._name_a_file())
        written = self._on_index(lambda lines: add_row(lines, self._scope, scenario, file, priority))
        return _noting(written, NO_FILE_YET.format(file=target) if found is None else "")

    def route_deprecate(self, what: str) -> Written:
        """Retire the rows that lead to a file, or the row of a scenario, with `[DEPRECATED]`; no row is removed."""
        return self._on_index(lambda lines: retire_rows(lines, self._scope, what))

    def archive(self, file: str, *, undo: bool = False) -> Written:
        """Say in a file's frontmatter that it is archived, or take that back: an archived attention file is passed over
        for the project file (protocol, section 5).

        Raises NameRefusedError for a file outside the scope's directory.
        """
        path = self._file(file)

        def edit(lines: list[str]) -> list[Edit]:
            if is_archived("\n".join(lines)) is not undo:
                return []
            edits = mark_active(lines) if undo else mark_archived(lines)
            if not edits:
                raise MemoryFileError(ARCHIVED_BY_TITLE, file=path, remedy=ARCHIVED_BY_TITLE_REMEDY)
            return edits

        return self._edit(path, edit, MemoryFileError(NO_FILE, file=path, remedy=self._name_a_file()))

    def pending_add(self, text: str, *, at: str) -> Pending:
        """An unconfirmed lead, one line, to be settled first at the next flush; `at` is ISO-8601 with offset."""
        line = self._line(text, "a lead")
        if not line:
            raise UsageError(NO_TEXT, remedy=NO_TEXT_REMEDY)
        with updating(self._root, self._scope, limits=self._limits) as held:
            same = (item for item in held.book.pending if (item.kind, item.text) == (PendingKind.LEAD, line))
            found = next(same, None)
            if found is None:
                held.book = add_pending(held.book, PendingKind.LEAD, line, at=at, limits=self._limits)
                found = held.book.pending[-1]
        self._tell_aggregate(held.book, at)
        return found

    def pending_done(self, ids: Sequence[str] = (), *, at: str, everything: bool = False) -> tuple[Pending, ...]:
        """Take pending items out, by their ids or all of them; returns what went. `at` is ISO-8601 with offset."""
        with updating(self._root, self._scope, limits=self._limits) as held:
            gone = [item for item in held.book.pending if everything or item.id in ids]
            try:
                held.book = done_pending(held.book, [item.id for item in gone] if everything else ids)
            except KeyError as error:
                raise UsageError(NO_ITEM.format(ids=error.args[0]), remedy=SEE_PENDING) from error
        self._tell_aggregate(held.book, at)
        return tuple(gone)

    def _tell_aggregate(self, book: Book, at: str) -> None:
        """A group's row counts what is pending. The item is recorded by then: what fails here, `doctor` finds."""
        if self._scope.kind is ScopeKind.GROUP:
            with suppress(ApmError):
                aggregate.patch_row(self._root, self._scope.name, book, at=at, seconds=self._limits.lock_seconds)

    def pending_list(self) -> tuple[Pending, ...]:
        """What is pending, the oldest first."""
        return read_state(self._root, self._scope, limits=self._limits).book.pending

    def restore(self, file: str, *, image: str = "") -> Written:
        """Put an earlier text of a file back: the newest that differs, or the one named `image`. What it replaces is
        kept as well, so that doing it twice takes it back. `file` lies in the scope's directory, or is the path in the
        workspace of any file of the scope's of which a text is kept.

        Raises NameRefusedError for any other.
        """
        kept = {each.path for each in self.images()}
        path = file if file in kept else self._file(file, index=True)
        shrunk = False

        def check(before: bytes | None, after: bytes) -> None:
            nonlocal shrunk
            shrunk = before is not None and len(after) * 2 < len(before)
            if path == self._scope.index_path and before is not None:
                now, then = split_raw(before, path).texts, split_raw(after, path).texts
                if not keeps_rows(now, then, self._scope):
                    raise MemoryFileError(LOSES_ROWS, file=path, remedy=LOSES_ROWS_REMEDY)

        _, changed = restore(self._root, self._scope, path, image=image, limits=self._limits, check=check)
        return Written(path, WRITTEN, 1, shrunk) if changed else Written(path, THERE)

    def images(self) -> tuple[Image, ...]:
        """The earlier texts that are kept of this scope's files."""
        return all_images(self._root, self._scope)

    def _text(self, text: str) -> list[str]:
        """A text that may be stored, as lines."""
        if len(text.encode("utf-8", "surrogatepass")) > self._limits.file_bytes:
            raise UsageError(TEXT_TOO_LARGE.format(limit=self._limits.file_bytes), remedy="Shorten it.")
        lines = note_lines(text)
        for secret in find_secrets(text):
            raise UsageError(NO_CREDENTIALS.format(line=secret.line, kind=secret.kind), remedy=LEAVE_OUT)
        return lines

    def _line(self, text: str, what: str) -> str:
        """A text of one line, white space folded; empty for none."""
        line = " ".join(" ".join(self._text(text)).split()) if text.strip() else ""
        if len(line) > self._limits.pending_chars:
            raise UsageError(ONE_LINE.format(what=what, chars=self._limits.pending_chars), remedy="Shorten it.")
        return line

    def _path(self, name: str) -> str:
        path = f"{self._scope.directory}/{name}"
        if not loads(self._scope, path) or not owner_writes(self._scope, path):
            raise NameRefusedError(NOT_OURS.format(path=path, scope=self._scope), remedy=self._name_a_file())
        return path

    def _file(self, name: str, *, index: bool = False) -> str:
        """The workspace-relative path of a file that the caller named."""
        composed = unicodedata.normalize("NFC", name)
        if index and composed in (self._scope.index_path, self._scope.index_path.rpartition("/")[2]):
            return self._scope.index_path
        path, problem = row_path(name, self._scope)
        if problem:
            raise NameRefusedError(problem, remedy=self._name_a_file())
        return self._path(path)

    def _name_a_file(self) -> str:
        return NAME_A_FILE.format(directory=self._scope.directory)

    def _head(self, path: str) -> str:
        """What a standard file begins with where it is absent."""
        return template(f"{'dm' if self._dm else 'group'}/{path.rpartition('/')[2]}")

    def _on_index(self, edit: Callable[[list[str]], list[Edit]]) -> Written:
        path = self._scope.index_path

        def dated(lines: list[str]) -> list[Edit]:
            edits = edit(lines)
            return [*edits, *touch_updated(lines, self._today)] if edits else []

        absent = MemoryFileError(NO_INDEX, file=path, remedy=NO_INDEX_DM if self._dm else NO_INDEX_GROUP)
        return self._edit(path, dated, absent)

    def _edit(self, path: str, edit: Callable[[list[str]], list[Edit]], head: str | MemoryFileError) -> Written:
        """Make the edits that `edit` asks for. An absent file begins as `head`, or is an error."""
        written = Written(path, THERE)

        def change(before: bytes | None) -> bytes | None:
            nonlocal written
            if before is None and isinstance(head, MemoryFileError):
                raise head
            raw = split_raw(str(head).encode() if before is None else before, path)
            edits = edit(raw.texts)
            if not edits:
                written = Written(path, THERE)
                return None
            after = rewrite(raw, edits, path)
            blank = next((at for at, text in enumerate(edits[0].lines) if text.strip()), 0)
            shrunk = before is not None and len(after) * 2 < len(before)
            written = Written(path, WRITTEN, edits[0].at + blank + 1, shrunk)
            return after

        def keep(before: bytes) -> None:
            nonlocal written
            try:
                kept = keep_image(self._root, self._scope, path, before, limits=self._limits)
                why = "" if kept else COPY_TOO_LARGE.format(limit=self._limits.image_bytes)
            except MemoryFileError as error:
                if written.shrunk:
                    # What the file is about to lose must stand somewhere.
                    raise
                why = str(error)
            written = _noting(written, NO_COPY.format(why=why) if why else "")

        change_file(self._root, path, change, keep=keep, limits=self._limits)
        return written

    def _is_routed(self, file: str) -> bool:
        try:
            found = read_bytes(self._root, self._scope.index_path, limit=self._limits.file_bytes)
            lines = split_raw(found[0], self._scope.index_path).texts if found else []
        except MemoryFileError:
            # The note is written; what is wrong with the index is told by whoever reads it.
            return True
        routes = parse_index("\n".join(lines), self._scope).routes
        return any(route.path == file and not route.deprecated for route in routes)


def _noting(written: Written, note: str) -> Written:
    """What was written, with a sentence on it, unless there is one already."""
    return replace(written, note=note) if note and not written.note else written

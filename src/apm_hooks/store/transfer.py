"""Export and import: one JSON document a line, every field of a memory, its history and its vector.

The first line says what follows (`{"apm-hooks": "memories", "version": 1}`), so that the agent's own notes are never
taken for the user's, nor the other way round. An import checks each line as a call would, but for an expiry that is
over: what was written is kept.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from apm_hooks.errors import NameRefusedError, UsageError
from apm_hooks.names import check_name
from apm_hooks.store import checks
from apm_hooks.store.base import Engine, Transaction
from apm_hooks.store.indexing import index_of, text_of
from apm_hooks.store.items import STORE_LIMITS, Imported, Index, Memory, SecretRefusedError, Version
from apm_hooks.store.likeness import is_vector
from apm_hooks.store.secrets import refuse_secrets, refuse_together
from apm_hooks.store.terms import index_terms

FORMAT = 1
_HEAD = "apm-hooks"
_SPACE = re.compile(r"[!-~]{1,200}/[0-9]{1,5}")
_DIMENSIONS = 16_000
"""More than that, one of the engines does not keep."""
_LAST = datetime(9999, 1, 1, tzinfo=UTC)
"""A memory of a later moment could not be changed any more: the next one must be later still."""


def export_lines(engine: Engine, scope: str | None, kind: str) -> Iterator[str]:
    """The head, and a line for each memory of a scope (None: of all), oldest first; expired ones too."""
    yield json.dumps({_HEAD: kind, "version": FORMAT})
    after: tuple[datetime, str] | None = None
    while True:

        def page(
            transaction: Transaction, start: tuple[datetime, str] | None = after
        ) -> list[tuple[Memory, list[Version], bytes | None, str]]:  # fmt: skip
            found = transaction.page(scope, start, STORE_LIMITS.page)
            return [(each.memory, transaction.versions(each.memory.scope, each.memory.id), each.vector, each.space)
                    for each in found]  # fmt: skip

        rows = engine.read(page)
        if not rows:
            return
        after = (rows[-1][0].created_at, rows[-1][0].id)
        for memory, versions, vector, space in rows:
            document = _fields(memory)
            if versions:
                document["versions"] = [
                    {**_fields(each.memory), "valid_to": each.valid_to.isoformat()} for each in versions
                ]
            if vector is not None:
                document["embedding"] = {"space": space, "data": base64.b64encode(vector).decode("ascii")}
            yield json.dumps(document, ensure_ascii=False)


def _fields(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id, "scope": memory.scope, "type": memory.type, "title": memory.title, "content": memory.content,
        "tags": list(memory.tags), "importance": memory.importance, "source": memory.source,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "created_at": memory.created_at.isoformat(), "updated_at": memory.updated_at.isoformat(),
    }  # fmt: skip


class _SkippedError(Exception):
    """A line is not taken in; its text says why, without what stands in it."""


def import_lines(
    engine: Engine, lines: Iterable[str], scope: str | None, kind: str, progress: Callable[[int], None] | None = None
) -> Imported:  # fmt: skip
    """Take in an export into a scope (None: each line into its own). Raises UsageError where the first line is no head
    of this kind; any other line that cannot be taken is skipped, with its number and why."""
    skipped: list[tuple[int, str]] = []
    counts = {"added": 0, "unchanged": 0}
    batch: list[tuple[int, Memory, Index, list[Version]]] = []

    def flush() -> None:
        if batch:
            for number, outcome in engine.write(lambda transaction: _put(transaction, batch)):
                if outcome in counts:
                    counts[outcome] += 1
                else:
                    skipped.append((number, outcome))
            batch.clear()

    headed = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not headed:
            _require_head(line, kind)
            headed = True
            continue
        try:
            batch.append((number, *_parsed(line, scope)))
        except (_SkippedError, UsageError, SecretRefusedError) as error:
            skipped.append((number, str(error)))
        if len(batch) >= STORE_LIMITS.page:
            flush()
        if progress is not None:
            progress(number)
    flush()
    return Imported(counts["added"], counts["unchanged"], tuple(sorted(skipped)))


def _require_head(line: str, kind: str) -> None:
    try:
        head = json.loads(line.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get(_HEAD) != kind:
        raise UsageError(f"this is no export of {kind}", remedy="Take a file that an export has written.")
    if head.get("version") != FORMAT:
        raise UsageError("the export is of another version", remedy="Update apm-hooks.")


def _parsed(line: str, scope: str | None) -> tuple[Memory, Index, list[Version]]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise _SkippedError("is no JSON") from None
    if not isinstance(document, dict):
        raise _SkippedError("is no memory")
    memory = _memory(document)
    if scope is None and memory.scope == "self":
        raise _SkippedError("belongs to the agent's own notes")
    if scope is not None and memory.scope != scope:
        raise _SkippedError("belongs to another conversation")
    versions = document.get("versions", [])
    if not isinstance(versions, list) or not all(isinstance(each, dict) for each in versions):
        raise _SkippedError("its history is none")
    history = [_version(each, memory) for each in versions]
    vector, space = _vector(document.get("embedding"))
    return memory, index_of(memory, vector, space), history


def _memory(document: Mapping[str, Any]) -> Memory:
    each = checks.id_of(document.get("id"))
    if not each:
        raise _SkippedError("has no id")
    scope = document.get("scope")
    if not isinstance(scope, str) or not _is_scope(scope):
        raise _SkippedError("has no scope")
    content = checks.content_of(document.get("content"))
    expires = document.get("expires_at")
    memory = Memory(
        id=each, scope=scope, type=checks.type_of(document.get("type")),
        title=checks.title_of(document.get("title"), content), content=content,
        tags=checks.tags_of(document.get("tags", []))[0], importance=checks.importance_of(document.get("importance")),
        source=checks.source_of(document.get("source")),
        expires_at=None if expires is None else checks.moment_of(expires, "expires_at"),
        created_at=_written(document, "created_at"), updated_at=_written(document, "updated_at"),
    )  # fmt: skip
    refuse_secrets({"content": content, "title": memory.title, "tags": " ".join(memory.tags), "source": memory.source})
    refuse_together(memory.title, content)
    return memory


def _version(document: Mapping[str, Any], owner: Memory) -> Version:
    memory = _memory(document)
    if memory.scope != owner.scope:
        raise _SkippedError("its history belongs to another conversation")
    return Version(memory, _written(document, "valid_to"), owner.id)


def _written(document: Mapping[str, Any], key: str) -> datetime:
    moment = checks.moment_of(document.get(key), key)
    if moment >= _LAST:
        raise _SkippedError(f"{key} is no moment at which something was written")
    return moment


def _is_scope(scope: str) -> bool:
    """Whether sessions can have this scope; one that none has would keep its memories for nobody."""
    if scope in ("DM", "self"):
        return True
    name = scope.removeprefix("Group(").removesuffix(")")
    try:
        return f"Group({check_name(name)})" == scope
    except NameRefusedError:
        return False


def _vector(given: object) -> tuple[bytes | None, str]:
    if given is None:
        return None, ""
    if isinstance(given, dict) and isinstance(given.get("space"), str) and isinstance(given.get("data"), str):
        try:
            data = base64.b64decode(given["data"], validate=True)
        except ValueError:
            data = b""
        space = given["space"]
        if len(data) <= _DIMENSIONS * 4 and _SPACE.fullmatch(space) and is_vector(data, space):
            return data, space
    raise _SkippedError("its embedding is none")


def _put(
    transaction: Transaction, batch: list[tuple[int, Memory, Index, list[Version]]]
) -> list[tuple[int, str]]:  # fmt: skip
    """What became of each line: `added`, `unchanged`, or why it was skipped."""
    ids = [*(memory.id for _, memory, _, _ in batch), *(each.memory.id for *_, versions in batch for each in versions)]
    taken = transaction.taken(ids)
    out = []
    for number, memory, index, versions in batch:
        if memory.id in taken:
            out.append((number, "unchanged"))
            continue
        taken.add(memory.id)
        transaction.insert(memory, index)
        if index.space and not transaction.get_meta(f"space {memory.scope}"):
            transaction.set_meta(f"space {memory.scope}", index.space)
        for version in versions:
            # A wording of a memory that lives is that one's own to keep: its history must not be taken from it.
            if version.memory.id != memory.id and version.memory.id in taken:
                continue
            transaction.close_version(version, index_terms(text_of(version.memory)))
        out.append((number, "added"))
    return out

"""The audit of memory files: a scope's files read once, and every rule asked of them (protocol, sections 2, 4 and 11).

Nothing is written, and nothing of one scope is told with another's findings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apm_hooks.audit_index import INDEX_RULES, ScopeFiles, audit_index
from apm_hooks.audit_memory import MEMORY_RULES, audit_memory
from apm_hooks.audit_pointers import GroupMarks
from apm_hooks.audit_scopes import files_below
from apm_hooks.audit_secrets import SECRET, Detector, builtin_detector, secret_findings
from apm_hooks.errors import ApmError, MemoryFileError
from apm_hooks.events import AuditRule
from apm_hooks.files import decode, read_bytes, stamp
from apm_hooks.findings import MORE, Finding, Level, Rule, bounded, in_order, rule_table
from apm_hooks.groupmap import GroupMap
from apm_hooks.index import parse_index
from apm_hooks.names import printable
from apm_hooks.protocol.subfiles import references
from apm_hooks.records import LIMITS, Limits, Scope, ScopeKind
from apm_hooks.tokens import estimate_counter
from apm_hooks.walking import walk
from apm_hooks.workspace import GROUP_MAP

E, W, N = Level.ERROR, Level.WARNING, Level.NOTE

MEMORY = "MEMORY.md"

FILE_RULES: Mapping[str, Rule] = rule_table(
    SECRET,
    Rule("file-too-big", W, "A file takes at most its share of the budget, so that it can be loaded whole."),
    Rule("group-map", E, "Every entry of the group map can be used."),
    Rule("incomplete", W, "A scope has no more files than can be looked at."),
    Rule("no-index", W, "A scope has an index, the only entry to its memory."),
    Rule("odd-encoding", W, "A memory file is UTF-8."),
    Rule("plugin-failed", W, "A plugin's rule answers with findings."),
    Rule("refused-file", W, "Memory consists of plain files and folders."),
    Rule("scope-size", N, "A scope's files together cost no more than its budget."),
    Rule("unmapped-group", W, "A group's memory has an entry in the group map."),
    Rule("unreadable-file", E, "A memory file can be read."),
    Rule(MORE, N, "All findings of a file can be told."),
)
RULES: Mapping[str, Rule] = rule_table(*MEMORY_RULES.values(), *INDEX_RULES.values(), *FILE_RULES.values())
"""Every rule of ours by id; those of plugins are named `plugin/rule`."""

_TEXT_ENDS = (".md", ".txt", ".json", ".jsonl", ".toml", ".yaml", ".yml", ".csv", ".tsv")
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class ScopeAudit:
    """What was found in one scope. `name` is `DM`, `Group(name)` or `workspace`; `files` were read; `tokens` is what
    its P-files cost together, of a `budget` for one epoch."""

    name: str
    findings: tuple[Finding, ...]
    files: int = 0
    tokens: int = 0
    budget: int = 0


@dataclass(slots=True)
class Auditor:
    """How the files of a workspace are judged.

    `count(text)` gives tokens (an estimate, if none is given). `detect(text)` finds secrets. `extra_rules` are the
    rules of plugins, each with its plugin's name; one that fails is not asked again. `chosen(path)`: whether findings
    on a file are wanted. `progress(done, total)` is told after each file of a scope.
    """

    root: str
    count: Callable[[str], int] = field(default_factory=estimate_counter)
    detect: Detector = builtin_detector
    extra_rules: Sequence[tuple[str, AuditRule]] = ()
    chosen: Callable[[str], bool] | None = None
    progress: Callable[[int, int], None] | None = None
    limits: Limits = LIMITS
    _failed: set[tuple[str, str]] = field(default_factory=set)

    def scope(self, scope: Scope, *, groups: GroupMarks | None = None, mapped: bool = True) -> ScopeAudit:
        """Every finding on one scope's files. `groups` is what group chats are known by, for the owner's MEMORY.md;
        `mapped` is False for a group's folder that no entry of the group map names.

        Raises MemoryFileError where the scope's folder cannot be looked at.
        """
        paths: list[str] = []
        refused, complete = walk(self.root, scope, paths.extend, self.limits)
        if scope.kind is ScopeKind.DM:
            paths += files_below(self.root, "log")
        findings = [_finding("refused-file", path, 0, f"It is {kind}, which is never read.",
                             "Put a plain file or folder there.") for path, kind in refused]  # fmt: skip
        if not complete:
            said = f"Only {self.limits.scope_files} names are looked at."
            findings.append(_finding("incomplete", scope.directory, 0, said, "Move old files out of the folder."))
        texts: dict[str, str] = {}
        for done, path in enumerate(sorted(paths), 1):
            text, found = self._read(path)
            if text is not None:
                found += self._of_any_file(path, text)
                if path.startswith(f"{scope.directory}/") or path in (scope.index_path, MEMORY):
                    texts[path] = text
            findings += bounded(found)
            if self.progress is not None:
                self.progress(done, len(paths))
        if scope.kind is ScopeKind.DM and MEMORY in texts:
            findings += bounded(audit_memory(texts[MEMORY], groups=groups, exists=self._exists))
        sizes = {path: self.count(text) for path, text in texts.items() if path != MEMORY and path.endswith(".md")}
        index = texts.get(scope.index_path)
        default = self.limits.group_budget_tokens if scope.kind is ScopeKind.GROUP else self.limits.dm_budget_tokens
        budget = default
        if index is not None:
            findings += bounded(audit_index(index, scope, _scope_files(index, scope, texts, paths)))
            budget = parse_index(index, scope).budget_tokens or default
        elif mapped and scope.index_path not in {finding.path for finding in findings}:
            findings.append(_no_index(scope))
        findings += _sizes(sizes, scope, budget, self.limits)
        return ScopeAudit(str(scope), self._wanted(findings), len(paths), sum(sizes.values()), budget)

    def names(self, declared: GroupMap, problems: Sequence[ApmError], unmapped: Sequence[Scope]) -> ScopeAudit:
        """What concerns the whole workspace, for its operator: the group map, and groups' folders that it does not
        name (`unmapped`, as `unmapped_groups` gives them)."""
        findings = [self._of_map(error) for error in (*problems, *declared.errors)]
        for scope in unmapped:
            path = scope.index_path if stamp(self.root, scope.index_path) is not None else scope.directory
            said = f"No entry of the group map names {printable(scope.name, _NAME_CHARS)}: nobody is given this memory."
            remedy = "Map it with: apm-hooks group add NAME --id ID, or move it out of the workspace."
            findings.append(_finding("unmapped-group", path, 0, said, remedy))
        return ScopeAudit("workspace", self._wanted(findings))

    def _wanted(self, findings: Collection[Finding]) -> tuple[Finding, ...]:
        chosen = self.chosen
        secret = {(found.path, found.line) for found in findings if found.rule == SECRET.id}
        return in_order(
            _unquoted(found) if (found.path, found.line) in secret else found
            for found in findings
            if chosen is None or chosen(found.path)
        )

    def _exists(self, path: str) -> bool:
        try:
            return stamp(self.root, path) is not None
        except MemoryFileError:
            return False

    def _read(self, path: str) -> tuple[str | None, list[Finding]]:
        """The text of a file, and what was wrong with its bytes; None for what is no text, or cannot be read."""
        try:
            found = read_bytes(self.root, path, limit=self.limits.file_bytes)
            if found is None:
                return None, []
            text, note = decode(found[0], path)
        except MemoryFileError as error:
            if not path.endswith(_TEXT_ENDS):
                return None, []
            said = f"It cannot be read: it {error.cause}."
            return None, [_finding("unreadable-file", path, 0, said, error.remedy or "Make it readable.")]
        if not note:
            return text, []
        said = f"Its encoding is odd: {note}."
        return text, [_finding("odd-encoding", path, 0, said, "Save it as UTF-8.")]

    def _of_any_file(self, path: str, text: str) -> list[Finding]:
        if self.chosen is not None and not self.chosen(path):
            return []
        return [*secret_findings(text, path, self.detect), *self._of_plugins(path, text)]

    def _of_plugins(self, path: str, text: str) -> Iterator[Finding]:
        """What the rules of plugins find. Their code may do anything: it costs its own rule alone."""
        for plugin, rule in self.extra_rules:
            name = f"{plugin}/{rule.name}"
            if (plugin, name) in self._failed:
                continue
            try:
                answer = _checked(rule.check(path, text), text.count("\n") + 1)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is its own
                self._failed.add((plugin, name))
                why = (
                    str(error) if isinstance(error, (_NonsenseError, ApmError)) else f"it raised {type(error).__name__}"
                )
                said = f"The rule {printable(name, _NAME_CHARS)} of the plugin {printable(plugin)} failed: {why}."
                yield _finding("plugin-failed", path, 0, said, "Report it to the plugin's author, or block the plugin.")
                continue
            for line, sentence in answer:
                yield Finding(name, W, path, line, 0, sentence, "")

    def _of_map(self, error: ApmError) -> Finding:
        line = error.line
        if not line and error.key:
            try:
                found = read_bytes(self.root, GROUP_MAP, limit=self.limits.settings_bytes)
                line = _line_of(decode(found[0])[0] if found else "", error.key)
            except MemoryFileError:
                line = 0
        where = f"{printable(error.key, _NAME_CHARS)}: " if error.key else ""
        return _finding("group-map", GROUP_MAP, line, f"{where}{error.cause}.", error.remedy or "Mend the entry.")


class _NonsenseError(Exception):
    """A plugin's rule answered what is no list of findings; the text says how."""


def _checked(answer: object, lines: int) -> list[tuple[int, str]]:
    if type(answer) not in (tuple, list):
        raise _NonsenseError("it answered no tuple of findings")
    found: list[tuple[int, str]] = []
    for each in answer:  # type: ignore[attr-defined]
        if type(each) not in (tuple, list) or len(each) != 2 or type(each[0]) is not int or type(each[1]) is not str:
            raise _NonsenseError("a finding of it is no pair of line and sentence")
        if not 0 <= each[0] <= lines:
            raise _NonsenseError(f"a finding of it names line {each[0]} of {lines}")
        found.append((each[0], " ".join(each[1].split())[:_SENTENCE_CHARS]))
    return found


_SENTENCE_CHARS = 500


def _finding(rule: str, path: str, line: int, sentence: str, remedy: str) -> Finding:
    return Finding(rule, FILE_RULES[rule].level, path, line, 0, sentence, remedy)


def _unquoted(found: Finding) -> Finding:
    """A finding on a line that holds a secret, without any word of that line."""
    if found.rule == SECRET.id:
        return found
    rule = RULES.get(found.rule)
    return replace(found, sentence=rule.summary if rule else "A rule of a plugin speaks of this line.", remedy="")


def _no_index(scope: Scope) -> Finding:
    if scope.kind is ScopeKind.DM:
        return _finding("no-index", scope.index_path, 0, "The owner's memory has no index.", "Run: apm-hooks init")
    said = f"The group {printable(scope.name)} is mapped and has no index, so that it has no memory."
    remedy = "Write it, or run apm-hooks group add with --init."
    return _finding("no-index", scope.index_path, 0, said, remedy)


def _scope_files(index: str, scope: Scope, texts: Mapping[str, str], paths: Sequence[str]) -> ScopeFiles:
    """The files of a scope's folder, which of them others refer to, and which are loaded without a row."""
    prefix = f"{scope.directory}/"
    present = frozenset(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
    if scope.kind is ScopeKind.DM:
        return ScopeFiles(present, always=frozenset(("index.md", "attention.md")))
    referred: set[str] = set()
    for route in parse_index(index, scope).routes:
        if not route.deprecated and not route.sub_file:
            text = texts.get(f"{prefix}{route.path}", "")
            referred.update(path for path, _ in references(text, scope.directory))
    return ScopeFiles(present, frozenset(referred))


def _sizes(sizes: Mapping[str, int], scope: Scope, budget: int, limits: Limits) -> Iterator[Finding]:
    most = int(budget * limits.p_file_share)
    for path, tokens in sizes.items():
        if tokens > most:
            said = f"It costs {tokens} tokens; more than {most} of a budget of {budget} are never given to one file."
            yield _finding("file-too-big", path, 0, said, "Split it, or move what is old into another file.")
    total = sum(sizes.values())
    if total > budget:
        said = f"The scope's files cost {total} tokens together, and one session may load {budget}."
        yield _finding("scope-size", scope.index_path, 0, said, "Nothing need be done while the rows keep them apart.")


def _line_of(text: str, key: str) -> int:
    """The line of a key in JSON text; 0 where it cannot be told."""
    import json

    for written in (json.dumps(key, ensure_ascii=False), json.dumps(key)):
        at = text.find(written)
        if at >= 0:
            return text.count("\n", 0, at) + 1
    return 0

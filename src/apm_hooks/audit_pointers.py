"""What a MEMORY.md names: files of memory, projects that have one, group chats. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from apm_hooks.audit_lines import MemoryLine
from apm_hooks.cells import looks_like_file
from apm_hooks.tables import find_tables, item_text

_POINTER = re.compile(
    r"(?<![\w./~-])(?P<path>(?:\./)?(?:memory|projects|main)/[^\s`|\"'()\[\]<>，。；、：,;：]{1,300}\.md)(?![\w-])"
    r"|\]\(<?(?P<link>(?:\./)?(?:memory|projects|main)/[^()<>\n]{1,300}?\.md)(?:#[^()\s]{0,200})?>?\)"
)
_PATTERN = re.compile(r"[{}<>*…]|YYYY|\.\.\.|\bNAME\b")
_FILE_HEADER = re.compile(r"(?i:file|path|pointer|doc)|文件|档|檔|路径|路徑|ファイル|パス|파일|경로")
_PROJECT_HEADER = re.compile(r"(?i:project|name|topic)|项目|項目|專案|名称|プロジェクト|案件|프로젝트|이름")
_PROJECT_FILE = re.compile(r"(?:memory/main/)?projects/([^\s/`|\"'()\[\]<>{}*]{1,120})\.md")
_PROJECT_CHARS, _PROJECTS, _LABEL_WORDS, _LABEL_CHARS, _HEADER_CHARS = 2, 200, 4, 40, 200

_ID_CHARS, _NAME_CHARS, _GROUPS = 5, 3, 2_000
_DISTINCT = re.compile(
    r"[\s_-]|[A-Za-z][.\d]|\d[A-Za-z]|[群组組班部]$|(?<=.)(?:グループ|チーム|방|팀|group|team|crew|chat)$",
    re.IGNORECASE,
)
_GROUP_WORD = r"(?i:groups?|chats?|channels?|rooms?)|群|グループ|チャンネル|ルーム|部屋|그룹|채널|(?:단톡)?방"


@dataclass(frozen=True, slots=True)
class GroupMarks:
    """What group chats are known by: friendly names, and ids as the group map has them."""

    names: Collection[str] = ()
    ids: Collection[str] = ()


def pointers(lines: Sequence[MemoryLine]) -> Iterator[tuple[MemoryLine, int, str]]:
    """Each pointer to a memory file: its line, its column, and the file, relative to the workspace. Patterns
    (`memory/YYYY-MM-DD.md`, `projects/{name}.md`) are none."""
    for line in lines:
        for found in _POINTER.finditer(line.text):
            file = _file_of(found["path"] or found["link"])
            if file:
                yield line, found.start() + 1, file


def _file_of(target: str) -> str:
    plain = target.removeprefix("./")
    if _PATTERN.search(plain) or not looks_like_file(plain) or ".." in plain.split("/"):
        return ""
    if plain.startswith("memory/"):
        return plain
    return f"memory/{plain}" if plain.startswith("main/") else f"memory/main/{plain}"


def projects_without_file(shown: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Rows of a table of projects whose cell for the file is empty: their line, and the project's name."""
    for table in find_tables(shown):
        column = _file_column(table.header)
        for number, cells in table.rows:
            name = cells[0].strip(" *_`")
            if column > 0 and name and not cells[column].strip(" -–—`"):
                yield number, name


def _file_column(header: Sequence[str]) -> int:
    """The column that names files, in a table of projects; -1 in any other."""
    if not _PROJECT_HEADER.search(header[0][:_HEADER_CHARS]):
        return -1
    return next((at for at, cell in enumerate(header) if at and _FILE_HEADER.search(cell[:_HEADER_CHARS])), -1)


def project_names(shown: Sequence[str]) -> re.Pattern[str] | None:
    """Finds, at a text's beginning, a project that a pointer of this file leads to, by its name or its file's; None
    where there is none."""
    names: set[str] = set()
    for line in shown:
        for found in _PROJECT_FILE.finditer(line):
            stem = found[1]
            names.update((stem, stem.replace("-", " ").replace("_", " "), _label(line[: found.start()])))
    kept = sorted((name for name in names if len(name) >= _PROJECT_CHARS), key=lambda name: (-len(name), name))
    if not kept:
        return None
    choices = (rf"{re.escape(name)}(?!\w)" if name.isascii() else re.escape(name) for name in kept[:_PROJECTS])
    return re.compile("|".join(choices), re.IGNORECASE)


def _label(before: str) -> str:
    """What stands before a pointer: `- Atlas: …` or `| Atlas | …`; empty where it is a sentence."""
    label = before.strip()
    label = label.strip("|").split("|")[0] if label.startswith("|") else label
    label = (item_text(label.strip()) or label).strip("*_`[]( :：→>-–—|").strip()
    return label if len(label) <= _LABEL_CHARS and len(label.split()) <= _LABEL_WORDS else ""


def names_of_groups(groups: GroupMarks) -> re.Pattern[str] | None:
    """Finds a group's id or name; None where no group is known.

    A name that is one plain word may be a word of any sentence: it counts only where it stands for a group, alone in
    its item, in quotes, behind `#`, as a label, or beside a word for a group.
    """
    choices = [
        rf"(?<![\w-]){re.escape(id_)}(?![\w-])"
        for id_ in sorted(set(groups.ids), key=lambda id_: (-len(id_), id_))[:_GROUPS]
        if len(id_) >= _ID_CHARS
    ]
    for name in sorted(set(groups.names), key=lambda name: (-len(name), name))[:_GROUPS]:
        bare = re.escape(name.rpartition("/")[2])
        if _DISTINCT.search(name) and len(name) >= _NAME_CHARS:
            choices.append(rf"(?<!\w)(?i:{bare})(?!\w)" if name.isascii() else f"(?i:{bare})")
            continue
        choices += [
            rf"(?:^|[-*+]\s)\s{{0,8}}[*_`\"'#]{{0,3}}(?i:{bare})[*_`\"']{{0,3}}\s{{0,3}}(?:[:：(（|—–]|$)",
            rf"[#\"'`“「『《]{bare}[\"'`”」』》]?(?!\w)",
            rf"(?<!\w)(?i:{bare})\s?[の的]?\s?(?:{_GROUP_WORD})",
            rf"(?:{_GROUP_WORD})\s?[:：]?\s?(?i:{bare})(?!\w)",
        ]
    return re.compile("|".join(choices)) if choices else None

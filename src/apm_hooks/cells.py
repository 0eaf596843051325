"""What the cells of a routing table say: header words, scenarios, file, priority (protocol, section 4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from apm_hooks.ownership import loads
from apm_hooks.records import Scope, ScopeKind
from apm_hooks.tables import code_spans

_FOLDED_CHARS = 200
_PATH_CHARS = 1_000
_QUOTED_CHARS = 80
_FIRST_UNSPACED = "\u1000"

_PLACEHOLDERS = frozenset("-–—")
_DEPRECATED = re.compile(r"\\?\[deprecated\\?\]", re.IGNORECASE)
_SEPARATOR = re.compile("[,;/、，；]")
_LIST = re.compile("[,;、，；]")
_PRIORITY = re.compile(r"(?<![a-z0-9])p([0-3])(?:[\s/_‐-―-]{0,3}l([0-9]))?(?![a-z0-9])")
_UNSAFE = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://|(?:mailto|file|data|javascript|urn):", re.IGNORECASE)
_DRIVE = re.compile(r"(?:^|/)[a-z]:", re.IGNORECASE)

_STANDARD_PRIORITY = {
    "attention": 0, "project": 1, "longterm": 1, "experience": 2, "daily-synced": 2, "people": 3,
}  # fmt: skip


def _fold(text: str) -> str:
    """Case, width, accents, hyphens and runs of blanks made equal; only the first characters of a long text.

    The bound matters: normalising a long run of combining marks costs its square.
    """
    decomposed = unicodedata.normalize("NFKD", text[:_FOLDED_CHARS]).casefold()
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(plain.replace("-", " ").replace("_", " ").split())


def _words(text: str) -> list[str]:
    return [_fold(word) for line in text.splitlines() for word in line.split("|") if word.strip()]


def _naming(text: str) -> re.Pattern[str]:
    """Finds one of the words in folded text; in scripts with blanks between words it must start a word."""
    words = _words(text)
    spaced = "|".join(re.escape(word) for word in words if word[0] < _FIRST_UNSPACED)
    unspaced = "|".join(re.escape(word) for word in words if word[0] >= _FIRST_UNSPACED)
    return re.compile(rf"(?<!\w)(?:{spaced})|{unspaced}")


_HARD_RULES = _naming("""
    hard rule
    硬性规则 | 硬性规定 | 硬规则 | 铁律 | 红线 | 硬性規則 | 硬規則 | 鐵律 | 紅線
    ハードルール | 厳守事項 | 絶対ルール | 絶対規則
    강제 규칙 | 필수 규칙 | 절대 규칙 | 하드 룰
    harte regel | eiserne regel | feste regel
    regla estricta | reglas estrictas | regla dura | reglas duras
    règle stricte | règles strictes | règle absolue | règles absolues | règles dures
    жёсткие правила | строгие правила | железные правила
    regras rígidas | regole ferree
""")
_SCENARIO = _naming("""
    scenario | situation | trigger | intent | when | use case
    场景 | 情景 | 情境 | 触发 | 意图 | 何时 | 时机 | 場景 | 觸發 | 意圖 | 何時 | 時機
    シナリオ | 場面 | 状況 | トリガー | きっかけ | 意図
    시나리오 | 상황 | 트리거 | 의도
    szenario | anlass | auslöser | wann
    escenario | situación | disparador | cuándo | intención
    scénario | déclencheur | quand
    сценарий | ситуация | триггер | когда | намерение
    cenário | situação | gatilho | situazione
""")
_FILE = _naming("""
    file | path | document
    文件 | 路径 | 文档 | 檔案 | 路徑 | 文檔
    ファイル | パス
    파일 | 경로
    datei | pfad
    archivo | fichero | ruta
    fichier | chemin
    файл | путь
    arquivo | ficheiro | caminho | percorso
""")
_PRIORITY_HEADER = _naming("""
    prio | level | layer
    优先 | 優先 | 级别 | 級別 | 等级 | 等級 | 层级 | 層級
    우선
    ebene | stufe
    nivel | niveau
    приоритет | уровень
    livello
""")
_CATCH_ALL = frozenset(
    _words("""
    * | any work conversation | any work chat | any work | any conversation | any chat | any message | any
    anything | anything else | everything | everything else | all | always | other | others | otherwise
    default | fallback | catch all
    任何工作对话 | 任意工作对话 | 任何工作会话 | 任意工作会话 | 任何工作 | 任意工作 | 所有工作对话 | 所有对话
    任何对话 | 任意对话 | 任何会话 | 任意会话 | 任何 | 任意 | 所有 | 全部
    其他 | 其它 | 默认 | 始终 | 总是 | 兜底
    任何工作對話 | 任意工作對話 | 任何對話 | 任意對話 | 所有對話 | 默認 | 預設 | 始終 | 總是
    すべての作業会話 | すべての業務会話 | すべての会話 | あらゆる会話 | 任意の会話 | 仕事の会話全般
    すべて | 全て | 常に | いつも | その他 | デフォルト
    모든 업무 대화 | 모든 작업 대화 | 모든 대화 | 모두 | 전체 | 전부 | 항상 | 그 외
    jedes arbeitsgespräch | jedes gespräch | alles | immer | sonst | sonstiges
    cualquier conversación de trabajo | cualquier conversación | siempre
    toute conversation de travail | toute conversation | tout | toujours | par défaut
    любой рабочий разговор | любая рабочая беседа | любой разговор | всё | всегда | по умолчанию
    qualquer conversa de trabalho | qualquer conversa | tudo | sempre
""")
)


def names_hard_rules(title: str) -> bool:
    """True for the title of a hard-rules section, in any of the languages known here."""
    return _HARD_RULES.search(_fold(title)) is not None


def named_columns(header: Sequence[str], blank_names_scenario: bool) -> tuple[int, int, int] | None:
    """The columns (scenario, file, priority or -1) that a header row names; None without the first two.

    `blank_names_scenario`: an empty first cell counts as the scenario's name.
    """
    folded = [_fold(cell) for cell in header]
    scenarios = [at for at, cell in enumerate(folded) if _SCENARIO.search(cell)]
    files = [at for at, cell in enumerate(folded) if _FILE.search(cell)]
    if blank_names_scenario and not folded[0]:
        scenarios.append(0)
    scenario = next((at for at in scenarios if at not in files), scenarios[0] if scenarios else -1)
    file = next((at for at in files if at not in scenarios), next((at for at in files if at != scenario), -1))
    if scenario < 0 or file < 0:
        return None
    rest = (at for at, cell in enumerate(folded) if at not in (scenario, file) and _PRIORITY_HEADER.search(cell))
    return scenario, file, next(rest, -1)


def quote(text: str) -> str:
    """A piece of an index for a message: short, on one line, nothing invisible."""
    return repr(text if len(text) <= _QUOTED_CHARS else text[:_QUOTED_CHARS] + "…")


def is_deprecated(row: str) -> bool:
    """True if `[DEPRECATED]`, in any case, stands anywhere in a row's line, behind its last cell included."""
    return _DEPRECATED.search(row) is not None


def cell_text(cell: str) -> str:
    """A cell without `[DEPRECATED]`; empty where nothing but dashes is left, since they stand for "none"."""
    text = _DEPRECATED.sub("", cell).strip()
    return "" if _PLACEHOLDERS.issuperset(text) else text


def split_alternatives(cell: str) -> tuple[str, ...]:
    """The alternatives of a scenario cell, without backticks and bold; backticks protect a separator."""
    alternatives: list[str] = []
    pieces: list[str] = []
    at = 0
    for start, end, ticks in (*code_spans(cell), (len(cell), len(cell), 0)):
        parts = _SEPARATOR.split(cell[at:start])
        for part in parts[:-1]:
            alternatives.append("".join((*pieces, _unmarked(part))))
            pieces = []
        pieces += (_unmarked(parts[-1]), cell[start + ticks : end - ticks])
        at = end
    alternatives.append("".join(pieces))
    return tuple(text for alternative in alternatives if (text := alternative.strip()))


def _unmarked(text: str) -> str:
    text = text.replace("`", "").replace("**", "").replace("~~", "").replace("\\*", "*")
    bare = text.strip()
    return bare[2:-2] if len(bare) > 4 and bare.startswith("__") and bare.endswith("__") else text


def is_catch_all(scenario: str) -> bool:
    """True for `*` and for "any work conversation" and its like; a remark in parentheses does not count."""
    return _fold(scenario).partition("(")[0].strip().rstrip(".。!") in _CATCH_ALL


def read_priority(cell: str) -> tuple[int, bool] | None:
    """Priority, and whether it is `P2-L3`, of a cell that may hold other text; None where it names none."""
    found = _PRIORITY.search(unicodedata.normalize("NFKC", cell[:_FOLDED_CHARS]).casefold())
    if found is None or found[2] not in (None, "3") or (found[2] and found[1] != "2"):
        return None
    return int(found[1]), found[2] is not None


def standard_priority(path: str, scope: Scope) -> tuple[int, bool]:
    """The priority of a file by its standard name, and whether it is a sub-file; P2 for any other name."""
    name = path.casefold().removesuffix(".md")
    folder = name.partition("/")[0] if "/" in name else ""
    if folder == "projects":
        return 3, False
    return _STANDARD_PRIORITY.get(name, 2), folder == "conventions" and scope.kind is ScopeKind.GROUP


def looks_like_file(target: str) -> bool:
    """True for a text whose last component has a file name's extension, and which is no web address."""
    stem, _, extension = target.rpartition("/")[2].rpartition(".")
    letters = extension.isascii() and extension.isalnum() and not extension.isdigit()
    return bool(stem) and letters and len(extension) <= 8 and "://" not in target


def file_targets(cell: str) -> list[str]:
    """What a file cell may mean, best first; never empty.

    Links count before code spans (their text may be one), code spans before the bare text.
    """
    spans = (cell[start + ticks : end - ticks].strip() for start, end, ticks in code_spans(cell))
    marked = _link_targets(cell) or list(spans)
    if marked:
        return sorted(marked, key=looks_like_file, reverse=True)
    text = cell.strip()
    for mark in ("~~", "**", "__", "~~", "*", "_"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    listed = [part.strip() for part in _LIST.split(text)]
    return listed if all(looks_like_file(part) for part in listed) else [text]


def _link_targets(cell: str) -> list[str]:
    targets: list[str] = []
    at = 0
    while (middle := cell.find("](", at)) >= 0:
        opened = cell.rfind("[", at, middle)
        at = middle + 2
        if opened < 0:
            continue
        end = _closing(cell, at)
        if end < 0:
            break
        targets.append(_link_target(cell[at:end].strip()))
        at = end + 1
    return targets


def _closing(cell: str, start: int) -> int:
    """Where the parenthesis that opened before `start` closes; -1 if it does not."""
    depth = 1
    for at in range(start, len(cell)):
        char = cell[at]
        depth += (char == "(") - (char == ")")
        if not depth:
            return at
    return -1


def _link_target(inner: str) -> str:
    """A link's target without its title, its angle brackets and its fragment, percent-decoded once."""
    for mark in ('"', "'"):
        if inner.endswith(mark) and f" {mark}" in inner:
            inner = inner[: inner.index(f" {mark}")].strip()
    if inner.startswith("<") and inner.endswith(">"):
        inner = inner[1:-1]
    target = inner.partition("#")[0].strip()
    if "%" not in target:
        return target
    from urllib.parse import unquote

    return unquote(target, errors="surrogateescape")


def resolve_row_path(cell: str, scope: Scope) -> tuple[str, str]:
    """The file that a row names, as `(path, problem)`: relative to the scope's directory, or "" and a reason.

    The cell may hold backticks, bold or a link. Its path counts from the scope's directory, from the
    workspace (`memory/groups/{name}/attention.md`) or from the index's own folder (`{name}/attention.md`).
    What leads out of the directory, or could do so on some system, is refused (protocol, section 4).
    """
    target = file_targets(cell_text(cell))[0]
    problem = _refusal(target)
    if problem:
        return "", problem
    parts = [part for part in target.split("/") if part not in ("", ".")]
    lead = _lead(parts, scope)
    if not lead and parts[:1] == ["memory"]:
        return "", f"{quote(target)} lies outside {scope.directory}/"
    if len(parts) == lead:
        return "", f"{quote(target)} is a folder, not a file"
    path = "/".join(parts[lead:])
    if f"{scope.directory}/{path}" == scope.index_path:
        return "", f"{quote(target)} is the index itself"
    if not loads(scope, f"{scope.directory}/{path}"):
        return "", f"{quote(target)} is a file that is never loaded from here"
    return path, ""


def _refusal(target: str) -> str:
    if not target:
        return "the row names no file"
    if len(target) > _PATH_CHARS:
        return f"{quote(target)} is longer than a path can be"
    if _UNSAFE.search(target):
        return f"{quote(target)} holds a backslash, a control character or a damaged one"
    if target[0] == "/" or "/~" in f"/{target}" or _SCHEME.match(target) or _DRIVE.search(target):
        return f"{quote(target)} is no path inside the scope's directory"
    if _climbs(target):
        return f"{quote(target)} climbs out of its folder"
    return f"{quote(target)} is a folder, not a file" if target[-1] == "/" else ""


def _climbs(target: str) -> bool:
    """True for a `..` in any guise: file systems exist that drop invisible characters and trailing blanks."""
    seen = "".join(char for char in target if unicodedata.category(char) != "Cf")
    return any(part.strip() == ".." for part in unicodedata.normalize("NFKC", seen).split("/"))


def _lead(parts: Sequence[str], scope: Scope) -> int:
    """How many leading components only say where the scope's directory is."""
    composed = [unicodedata.normalize("NFC", part) for part in parts]
    home = unicodedata.normalize("NFC", scope.directory).split("/")
    own = unicodedata.normalize("NFC", scope.name).split("/")
    leads = [home]
    if scope.kind is ScopeKind.GROUP and composed[:1] not in (["memory"], ["conventions"]):
        leads += [own, own[-1:]]
    return next((len(lead) for lead in leads if composed[: len(lead)] == lead), 0)

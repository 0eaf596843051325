"""Lists of tools, by the words around them and by the tools' own names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from apm_hooks.audit_lines import MemoryLine
from apm_hooks.tables import heading_text, item_text

_TOOLS = """
adb ansible apk apt apt-get awk aws az bash bat bcftools beast bedtools blast blastn blastp bowtie bowtie2 brew
btop bun bwa bzip2 cargo clang cmake code conda croc curl cutadapt deno dig docker docker-compose dust entr
esbuild eslint exa exiftool eza fastp fastqc fd ffmpeg ffprobe find fish flyctl fzf gatk gcc gcloud gdb gh
ghostscript git gitleaks glab gnuplot go gradle grep gzip hadoop helm heroku hisat2 htop httpie hyperfine
imagemagick iqtree iqtree2 java javac jq julia just k9s kallisto kubectl lazygit less libreoffice lsof lua lynx
mafft make mamba maven minimap2 mosh mpv multiqc muscle mvn mypy mysql nano nc ncdu netlify nextflow nginx ninja
nmap node npm npx nvim nvm nvtop openssl pandas pandoc parallel perl php pip pipx playwright plink pnpm podman
poetry poppler prettier psql pup pyenv pytest python python3 qpdf raxml rclone redis-cli rg ripgrep rsync ruby
ruff rustc rustup salmon samtools scp screen sed seqkit shellcheck shfmt slurm snakemake sox sqlite sqlite3 ssh
star starship strace subread sudo systemctl tar tcpdump terraform tesseract tldr tmux traceroute tree
trimmomatic tsc uv valgrind vcftools vercel vim vite wc wget wrk xargs yarn yq yt-dlp zip zoxide zsh zstd
"""
_KNOWN = frozenset(_TOOLS.split())
_LABEL = (
    r"(?i:(?:installed|available|local|useful|common(?:ly used)?|dev(?:eloper|elopment)?|cli|command[- ]line|my"
    r"|our)\s){0,3}(?i:tools?|tooling|toolbox|utilities|cli|cli tools|commands|command[- ]line|binaries|packages"
    r"|software|programs)(?i:\s(?:list|available|installed|that are installed|(?:on|in) (?:this|the|my"
    r"|our) [\w-]{1,30}(?: [\w-]{1,30})?|in path|(?:that )?we (?:have|use)|(?:that )?i (?:have|use)))?"
    r"|(?i:installed|available in path)|(?:已安装|已裝|可用|常用|本地|命令行|系统|(?:服务器|机器|电脑|本机|主机"
    r"|電腦)(?:上|里)?(?:有|装)?)?(?:的|了的)?(?:工具|软件|軟體|命令|程序|软件包)(?:列表|清单|清單|集)?|(?:已安装"
    r"|安装了)|(?:インストール済み|利用可能|使える|使っている|よく使う|使用する|入っている|手元)?(?:の"
    r"|な)?(?:ツール|コマンド|ソフト(?:ウェア)?|パッケージ)(?:一覧|リスト)?|インストール済み|(?:설치된"
    r"|사용\s?가능한|쓸\s?수\s?있는|자주\s?쓰는)?\s?(?:도구|툴|명령어?|소프트웨어|패키지)(?:\s?목록|\s?리스트)?"
)
_STACK = (
    r"(?i:stack|languages?|frameworks?|prefers?|likes|codes? in|writes|speaks|uses|database|backend|frontend)"
    r"|技术栈|技術棧|语言|語言|偏好|技術スタック|言語|好み|기술\s?스택|언어|선호"
)
_SPLIT = re.compile(r"[,、，;；/·]|\s(?:and|和|と|및)\s")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+._-]{0,30}")
_VERSIONED = re.compile(r"\b[A-Za-z][\w.+-]{1,24}\s{1,2}v?\d{1,3}\.\d{1,3}(?:\.\d{1,4})?(?![\w.])")
_BINARY = re.compile(r"\b([\w.+-]{2,30})`?\W{1,12}/(?:[\w.+-]{1,40}/){1,8}s?bin/([\w.+-]{2,30})(?![\w/])")
_LEAST_ENTRIES, _ENTRY_WORDS = 2, 12
_LEAST_NAMES, _LEAST_KNOWN, _LEAST_VERSIONS, _NAME_CHARS, _MOST_PARTS = 3, 4, 3, 30, 100


@cache
def _label() -> re.Pattern[str]:
    return re.compile(rf"(?:{_LABEL})\s{{0,3}}(?:[:：]|$)")


@cache
def _stack() -> re.Pattern[str]:
    return re.compile(_STACK)


def tool_lists(lines: Sequence[MemoryLine]) -> Iterator[MemoryLine]:
    """The lines that list tools, or head such a list; of a list below a heading the heading alone."""
    told_to = 0
    for at, line in enumerate(lines):
        if line.number <= told_to:
            continue
        if tool_heading(line.text):
            told_to = _listed_below(lines[at + 1 :]) or told_to
            if told_to >= line.number:
                yield line
        elif tool_line(line.text, line.plain) or (line.cells and names_tools(line.cells)):
            yield line


def _listed_below(lines: Sequence[MemoryLine]) -> int:
    """The last line of the list or table that follows; 0 where there are fewer than two entries, or entries that are no
    short names."""
    entries: list[MemoryLine] = []
    for line in lines:
        if line.title is not None or not (line.is_item or line.cells):
            break
        entries.append(line)
    short = [line for line in entries if not line.has_path and len(line.body.split()) <= _ENTRY_WORDS]
    enough = len(entries) >= _LEAST_ENTRIES and len(short) * 3 >= len(entries) * 2
    return entries[-1].number if enough and all(map(_begins_with_name, short)) else 0


def _begins_with_name(line: MemoryLine) -> bool:
    """An entry that begins with a name as tools have them: Latin letters, no sentence."""
    first = (line.cells[0] if line.cells else line.body).strip(" `*_").split(" ")[0]
    return bool(first) and first.strip("`*_:：,，—–-").isascii()


def tool_heading(line: str) -> bool:
    """True for a heading, a bold line or a label on a line of its own that names tools and nothing else."""
    title = heading_text(line)
    body = line.strip()
    if title is None and body.startswith("**"):
        title = body.strip("*:： ")
    if title is None and body.endswith((":", "：")) and item_text(body) is None:
        title = body
    if title is None:
        return False
    return _label().fullmatch(_bare(title)) is not None


def tool_line(text: str, plain: str) -> bool:
    """True for a line that lists tools: behind a label, with their versions, with their paths, or well-known ones."""
    body = text.strip()
    title = heading_text(text)
    body = title if title is not None else item_text(body) or body
    label = _label().match(_bare(body))
    if label is not None:
        names = _names(_bare(body)[label.end() :])
        return len(names) >= _LEAST_NAMES and any(name.isascii() for name in names)
    if any(match[1].lower() == match[2].lower() for match in _BINARY.finditer(text)):
        return True
    if _stack().search(plain):
        return False
    if len(_VERSIONED.findall(plain)) >= _LEAST_VERSIONS:
        return True
    return names_tools(_SPLIT.split(plain))


def names_tools(parts: Sequence[str]) -> bool:
    """True where enough of the parts are, or hold, nothing but a well-known tool."""
    words = [_WORD.findall(part[: _NAME_CHARS * 3]) for part in parts[:_MOST_PARTS] if part.strip()]
    known = 0
    for number, found in enumerate(words):
        # The first part may end with a tool, the last one begin with it: they hold the rest of the sentence.
        ends = found[-1:] * (number == 0) + found[:1] * (number == len(words) - 1) if len(found) > 1 else found
        known += any(word.lower() in _KNOWN for word in ends or ())
    return known >= _LEAST_KNOWN


def _bare(text: str) -> str:
    return text.replace("*", "").replace("`", "").replace("_", " ").strip()


def _names(rest: str) -> list[str]:
    """The parts of an enumeration, if all are short enough to be names."""
    parts = [part.strip(" .。") for part in _SPLIT.split(rest) if part.strip(" .。")]
    return parts if all(len(part) <= _NAME_CHARS for part in parts) else []

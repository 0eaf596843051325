"""Who may do what with which file: verdicts written by hand from the protocol, sections 2 and 8."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.access import Access, AccessKind, Calling, Edit
from apm_hooks.gate import judge, judge_prompt
from apm_hooks.shell.reading import grammar_available
from tests.gatebench import FILES, GateBench, gatebench

# What of a file is free: r(ead), w(rite) in any way, k: a write that keeps hard rules and rows, l: a plain listing.
# `nobody` stands for every session without a scope; `-` for nothing at all.
FILE_TABLE = """
file                                       owner  alpha  beta   nobody
README.md                                  rwl    rwl    rwl    rwl
src/app.py                                 rwl    rwl    rwl    rwl
src/new.py                                 rwl    rwl    rwl    rwl
~/notes.txt                                rwl    rwl    rwl    rwl
/srv/none-such/x.txt                       rwl    rwl    rwl    rwl
MEMORY.md                                  rwl    l      l      -
memory/MEMORY.md                           rwl    l      l      -
memory/main/index.md                       rkl    l      l      -
memory/main/attention.md                   rwl    l      l      -
memory/main/longterm.md                    rwl    l      l      -
memory/main/projects/site.md               rwl    l      l      -
memory/main/projects/new.md                rwl    l      l      -
memory/2026-03-01.md                       rwl    l      l      -
memory/2026-03-01-0915.md                  rwl    l      l      -
memory/INDEX.md                            rwl    l      l      -
memory/notes/idea.md                       rwl    l      l      -
memory/anything/else.bin                   rwl    l      l      -
log/run.txt                                rwl    l      l      -
memory/flush-state.json                    rl     l      l      -
memory/flush-state.json.lock               rl     l      l      -
memory/flush-state.json.corrupt-1          rl     l      l      -
src/flush-state.json                       rl     l      l      -
memory/groups/flush-state.json             l      l      l      -
memory/groups/group_names.json             rl     l      l      -
memory/groups/alpha.md                     rl     rkl    l      -
memory/groups/alpha/attention.md           rl     rwl    l      -
memory/groups/alpha/experience.md          rl     rwl    l      -
memory/groups/alpha/people.md              rl     rwl    l      -
memory/groups/alpha/conventions/style.md   rl     rwl    l      -
memory/groups/alpha/flush-state.json       l      rl     l      -
memory/groups/beta.md                      rl     l      rkl    -
memory/groups/beta/attention.md            rl     l      rwl    -
memory/groups/beta/conventions/style.md    rl     l      rwl    -
memory/groups/beta/flush-state.json        l      l      rl     -
memory/groups/gamma.md                     rl     l      l      -
memory/groups/alphabet/attention.md        rl     l      l      -
.apm/ledger/s1.jsonl                       l      l      l      -
.apm/flush-state.json                      l      l      l      -
apm.toml                                   l      l      l      -
.git/refs/heads/main                       rwl    l      l      -
.git/COMMIT_EDITMSG                        rwl    l      l      -
~/.claude/projects/ws/s1.jsonl             rwl    -      -      -
~/.claude/history.jsonl                    rwl    -      -      -
~/.claude/skills/draw/SKILL.md             rwl    rl     rl     rl
~/.codex/sessions/a.jsonl                  rwl    -      -      -
~/.openclaw/agents/main/sessions/a.jsonl   rwl    -      -      -
~/.local/share/opencode/storage/a.json     rwl    -      -      -
~/.config/apm-hooks/trust.json             rl     -      -      -
~/.config/apm-hooks/config.toml            rl     -      -      -
~/.local/state/apm-hooks/images/a          rwl    -      -      -
~/.cache/apm-hooks/start/a                 rwl    -      -      -
.claude/settings.json                      rwl    rl     rl     rl
OTHER/README.md                            rwl    rwl    rwl    rwl
OTHER/MEMORY.md                            rl     l      l      -
OTHER/memory/main/attention.md             rl     l      l      -
OTHER/memory/groups/alpha.md               rl     l      l      -
OTHER/memory/groups/alpha/attention.md     rl     l      l      -
OTHER/.git/HEAD                            rwl    l      l      -
OTHER/apm.toml                             l      l      l      -
"""
CALLERS = {"owner": "owner", "alpha": "alpha", "beta": "beta", "cron": "nobody"}
"""One session of each kind; that the others are judged alike is tested by itself."""

Tool = Callable[[GateBench, str], Calling]


def one(kind: AccessKind, **more: object) -> Tool:
    return lambda made, path: Calling((made.access(kind, path, **more),))


def both(*kinds: AccessKind) -> Tool:
    return lambda made, path: Calling(tuple(made.access(kind, path) for kind in kinds), known=False)


def kept(made: GateBench, path: str) -> str:
    """The file's text, as a tool would leave it that only adds a line."""
    return FILES.get(path.removeprefix("OTHER/"), "") + "\none more line\n"


def shell(command: str) -> Tool:
    return lambda made, path: made.shell(command.format(path=made.path(path)))


# Each tool, with the letter that a file needs for it to be free.
TOOLS: dict[str, tuple[str, Tool]] = {
    "read": ("r", one(AccessKind.READ)),
    "search in it": ("r", one(AccessKind.SEARCH)),
    "run": ("r", one(AccessKind.EXECUTE)),
    "cat": ("r", shell("cat {path}")),
    "grep": ("r", shell("grep -n word {path}")),
    "head in a pipe": ("r", shell("head -5 {path} | sort")),
    "input": ("r", shell("wc -l < {path}")),
    "list": ("l", one(AccessKind.LIST)),
    "ls": ("l", shell("ls -l {path}")),
    "write": ("k", lambda made, path: Calling((made.access(AccessKind.WRITE, path, content=kept(made, path)),))),
    "edit": ("k", lambda made, path: Calling((made.access(AccessKind.EDIT, path, edits=(Edit("none such", "x"),)),))),
    "write something": ("w", one(AccessKind.WRITE, content="something else\n")),
    "write unseen": ("w", one(AccessKind.WRITE)),
    "edit unseen": ("w", one(AccessKind.EDIT)),
    "notebook": ("rw", both(AccessKind.READ, AccessKind.EDIT)),
    "delete": ("w", one(AccessKind.DELETE)),
    "move away": ("w", one(AccessKind.MOVE_FROM)),
    "sed -i": ("rw", shell("sed -i s/a/b/ {path}")),
    "tee": ("w", shell("echo x | tee -a {path}")),
    "output": ("w", shell("echo x > {path}")),
    "rm": ("w", shell("rm -f {path}")),
    "mv": ("w", shell("mv {path} /srv/none-such/y")),
    "mv onto it": ("w", shell("mv /srv/none-such/y {path}")),
    "a tool of an unknown name": ("rw", both(AccessKind.READ, AccessKind.WRITE)),
}  # fmt: skip


def table(text: str) -> list[tuple[str, dict[str, str]]]:
    head, *lines = text.strip().split("\n")
    columns = head.split()[1:]
    return [(line.split()[0], dict(zip(columns, line.split()[1:], strict=True))) for line in lines]


def allows(letters: str, needed: str) -> bool:
    """`w` includes `k`."""
    return all(letter in letters or (letter == "k" and "w" in letters) for letter in needed)


@cache
def calling(made: GateBench, tool: str, path: str) -> Calling:
    return (TOOLS | FOLDER_TOOLS)[tool][1](made, path)


@pytest.mark.parametrize(("who", "scope"), [
    ("owner", "DM"), ("alpha", "Group(alpha)"), ("topic", "Group(alpha)"), ("beta", "Group(beta)"), ("cron", "None"),
    ("subagent", "None"), ("unmapped", "None"), ("unknown", "None"), ("empty", "None"),
])  # fmt: skip
def test_whose_memory_a_session_may_touch(made: GateBench, who: str, scope: str) -> None:
    assert str(made.scope(who)) == scope


@pytest.mark.parametrize(("who", "like"), [("topic", "alpha"), ("subagent", "nobody"), ("unmapped", "nobody"),
                                           ("unknown", "nobody"), ("empty", "nobody")])  # fmt: skip
def test_other_sessions_are_judged_by_their_scope(made: GateBench, who: str, like: str) -> None:
    situation = made.situation(who)
    for path, rights in table(FILE_TABLE):
        for tool in ("read", "list", "write something", "delete"):
            denied = judge(calling(made, tool, path), situation).verdict.deny
            assert denied != allows(rights[like], TOOLS[tool][0]), (path, tool)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> GateBench:
    return gatebench(tmp_path_factory.mktemp("gate"))


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("tool", TOOLS)
def test_the_files(made: GateBench, who: str, tool: str) -> None:
    needed, _ = TOOLS[tool]
    situation = made.situation(who)
    wrong = []
    for path, rights in table(FILE_TABLE):
        judged = judge(calling(made, tool, path), situation)
        free = allows(rights[CALLERS[who]], needed)
        if judged.verdict.deny == free:
            wrong.append((path, rights[CALLERS[who]], judged.verdict))
        assert bool(judged.verdict.reason) == judged.verdict.deny
    assert wrong == []


# A search through all below a folder, a listing of all below it, and a change of all below it (deletion, move); `+` is
# free. In the owner's scope searches and listings are.
FOLDER_TABLE = """
folder                    owner  alpha  beta   nobody
src                       s,l,c  s,l,c  s,l,c  s,l,c
.                         s,l    -      -      -
..                        s,l    -      -      -
/                         s,l    -      -      -
~/                        s,l    -      -      -
memory                    s,l    -      -      -
memory/main               s,l    -      -      -
memory/main/projects      s,l,c  -      -      -
memory/notes              s,l,c  -      -      -
memory/groups             s,l    -      -      -
memory/groups/alpha       s,l    l      -      -
memory/groups/alpha/conventions  s,l  l,c  -   -
memory/groups/beta        s,l    -      l      -
memory/groups/gamma       s,l    -      -      -
log                       s,l,c  -      -      -
.git                      s,l,c  -      -      -
.apm                      l      -      -      -
~/.claude                 s,l,c  -      -      -
~/.claude/skills          s,l,c  s,l    s,l    s,l
~/.config                 s,l    -      -      -
~/.config/apm-hooks       s,l    -      -      -
OTHER/                    s,l    -      -      -
OTHER/memory              s,l    -      -      -
OTHER/memory/groups/alpha s,l    -      -      -
"""
FOLDER_TOOLS: dict[str, tuple[str, Tool]] = {
    "search all": ("s", one(AccessKind.SEARCH, recursive=True)),
    "grep -r all": ("s", shell("grep -rn word {path}")),
    "rg all": ("s", shell("rg word {path}")),
    "list all": ("l", one(AccessKind.LIST, recursive=True)),
    "find all": ("l", shell("find {path} -type f")),
    "ls -R all": ("l", shell("ls -R {path}")),
    "delete all": ("c", one(AccessKind.DELETE, recursive=True)),
    "rm -rf all": ("c", shell("rm -rf {path}")),
    "mv all": ("c", shell("mv {path} /srv/none-such")),
}


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("tool", FOLDER_TOOLS)
def test_the_folders(made: GateBench, who: str, tool: str) -> None:
    needed, _ = FOLDER_TOOLS[tool]
    situation = made.situation(who)
    wrong = []
    for path, rights in table(FOLDER_TABLE):
        folder = os.path.normpath(made.path(path)) if path in (".", "..") else path
        judged = judge(calling(made, tool, folder), situation)
        if judged.verdict.deny == (needed in rights[CALLERS[who]].split(",")):
            wrong.append((path, rights[CALLERS[who]], judged.verdict))
    assert wrong == []


@pytest.mark.parametrize("who", CALLERS)
def test_a_search_without_a_path_is_the_owners_alone(made: GateBench, who: str) -> None:
    for kind in (AccessKind.SEARCH, AccessKind.SESSION_SEARCH):
        pathless = Calling((Access(kind, "", recursive=True),))
        assert judge(pathless, made.situation(who)).verdict.deny == (who != "owner")


# Patterns and names that are looked for, in a search and in a listing of all below.
PATTERN_TABLE = """
pattern                       owner  alpha  beta   nobody
**/*.py                       s,l    s,l    s,l    s,l
**/*.rs                       s,l    s,l    s,l    s,l
**/*.md                       s,l    -      -      -
**/*.toml                     s,l    -      -      -
**/*.json                     s,l    -      -      -
**/app.py                     s,l    s,l    s,l    s,l
**/attention.md               s,l    -      -      -
**/ATTENTION.MD               s,l    -      -      -
**/[a-b]*.md                  s,l    -      -      -
**/*                          s,l    -      -      -
"""


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize(("needed", "kind"), [("s", AccessKind.SEARCH), ("l", AccessKind.LIST)])
def test_the_patterns(made: GateBench, who: str, needed: str, kind: AccessKind) -> None:
    for pattern, rights in table(PATTERN_TABLE):
        judged = made.judge(who, made.access(kind, "", recursive=True, only=(pattern.removeprefix("**/"),)))
        assert judged.verdict.deny == (needed not in rights[CALLERS[who]].split(",")), (pattern, who)


# Commands as agents write them: who may run them.
COMMAND_TABLE = """
cat README.md                                            | owner alpha beta nobody
cat memory/groups/alpha.md                               | owner alpha
cat memory/groups/alpha/attention.md memory/groups/alpha/people.md | owner alpha
cat memory/groups/alpha/*.md                             | owner
cat memory/groups/*/attention.md                         | owner
cat memory/groups/alph?.md                               | owner
cat m*/main/index.md                                     | owner
cat */*.md                                               | owner
cat *.md                                                 | owner
cat *.py                                                 | owner alpha beta nobody
cat src/*.py                                             | owner alpha beta nobody
ls                                                       | owner alpha beta nobody
ls -la memory memory/groups                              | owner alpha beta
ls memory/groups/*/                                      | owner alpha beta
cd memory && cat main/index.md                           | owner
cd memory/groups/alpha && cat ../alpha.md && cat attention.md | owner alpha
cd memory/groups/alpha && cat ../beta.md                 | owner beta
cd memory/groups/alpha && cat people.md                  | owner alpha
cp memory/main/index.md /srv/none-such/x                 | owner
cp src/app.py memory/main/x.md                           | owner
cp -r . /srv/none-such/all                               | owner
tar cf /srv/none-such/a.tar memory                       | owner
ln -s memory/main x                                      | owner
ln memory/main/attention.md x                            | owner
find . -name '*.py'                                      | owner alpha beta nobody
find . -name '*.md'                                      | owner
find src -name '*.md' -exec cat {} +                     | owner alpha beta nobody
grep -rn word --include='*.py' .                         | owner alpha beta nobody
grep -rn word                                            | owner
git status                                               | owner alpha beta nobody
git log                                                  | owner
git show HEAD:memory/main/index.md                       | owner
git commit -m x                                          | owner
git log -p -- ':!src'                                    | owner
git log -p -- 'm*'                                       | owner
git grep word -- '*.md'                                  | owner
git clone . /srv/none-such/x                             | owner
git --work-tree=/srv/none-such checkout HEAD -- .        | owner
x=$(printf M; printf EMORY.md); cat $x                   | owner
git stash -a                                             |
git log -p -- src                                        | owner alpha beta nobody
git clean -fdx                                           |
rm -rf memory                                            |
rm -rf src                                               | owner alpha beta nobody
rm -rf memory/main/projects                              | owner
rm memory/main/index.md                                  |
rm -r memory/groups/alpha                                |
echo x >> memory/main/attention.md                       | owner
echo x >> memory/groups/alpha/attention.md               | alpha
mv src/app.py memory/main/                               | owner
mv src/app.py memory/groups/alpha/                       | alpha
mv src/app.py src/new.py memory/groups/alpha             | alpha
cp -r src memory/groups/alpha                            | alpha
cp -r src memory/main                                    | owner
cp -r src/. memory/groups/alpha                          |
cp -r src/. memory/main                                  |
rsync -a src/ memory/main                                |
cp -r src/new.py src/. memory/main                       |
mv src/new.py src/* memory/main                          |
mv src/* memory/main                                     |
tar xf src/a.tar -C memory/main                          |
tar xf src/a.tar -C memory/groups                        |
tar xf src/a.tar -C src                                  | owner alpha beta nobody
tar xf src/a.tar                                         | owner
git checkout main                                        | owner
git checkout -- memory/main/attention.md                 | owner
git checkout -- memory/main/index.md                     |
touch memory/groups/alpha/new.md                         | alpha
echo x > memory/flush-state.json                         |
echo x > src/flush-state.json                            |
mkdir -p memory/groups/alpha/conventions                 | alpha
mkdir -p memory/groups/beta                              | beta
mkdir -p memory/groups/gamma                             | owner
make test                                                | owner alpha beta nobody
npm test                                                 | owner alpha beta nobody
python3 -c 'print(open("MEMORY.md").read())'             | owner
cat $X                                                   | owner
eval "$(echo x | base64 -d)"                             | owner
cat ~/.claude/projects/ws/s1.jsonl                       | owner
ls ~/.claude                                             | owner
grep -r word ~                                           | owner
apm-hooks status                                         | owner alpha beta nobody
apm-hooks write decision "Use Postgres"                  | owner alpha beta nobody
apm-hooks status --session agent:main:main               | owner
apm-hooks status --session=agent:main:main               | owner
apm-hooks --workspace /elsewhere status                  | owner
APM_SESSION=agent:main:main apm-hooks status             | owner
export APM_SESSION=agent:main:main                       | owner
env -u APM_SESSION apm-hooks status                      | owner
HOME=/elsewhere apm-hooks status                         | owner
apm-hooks hook --host claude-code < event.json           | owner
"""


@pytest.mark.parametrize("who", CALLERS)
def test_the_commands(made: GateBench, who: str) -> None:
    wrong = []
    for line in COMMAND_TABLE.strip().split("\n"):
        command, _, free = line.rpartition("|")
        if command.startswith(("export", "eval", "env")) and not grammar_available():
            continue
        judged = judge(made.shell(command.strip()), made.situation(who))
        if judged.verdict.deny == (CALLERS[who] in free.split()):
            wrong.append((command.strip(), judged.verdict))
    assert wrong == []


MENTIONS = """
@README.md                        owner alpha beta nobody
@memory/main/index.md             owner
@./memory/main/index.md           owner
@"memory/main/index.md"           owner
@MEMORY.md                        owner
@memory/groups/alpha.md           owner alpha
@memory/groups/alpha/attention.md owner alpha
@memory/groups/alpha/             owner alpha beta
@memory                           owner alpha beta
@memory/flush-state.json          owner
@memory/groups/alpha/flush-state.json alpha
@memory/groups/group_names.json   owner
@apm.toml
@.apm/ledger/s1.jsonl
@~/.claude/projects/ws/s1.jsonl   owner
@~/notes.txt                      owner alpha beta nobody
@alice                            owner alpha beta nobody
@memory/main/none.md              owner
@src/app.py#L1-5                  owner alpha beta nobody
"""


@pytest.mark.parametrize("who", CALLERS)
def test_the_mentions(made: GateBench, who: str) -> None:
    for line in MENTIONS.strip().split("\n"):
        mention, *free = line.split()
        verdict = judge_prompt(f"Please look at {mention}, will you?", made.situation(who))
        assert verdict.deny == (CALLERS[who] not in free), (mention, verdict)


FORBIDDEN = ("MEMORY.md", "memory/main/index.md", "memory/main/projects/caf\u00e9.md", "memory/groups/beta/people.md",
             "memory/flush-state.json", "memory/groups/group_names.json", "apm.toml", ".apm/ledger/s1.jsonl",
             "log/run.txt", "memory/groups/beta.md", "memory/notes/new.md")  # fmt: skip
FREE = ("README.md", "src/app.py", "src/caf\u00e9.py", "src/new.py")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> GateBench:
    """The same with other names for all of it: links to files and folders, second names."""
    made = gatebench(tmp_path_factory.mktemp("linked"))
    root = Path(made.root)
    for path in ("memory/main/projects/caf\u00e9.md", "src/caf\u00e9.py"):
        (root / path).write_text("x")
    links = Path(made.home) / "links"
    links.mkdir()
    (links / "ws").symlink_to(made.root)
    (links / "again").symlink_to("ws")
    for path in (*FORBIDDEN, *FREE):
        name = path.replace("/", "_")
        (links / f"soft_{name}").symlink_to(f"{made.root}/{path}")
        (links / f"chain_{name}").symlink_to(f"soft_{name}")
        (links / f"folder_{name}").symlink_to(os.path.dirname(f"{made.root}/{path}"))
        if (root / path).exists():
            (links / f"hard_{name}").hardlink_to(root / path)
    return made


def respell(data: st.DataObject, made: GateBench, path: str) -> str:
    """Another way to write the same file; what changes letters only is one on some file systems."""
    name = path.replace("/", "_")
    parts = path.split("/")
    starts = [
        made.root, f"{made.home}/links/ws", f"{made.home}/links/again", "/proc/self/cwd", f"/proc/self/root{made.root}",
        f"/proc/{os.getpid()}/root{made.root}", "/proc/thread-self/cwd", "/proc/self/task/1/cwd/../ws",
        f"{made.root}/src/..", f"{made.root}/memory/groups/alpha/../../..", f"/{made.root}", f"{made.root}/none/..",
        f"{made.home}/links/folder_src_app.py/..", "/proc/self/fd/../cwd",
    ]  # fmt: skip
    shapes = ["start", "soft", "chain", "folder", "hard"]
    shape = data.draw(st.sampled_from(shapes))
    if shape == "hard" and os.path.exists(f"{made.root}/{path}"):
        return f"{made.home}/links/hard_{name}"
    if shape in ("soft", "chain"):
        return f"{made.home}/links/{shape}_{name}"
    if shape == "folder":
        return f"{made.home}/links/folder_{name}/{parts[-1]}"
    written = [data.draw(st.sampled_from(starts))]
    for at, part in enumerate(parts):
        between = [".", "", "none/..", "src/../."] if at == 0 else [".", ""]
        written += data.draw(st.lists(st.sampled_from(between), max_size=2))
        change = data.draw(st.sampled_from(["", "", "", "upper", "title", "NFD", "NFC", "blank", "dot"]))
        written.append({
            "upper": part.upper(), "title": part.title(), "NFD": unicodedata.normalize("NFD", part),
            "NFC": unicodedata.normalize("NFC", part), "blank": part + " ", "dot": part + ". ",
        }.get(change, part))  # fmt: skip
    return "/".join(written)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_however_it_is_spelled_a_forbidden_file_stays_forbidden(linked: GateBench, data: st.DataObject) -> None:
    path = respell(data, linked, data.draw(st.sampled_from(FORBIDDEN)))
    kind = data.draw(st.sampled_from([AccessKind.READ, AccessKind.WRITE, AccessKind.DELETE, AccessKind.SEARCH]))
    for who in ("alpha", "unmapped"):
        assert linked.judge(who, linked.access(kind, path)).verdict.deny, path


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_however_it_is_spelled_an_unrelated_file_stays_free(linked: GateBench, data: st.DataObject) -> None:
    path = respell(data, linked, data.draw(st.sampled_from(FREE)))
    kind = data.draw(st.sampled_from([AccessKind.READ, AccessKind.WRITE, AccessKind.DELETE, AccessKind.SEARCH]))
    for who in ("alpha", "unmapped", "owner"):
        assert not linked.judge(who, linked.access(kind, path)).verdict.deny, path


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_prompt_is_judged_alike(linked: GateBench, data: st.DataObject) -> None:
    path = respell(data, linked, data.draw(st.sampled_from(FORBIDDEN)))
    prompt = f'look at @"{path}" now'
    assert judge_prompt(prompt, linked.situation("alpha")).deny, path


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_word_of_another_conversation_is_in_a_reason(linked: GateBench, data: st.DataObject) -> None:
    """A reason names what the agent wrote, and what is its own."""
    path = data.draw(st.sampled_from(["memory", ".", "..", "/", "memory/groups", "m*", "src", "~", "log"]))
    kind = data.draw(st.sampled_from(list(AccessKind)))
    access = linked.access(kind, path, recursive=data.draw(st.booleans()), glob="*" in path)
    verdict = linked.judge(data.draw(st.sampled_from(["alpha", "unmapped"])), access).verdict
    assert "beta" not in verdict.reason
    assert linked.root not in verdict.reason
    assert "main/" not in verdict.reason
    assert verdict.reason.count("\n") == 0

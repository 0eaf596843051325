"""kill -9 at each system call of a write to the fact index: every fact is there, whole; asking again finishes it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from apm_hooks.facts.model import CUTS, INDEX, NOTES
from tests.kernel.processes import Done, Server, side_by_side
from tests.kernel.test_kill import LOOKING, MOST, killing, names_of
from tests.kernel.tools import fresh, litter, names_in, need, watched
from tests.workspaces import Bench

HEAD = ["# Facts", "", "- **`first`** · One. **So:** x."]
ARGUMENT = "Why is argued here."


def with_index(folder: Path, server: Server, *slugs: str) -> Bench:
    made = fresh(folder, None)
    made.write(INDEX, "\r\n".join([*HEAD, ""]))
    for slug in slugs:
        assert server.run(made, "fact-add", text=slug).code == 0
    return made


def line_of(slug: str) -> str:
    return f"- **`{slug}`** · It is slow. {ARGUMENT} **So:** x."


def moved(slug: str) -> str:
    return f"- **`{slug}`** · It is slow. **So:** x. · [note](notes/{slug}.md)"


def lines_of(made: Bench, path: str = INDEX) -> list[str]:
    """The lines of a file, each of which is whole; none for a file that is not there."""
    file = made.root / path
    if not file.exists():
        return []
    text = file.read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text.replace("\r\n", "\n").split("\n")[:-1]


def calls(server: Server, made: Bench, action: str, slug: str, *, looking: bool) -> list[str]:
    return [name for name in names_of(server, made, action, (), text=slug) if (name in LOOKING) is looking]


def words_for(made: Bench, looking: bool) -> Sequence[str]:
    if not looking:
        return []
    folder, locks = made.root / "memory", made.root / ".apm/locks"
    return watched(folder, locks, made.root / INDEX, folder / ".INDEX.md.apm-tmp", *locks.glob("*"))


def died(done: Done) -> bool:
    """Whether the kill was met; what is neither killed nor done is a failure."""
    assert done.code in (0, -signal.SIGKILL), done.said
    return done.code != 0


@pytest.mark.parametrize("looking", [False, True])
def test_a_fact_that_is_added(tmp_path: Path, servers: tuple[Server, ...], looking: bool) -> None:
    need("strace")
    names = calls(servers[0], with_index(tmp_path / "model", servers[0]), "fact-add", "model", looking=looking)

    def work(server: Server, call: str) -> int:
        made = with_index(tmp_path / call, server, "zero")
        words, there = words_for(made, looking), [*HEAD, line_of("zero")]
        for at in range(1, MOST):
            slug = f"fact-{at}"
            done = server.run(made, "fact-add", text=slug, settled=True, strace=killing(call, at, words))
            after = [*there, line_of(slug)]
            assert lines_of(made) in (there, after), done.said
            assert len(litter(made)) <= 1
            if not died(done):
                assert lines_of(made) == after
                return at - 1
            again = server.run(made, "fact-add", text=slug, settled=True)
            assert (again.code, lines_of(made), litter(made)) == (0, after, []), again.said
            there = after
        pytest.fail(f"the write died at every {call} up to the bound")

    assert sum(side_by_side(servers, work, names)) > 5


def test_a_fact_that_is_cut_is_in_the_index_or_in_the_log(tmp_path: Path, servers: tuple[Server, ...]) -> None:
    need("strace")
    model = with_index(tmp_path / "model", servers[0], "model")
    names = calls(servers[0], model, "fact-cut", "model", looking=False)

    def work(server: Server, call: str) -> int:
        made = with_index(tmp_path / call, server)
        files: set[str] = set()
        for at in range(1, MOST):
            slug = f"fact-{at}"
            assert server.run(made, "fact-add", text=slug, settled=True).code == 0
            done = server.run(made, "fact-cut", text=slug, settled=True, strace=killing(call, at))
            logged = [line for line in lines_of(made, CUTS) if f"`{slug}`" in line]
            assert lines_of(made) in (HEAD, [*HEAD, line_of(slug)]), done.said
            assert logged or line_of(slug) in lines_of(made), "neither in the index nor in the log"
            if not died(done):
                return at - 1
            again = server.run(made, "fact-cut", text=slug, settled=True)
            # It may have been gone already.
            assert again.code in (0, 3), again.said
            logged = [line for line in lines_of(made, CUTS) if f"`{slug}`" in line]
            assert (lines_of(made), len(logged), litter(made)) == (HEAD, 1, []), again.said
            files = files or names_in(made)
            assert names_in(made) == files, "the files grow in number"
        pytest.fail(f"the cut died at every {call} up to the bound")

    assert sum(side_by_side(servers, work, names)) > 10


def test_an_argument_that_is_moved_is_in_the_line_or_in_the_note(tmp_path: Path, servers: tuple[Server, ...]) -> None:
    need("strace")
    model = with_index(tmp_path / "model", servers[0], "model")
    names = calls(servers[0], model, "fact-move", "model", looking=False)

    def work(server: Server, call: str) -> int:
        made = with_index(tmp_path / call, server)
        there = list(HEAD)
        for at in range(1, MOST):
            slug = f"fact-{at}"
            assert server.run(made, "fact-add", text=slug, settled=True).code == 0
            done = server.run(made, "fact-move", text=slug, settled=True, strace=killing(call, at))
            assert lines_of(made) in ([*there, line_of(slug)], [*there, moved(slug)]), done.said
            note = lines_of(made, f"{NOTES}/{slug}.md")
            assert note in ([], [f"# {slug}", "", ARGUMENT])
            assert note or ARGUMENT in lines_of(made)[-1], "the argument is lost"
            if not died(done):
                return at - 1
            if lines_of(made)[-1] != moved(slug):
                assert server.run(made, "fact-move", text=slug, settled=True).code == 0
            assert lines_of(made) == [*there, moved(slug)]
            assert lines_of(made, f"{NOTES}/{slug}.md") == [f"# {slug}", "", ARGUMENT]
            there.append(moved(slug))
        pytest.fail(f"the move died at every {call} up to the bound")

    assert sum(side_by_side(servers, work, names)) > 10

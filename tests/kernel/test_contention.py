"""Many processes at once: no flush and no line is lost, none is doubled, and a reader never sees half."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from apm_hooks import aggregate
from apm_hooks.flushstate import read_state
from apm_hooks.records import DM
from tests.kernel.processes import Child, Done, Server
from tests.kernel.tools import DAYS, DECISIONS, STATE, decisions, fresh, litter, number_of
from tests.workspaces import GROUP_KEY, Bench

PROCESSES, EACH = 8, 200
PATIENCE = 60


def at_once(
    servers: tuple[Server, ...], made: Bench, action: str, path: str, mark: str, until: int, **more: Any
) -> tuple[Done, Done]:
    """Eight processes do something so often each, while a ninth reads a file until it says that all is done."""
    server, other = servers
    with Child(other, {"path": str(made.root / path), "mark": mark, "count": until}) as reader:
        reader.go()
        done = server.crowd(made, action, PROCESSES, session="w", patience=PATIENCE, **more)
        assert done.code == 0, done.said[-2000:]
        return done, reader.wait()


def test_eight_processes_flush_two_hundred_times_each(tmp_path: Path, servers: tuple[Server, ...]) -> None:
    made = fresh(tmp_path, servers[0])
    total = PROCESSES * EACH
    done, reader = at_once(servers, made, "flush", STATE, "flush_number", total + 1, count=EACH)
    assert sorted(done.numbers) == list(range(2, total + 2)), "a number was given twice, or to nobody"
    assert (number_of(made), litter(made)) == (total + 1, [])
    book = read_state(str(made.root), DM).book
    # Each record is one generation, and each turn that went before it another one.
    assert book.generation >= total + 1
    numbers = [flush.number for flush in book.flushes]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == total + 1
    assert reader.code == 0, reader.said
    assert int(str(reader.lines[-1]["reads"])) > EACH


def test_eight_processes_write_two_hundred_lines_each(tmp_path: Path, servers: tuple[Server, ...]) -> None:
    """Half of them decisions, half of them in the day's summary: two files, all of them to each."""
    made = fresh(tmp_path, servers[0])
    each, total = EACH // 2, PROCESSES * EACH // 2
    # Each of them would wait until the line of the one before it is no save in progress any more.
    done, reader = at_once(servers, made, "append+day", DECISIONS, "\n- ", total + 1, count=each, settled=True)
    assert [line["status"] for line in done.lines if "status" in line] == ["written"] * total * 2
    wanted = [[f"w{process} {step}" for step in range(each)] for process in range(PROCESSES)]
    decided = decisions(made)[::-1]
    summed_up = [line.removeprefix("- ") for line in (made.root / DAYS).read_text("utf-8").splitlines() if " " in line]
    for found in (decided, summed_up):
        lines = [line for line in found if re.fullmatch(r"w[0-9] [0-9]+", line)]
        assert sorted(lines) == sorted(line for lines in wanted for line in lines)
        for process, texts in enumerate(wanted):
            assert [line for line in lines if line.startswith(f"w{process} ")] == texts, "not in the order of writing"
    assert decided[0] == "the first"
    assert litter(made) == []
    assert reader.code == 0, reader.said
    assert int(str(reader.lines[-1]["reads"])) > EACH


def test_groups_that_flush_at_once_add_up_in_their_aggregate(tmp_path: Path, server: Server) -> None:
    made = fresh(tmp_path)
    for number in range(PROCESSES):
        made.write(f"memory/groups/g{number}.md", f"# g{number}\n")
    made.groups({f"-{number}": f"g{number}" for number in range(PROCESSES)})
    made.trust()
    key = GROUP_KEY.replace(GROUP_KEY.rpartition(":")[2], "-{}")
    done = server.crowd(made, "flush", PROCESSES, session="w", key=key, count=10, patience=PATIENCE)
    assert done.code == 0, done.said
    assert sorted(done.numbers) == sorted([*range(1, 11)] * PROCESSES)
    assert aggregate.check(str(made.root), [f"g{number}" for number in range(PROCESSES)]) == []
    assert litter(made) == []

"""What runs inside the OpenClaw gateway: it answers each event in time, and nothing of it escapes into the host."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from apm_hooks.errors import UsageError
from apm_hooks.serving import socket_path

ROOT = Path(__file__).parents[1]
HOOKS = ROOT / "hooks/openclaw"
CASES = Path(__file__).parent / "openclaw_shim"
FOLDERS = ["apm_session_start", "remem-flush", "precompact-remem", "idle-flush"]


PARTS = {"cases.js": 1, "fault_cases.js": 1, "rule_cases.js": 1, "worker_cases.js": 2}


def command(*arguments: object) -> list[str]:
    program = shutil.which("node")
    assert program, "these tests need node 20 or newer on the PATH"
    return [program, *(str(one) for one in arguments)]


def node(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False, timeout=60)


def names(script: str) -> list[str]:
    """The cases of a script. Read here and not asked of node, so that collecting tests starts no process."""
    text = (CASES / script).read_text()
    found = re.findall(r"^  (?:async )?([a-z_]+)\((?:folder)?\) \{$", text, re.MULTILINE)
    kinds = re.search(r"for \(const kind of \[(.*)\]\) \{", text)
    return found + [f"a_worker_that_fails_{kind}" for kind in re.findall(r'"(\w+)"', kinds[1] if kinds else "")]


@pytest.fixture(scope="module")
def became(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What was wrong with each case, or "". They mostly wait, so the scripts run side by side, in few processes."""
    parts = [(script, part) for script, count in PARTS.items() for part in range(count)]
    root = tmp_path_factory.mktemp("cases")
    running = [
        subprocess.Popen(command(CASES / script, root, part, PARTS[script]), stdout=subprocess.PIPE, text=True)
        for script, part in parts
    ]
    lines = [line for process in running for line in process.communicate(timeout=100)[0].splitlines()]
    return {one["name"]: one["error"] for one in map(json.loads, lines)}


@pytest.mark.parametrize("name", [name for script in PARTS for name in names(script)])
def test_a_case(name: str, became: dict[str, str]) -> None:
    assert became[name] == ""


def test_no_case_is_left_out(became: dict[str, str]) -> None:
    assert set(became) == {name for script in PARTS for name in names(script)}


def test_a_storm_of_events_at_a_broken_python_costs_no_turn(tmp_path: Path) -> None:
    done = node(CASES / "storm.js", tmp_path, 400, 40)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["events"], figures["lost"], figures["left"], figures["escaped"]) == (440, 0, 0, [])
    # Four that hang; besides them some that were ended and are not seen off yet.
    assert 4 <= figures["peak"] <= 10
    assert figures["processes"] > 15
    assert figures["log_lines"] <= 12


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": "/home/ann"},
        {"HOME": "/home/ann", "XDG_RUNTIME_DIR": "/run/user/1000", "XDG_STATE_HOME": "/s"},
        {"HOME": "/home/ann", "XDG_RUNTIME_DIR": "not/absolute", "XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k"},
        {"HOME": "/home/读书会"},
        {"HOME": "/home/" + "x" * 90},
    ],
)
def test_both_sides_look_for_the_worker_at_one_place(env: dict[str, str]) -> None:
    try:
        expected = socket_path(env, "openclaw")
    except UsageError:
        expected = ""
    assert node(CASES / "rule_cases.js", "--socket", json.dumps(env)).stdout.strip() == expected


def test_the_gateway_finds_the_hooks_and_the_plugin() -> None:
    pack = json.loads((HOOKS / "pack/package.json").read_text())
    assert pack["openclaw"]["hooks"] == [f"./{name}" for name in FOLDERS]
    manifest = json.loads((HOOKS / "plugin/openclaw.plugin.json").read_text())
    package = json.loads((HOOKS / "plugin/package.json").read_text())
    assert manifest["activation"] == {"onStartup": True}
    assert package["openclaw"]["extensions"] == ["./index.js"]
    # Plain require, so that the host's loader and any node take the same files.
    assert pack["type"] == package["type"] == "commonjs"
    for name in FOLDERS:
        text = (HOOKS / "pack" / name / "HOOK.md").read_text()
        assert f"\nname: {name}\n" in text
        metadata = re.search(r"^metadata:\s*(\{.*\})$", text, re.MULTILINE | re.DOTALL)
        assert metadata and json.loads(metadata[1].split("\n---")[0])["openclaw"]["events"]


def test_the_scripts_need_nothing_but_node_and_stay_short() -> None:
    scripts = [*HOOKS.rglob("*.js"), *CASES.glob("*.js")]
    assert len(scripts) > 15
    for script in scripts:
        text = script.read_text()
        assert len(text.splitlines()) <= 400, script
        assert text.startswith('"use strict";\n'), script
        for wanted in re.findall(r'^(?:const .* = |module\.exports = )require\("([^"]+)"\)', text, re.MULTILINE):
            assert wanted.startswith(("node:", "./", "../")), (script, wanted)


def test_a_host_with_an_open_connection_ends_by_itself(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = node(CASES / "worker_cases.js", tmp_path, "an_answer_in_pieces_is_whole")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (0, ""), done.stderr
    # The worker's own life is twenty seconds; nothing of ours keeps the host until then.
    assert time.monotonic() - begun < 15

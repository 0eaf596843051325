"""Installed plugins: found by entry points, looked into once, kept in a list that holds while nothing is installed."""

from __future__ import annotations

import argparse
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import fastlane, plugin_list
from apm_hooks.cli import plugins as command
from apm_hooks.events import Contribution
from apm_hooks.plugin_list import list_path
from apm_hooks.plugins import PluginInfo, Plugins, PluginSettings, create_plugins, installed_plugins
from apm_hooks.records import LIMITS, Limits
from tests.workspaces import Bench, bench

ANY = PluginSettings()
SETTLED = replace(LIMITS, racy_ns=0)
"""Stamps are believed at once: the tests do not change a folder twice within one tick of its clock."""

GOOD = """
from apm_hooks.hookspecs import hookimpl

@hookimpl
def {hook}(event):
    return None
"""


@dataclass(frozen=True, slots=True)
class Quick(Limits):
    plugin_load_seconds: float = 0.2


@dataclass(slots=True)
class Site:
    """A folder of installed distributions that is on the import path, and a cache folder."""

    folder: Path
    cache: str

    def install(self, distribution: str, entries: str, version: str = "1.0", **modules: str) -> None:
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[apm_hooks]\n{entries}\n")
        for name, code in modules.items():
            (self.folder / f"{name}.py").write_text(code)

    def listed(self, settings: PluginSettings = ANY, **more: Any) -> tuple[PluginInfo, ...]:
        return installed_plugins(self.cache, settings, limits=SETTLED, **more)

    def states(self, settings: PluginSettings = ANY, **more: Any) -> dict[str, str]:
        return {info.name: info.state for info in self.listed(settings, **more)}

    @property
    def file(self) -> Path:
        return Path(list_path(self.cache))

    @property
    def kept(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    # What Python itself writes beside the modules would change the folder that is looked at.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield Site(folder.resolve(), str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.startswith("plugin_")]:
        del sys.modules[name]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every time that the distributions are searched."""
    real = metadata.distributions
    calls: list[object] = []

    def distributions(**more: Any) -> Any:
        calls.append(more)
        return real(**more)

    monkeypatch.setattr(metadata, "distributions", distributions)
    return calls


def test_an_installed_plugin_is_found_with_what_it_implements(site: Site) -> None:
    site.install("My-Dist", "mine = plugin_found:inner.plugin [extra]", "2.5", plugin_found=(
        "from apm_hooks.hookspecs import hookimpl\n"
        "class inner:\n"
        "    class Plugin:\n"
        "        @hookimpl\n"
        "        def idle_flush(self, event): return None\n"
        "        @hookimpl\n"
        "        def apm_flushed(self): return None\n"
        "    plugin = Plugin()\n"
    ))  # fmt: skip
    assert site.listed() == (
        PluginInfo("mine", "2.5", "My-Dist", "plugin_found:inner.plugin", ("apm_flushed", "idle_flush"), "active"),
    )


BROKEN = {
    "import": ("plugin_{0}", "import no_such_module_anywhere", "raised ModuleNotFoundError: No module named"),
    "attribute": ("plugin_{0}:nothing", "", "raised AttributeError: module 'plugin_attribute' has no attribute"),
    "syntax": ("plugin_{0}", "def", "raised SyntaxError"),
    "exit": ("plugin_{0}", "raise SystemExit(3)", "raised SystemExit: 3"),
    "interrupt": ("plugin_{0}", "raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    "nothing": ("plugin_{0}", "", "implements no hook"),
    "value": ("plugin {0}", "", "'plugin value' is no module:attribute"),
    "misspelt": ("plugin_{0}", GOOD.format(hook="idle_flsh"), "no such hook: idle_flsh (did you mean idle_flush?)"),
}


def test_each_broken_one_is_named_with_its_reason_and_costs_no_other(site: Site) -> None:
    for what, (value, code, _) in BROKEN.items():
        site.install(f"dist-{what}", f"{what} = {value.format(what)}", **{f"plugin_{what}": code})
    site.install("zz-good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    reports: list[tuple[str, str]] = []
    plugins = create_plugins(ANY, cache_dir=site.cache, report=lambda *told: reports.append(told), limits=SETTLED)
    found = {info.name: info for info in plugins.infos()}
    assert sorted(name for name, _ in reports) == sorted(BROKEN)
    for what, (_, _, reason) in BROKEN.items():
        assert found[what].state == "broken"
        assert reason in found[what].error
        assert any(name == what and reason in said and f"of dist-{what}" in said for name, said in reports)
    assert found["good"].state == "active"
    assert plugins.wanted("idle_flush")
    # A second process reports the same from the list.
    assert site.listed() == tuple(info for info in plugins.infos() if info.origin != "built-in")


def test_one_that_hangs_while_it_is_imported_costs_a_bounded_wait(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(sys, "plugin_release", release, raising=False)
    site.install("a-hangs", "hangs = plugin_hangs", plugin_hangs="import sys; sys.plugin_release.wait()")
    site.install("b-good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    try:
        assert site.states(seconds=0.5) == {"good": "active", "hangs": "broken"}
    finally:
        release.set()
    assert site.listed()[1].error == "took longer than 0.5 s to load"


def test_where_a_host_waits_the_report_says_who_waits_longer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(sys, "plugin_release", release, raising=False)
    site.install("a-hangs", "hangs = plugin_hangs", plugin_hangs="import sys; sys.plugin_release.wait()")
    try:
        (info,) = installed_plugins(site.cache, ANY, limits=Quick())
    finally:
        release.set()
    assert info.error == "took longer than 0.2 s to load; apm-hooks plugins gives it more time"


@pytest.mark.parametrize(
    ("damage", "states"),
    [
        ("[apm_hooks]\nno equals sign\n", {"damaged": "broken", "good": "active"}),
        ("[apm_hooks\n", {"good": "active"}),
        ("[other]\nx = y\n", {"good": "active"}),
        ("", {"good": "active"}),
        ("[apm_hooks]\n", {"good": "active"}),
    ],
)
def test_a_damaged_distribution_costs_no_other(site: Site, damage: str, states: dict[str, str]) -> None:
    site.install("damaged", "x = y")
    site.install("zz-good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    (site.folder / "damaged-1.0.dist-info" / "entry_points.txt").write_text(damage)
    assert site.states() == states


def test_a_distribution_without_metadata_still_brings_its_plugin(site: Site) -> None:
    site.install("bare", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    (site.folder / "bare-1.0.dist-info" / "METADATA").unlink()
    assert [(info.name, info.state) for info in site.listed()] == [("good", "active")]


def test_a_finder_that_raises_is_one_broken_entry(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def distributions(**more: Any) -> Any:
        raise RuntimeError("a finder of somebody else")

    monkeypatch.setattr(metadata, "distributions", distributions)
    assert [(info.state, "a finder of somebody else" in info.error) for info in site.listed()] == [("broken", True)]


def test_of_one_name_the_first_by_distribution_counts_and_all_are_reported(site: Site) -> None:
    for distribution in ("c-dist", "a-dist", "B-dist"):
        module = f"plugin_{distribution[0]}"
        site.install(distribution, f"same = {module}", **{module: GOOD.format(hook="idle_flush")})
    site.install("d-dist", "Same = plugin_d", plugin_d="raise SystemExit")
    reports: list[tuple[str, str]] = []
    plugins = create_plugins(ANY, cache_dir=site.cache, report=lambda *told: reports.append(told), limits=SETTLED)
    found = {info.origin: info.state for info in plugins.infos() if info.origin.endswith("-dist")}
    assert found == {"a-dist": "active", "B-dist": "duplicate", "c-dist": "duplicate", "d-dist": "duplicate"}
    assert sorted(said.rpartition(" of ")[2] for _, said in reports) == ["B-dist)", "c-dist)", "d-dist)"]
    assert all("the name is taken by plugin_a of a-dist" in said for _, said in reports)
    assert not {"plugin_B", "plugin_c", "plugin_d"} & set(sys.modules)
    # What is never used is no reason for doubt.
    assert site.kept["wanted"] == ["idle_flush"]


def test_the_first_copy_of_a_distribution_on_the_path_counts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("dist", "mine = plugin_one", "2.0", plugin_one=GOOD.format(hook="idle_flush"))
    other = Site(site.folder.parent / "other", site.cache)
    other.folder.mkdir()
    other.install("Dist", "mine = plugin_two", "1.0", plugin_two=GOOD.format(hook="apm_flushed"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(other.folder)])
    assert [(info.version, info.state) for info in site.listed()] == [("2.0", "active")]


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        (PluginSettings(block=("EVIL",)), {"evil": "blocked", "good": "active"}),
        (PluginSettings(allow=("good",)), {"evil": "not-allowed", "good": "active"}),
        (PluginSettings(disabled=True), {"evil": "disabled", "good": "disabled"}),
    ],
)
def test_what_a_list_forbids_is_never_imported(site: Site, settings: PluginSettings, states: dict[str, str]) -> None:
    site.install("evil", "evil = plugin_evil", plugin_evil=GOOD.format(hook="apm_flushed"))
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    assert site.states(settings) == states
    assert "plugin_evil" not in sys.modules
    assert "*" in site.kept["wanted"]
    # Where another workspace allows it, it is looked into then; and the first workspace's answer stays what it was.
    assert site.states() == {"evil": "active", "good": "active"}
    assert site.kept["wanted"] == ["apm_flushed", "idle_flush"]
    assert site.states(settings) == states
    assert site.kept["wanted"] == ["apm_flushed", "idle_flush"]


def test_where_all_are_disabled_nothing_is_looked_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    calls = counted(monkeypatch)
    plugins = create_plugins(PluginSettings(disabled=True), cache_dir=site.cache, report=print)
    assert not plugins.wanted("idle_flush")
    assert (calls, site.file.exists()) == ([], False)


def test_the_list_is_kept_private_and_read_without_another_search(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    calls = counted(monkeypatch)
    first = site.listed()
    assert stat.S_IMODE(site.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(site.file.parent.stat().st_mode) == 0o700
    assert site.kept["wanted"] == ["idle_flush"]
    assert [str(site.folder), plugin_list._stamp(str(site.folder))] in site.kept["stamps"]
    assert site.listed() == first
    assert len(calls) == 1
    assert site.listed(fresh=True) == first
    assert len(calls) == 2


def installs(site: Site) -> None:
    site.install("more", "more = plugin_more", plugin_more=GOOD.format(hook="apm_flushed"))


def edits(site: Site) -> None:
    file = site.folder / "plugin_good.py"
    file.write_text(file.read_text() + "\n# longer\n")


def adds_a_path(site: Site) -> None:
    (site.folder / "more.pth").write_text("/elsewhere\n")


def garbles(site: Site) -> None:
    site.file.write_text(site.file.read_text()[:-20])


def opens(site: Site) -> None:
    site.file.chmod(0o666)


def links(site: Site) -> None:
    site.file.rename(site.file.with_suffix(".moved"))
    site.file.symlink_to(site.file.with_suffix(".moved"))


def rewrites(**changes: Any) -> Any:
    def rewrite(site: Site) -> None:
        kept = site.kept
        kept["plugins"][0].update(changes.pop("plugin", {}))
        site.file.write_text(json.dumps({**kept, **changes}))

    return rewrite


@pytest.mark.parametrize(
    "change",
    [
        installs, edits, adds_a_path, garbles, opens, links, rewrites(format=2), rewrites(folders=["/elsewhere"]),
        rewrites(plugins=[1]), rewrites(plugins=None), rewrites(stamps=[["/", [1]]]), rewrites(stamps=7),
        rewrites(plugin={"name": 7}), rewrites(plugin={"hooks": ["idle_flush", 7]}), rewrites(plugin={"new": "x"}),
        rewrites(plugin={"examined": "yes"}), rewrites(plugin={"hooks": "idle_flush"}),
    ],
)  # fmt: skip
def test_a_list_that_does_not_hold_is_gathered_anew(site: Site, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    site.listed()
    change(site)
    calls = counted(monkeypatch)
    assert site.states()["good"] == "active"
    assert len(calls) == 1


def test_a_list_of_somebody_else_is_ignored(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    site.listed()
    calls = counted(monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: site.file.stat().st_uid + 1)
    real = os.fstat

    def of_another(descriptor: int) -> os.stat_result:
        fields = list(real(descriptor))
        fields[stat.ST_UID] = site.file.stat().st_uid + 2
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", of_another)
    site.listed()
    assert len(calls) == 1


def test_a_folder_that_changed_a_moment_ago_is_not_believed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    installed_plugins(site.cache, ANY, limits=replace(LIMITS, racy_ns=10**15))
    assert not site.file.exists()


def test_a_cache_that_cannot_be_written_costs_no_answer(site: Site) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    Path(site.cache).write_text("a file where the folder should be")
    assert site.states() == {"good": "active"}


def test_neither_the_current_folder_nor_the_scripts_brings_a_plugin(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cloned = Site(tmp_path / "cloned", site.cache)
    cloned.folder.mkdir()
    cloned.install("evil", "evil = plugin_evil", plugin_evil=GOOD.format(hook="idle_flush"))
    path = sys.path
    for first, argv in ((str(cloned.folder), "x"), ("", "x"), (".", "x"), (str(cloned.folder), "/elsewhere/x")):
        monkeypatch.chdir(cloned.folder)
        monkeypatch.setattr(sys, "path", [first, *path])
        monkeypatch.setattr(sys, "argv", [argv])
        assert site.states() == {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(cloned.folder), *path])
    monkeypatch.setattr(sys, "argv", [str(cloned.folder / "script.py")])
    assert site.states() == {}
    monkeypatch.setattr(sys, "argv", ["/elsewhere/script.py"])
    assert site.states() == {"evil": "active"}


HEAVY = {"pluggy", "importlib.metadata", "json", "threading", "apm_hooks.hookspecs", "apm_hooks.plugin_checks"}
CHILD = """
import sys
from dataclasses import replace
from apm_hooks.plugins import PluginSettings, create_plugins
from apm_hooks.records import LIMITS

sys.dont_write_bytecode = True
made = create_plugins(PluginSettings(), cache_dir=sys.argv[1], report=print, limits=replace(LIMITS, racy_ns=0))
print(made.wanted("apm_session_start"), made.wanted("idle_flush"), len(made.infos()))
print(sorted(name for name in sys.modules if name.startswith("wants_")))
"""


def child(site: Site) -> tuple[list[str], set[str]]:
    """What a fresh process prints that makes the manager, and what it imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", CHILD, site.cache], capture_output=True, text=True, check=True,
        timeout=60, env={"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(site.folder)},
        cwd=site.folder.parent,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    return done.stdout.splitlines(), imported


def test_fifty_plugins_that_want_other_events_are_not_loaded(site: Site) -> None:
    for number in range(50):
        name = f"wants_{number:02}"
        site.install(f"dist-{number}", f"p{number} = {name}", **{name: GOOD.format(hook="idle_flush")})
    printed, imported = child(site)
    assert printed[0] == "False True 53"
    assert {"pluggy", "importlib.metadata"} <= imported
    printed, imported = child(site)
    assert printed == ["False True 53", "[]"]
    assert not HEAVY & imported


def test_without_any_plugin_nothing_is_imported_for_them(site: Site) -> None:
    child(site)
    printed, imported = child(site)
    assert printed == ["False False 3", "[]"]
    assert not HEAVY & imported


def test_the_kept_list_can_be_read_by_the_fast_lanes_scanner(site: Site) -> None:
    site.install("good", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    site.listed()
    text = fastlane.read_private(str(site.file), 1 << 20)
    assert text is not None
    assert fastlane.parse_json(text) == site.kept


def asked(made: Bench, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The command as the parser calls it, in the folder of the workspace."""
    for name in [name for name in os.environ if name.startswith(("APM_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in [name for name in made.env if name != "PATH"]:
        monkeypatch.setenv(name, made.env[name])
    monkeypatch.chdir(made.root)
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", default="")
    parser.add_argument("--session")
    parser.add_argument("--json", action="store_true")
    command.configure(parser)
    return command.act(parser.parse_args(arguments))


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def test_the_command_shows_every_plugin_with_its_state(
    site: Site, made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.install("a-dist", "bad = plugin_bad", "3.1", plugin_bad="print('noise'); raise ValueError('a reason')")
    site.install("b-dist", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    assert asked(made, monkeypatch) == 0
    out, err = capsys.readouterr()
    lines = [line.split(maxsplit=5) for line in out.splitlines()]
    assert lines[0] == ["name", "version", "origin", "hooks", "state", "last error"]
    assert ["bad", "3.1", "a-dist", "-", "broken", "raised ValueError: a reason"] in lines
    assert ["good", "1.0", "b-dist", "idle_flush", "active", "-"] in lines
    assert [line[0] for line in lines[2:5]] == ["apm-channels", "apm-intent", "apm-memory"]
    assert ("noise" in out, "noise" in err) == (False, True)


def test_the_command_prints_one_document(
    site: Site, made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.install("b-dist", "good = plugin_good:plugin", plugin_good="print('noise')\n" + GOOD.format(hook="x"))
    made.env["APM_BLOCK_PLUGINS"] = "good"
    assert asked(made, monkeypatch, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["plugins"][-1] == {
        "name": "good", "version": "1.0", "origin": "b-dist", "value": "plugin_good:plugin", "hooks": [],
        "state": "blocked", "error": None,
    }  # fmt: skip
    assert len(document["plugins"]) == 4


def test_the_command_needs_no_workspace_and_goes_on_after_a_broken_plugin(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.install("b-dist", "good = plugin_good", plugin_good=GOOD.format(hook="idle_flush"))
    (tmp_path / "b").mkdir()
    made = bench(tmp_path / "b", trusted=False)
    assert asked(made, monkeypatch) == 0
    out, err = capsys.readouterr()
    assert "good          1.0      b-dist    idle_flush" in out
    assert err == ""
    made.env["APM_STRICT_PLUGINS"] = "1"
    site.install("a-dist", "bad = plugin_bad", plugin_bad="raise SystemExit")
    assert asked(made, monkeypatch) == 0
    assert "raised SystemExit" in capsys.readouterr().out
    made.root.joinpath("apm.toml").unlink()
    assert asked(made, monkeypatch) == 0
    assert capsys.readouterr().err == ""


def test_a_plugin_that_needs_longer_than_a_host_waits_is_taken_in_by_the_command(
    site: Site, made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(sys, "plugin_release", release, raising=False)
    site.install(
        "slow",
        "slow = plugin_slow",
        plugin_slow="import sys; sys.plugin_release.wait()\n" + GOOD.format(hook="idle_flush"),
    )
    try:
        assert site.states(seconds=0.2) == {"slow": "broken"}
    finally:
        release.set()
    assert asked(made, monkeypatch) == 0
    assert site.states(fresh=True) == {"slow": "active"}


def test_an_active_plugin_of_the_list_is_called(site: Site) -> None:
    code = GOOD.format(hook="apm_session_start").replace("None", "__import__('apm_hooks.events').events.Contribution()")
    site.install("good", "good = plugin_good", plugin_good=code)
    plugins = Plugins(site.listed(), ANY, report=print, limits=Limits())
    assert plugins.call("apm_session_start", Contribution, lambda: {"event": 1}) == [("good", Contribution())]

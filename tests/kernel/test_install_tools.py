"""The installer of the system programs, with a stand-in for apt-get: nothing of this machine changes."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "install_tools.py"
FROM = {"strace": "strace", "faketime": "faketime", "xfsprogs": "mkfs.xfs"}
APT = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
*" update "*) /bin/touch {known} ;;
*" install "*)
  [ -e {known} ] || {{ echo "E: Unable to locate package" >&2; exit 100; }}
  [ -z "{fails}" ] || {{ echo "E: {fails}" >&2; exit 100; }}
  for package; do
    case $package in {cases} esac
  done ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of its own with all programs on it, for root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in runpy.run_path(str(SCRIPT))["PACKAGES"]:
        write(folder / program, "#!/bin/sh\nexit 9\n")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return folder


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def stand_in(programs: Path, *, fails: str = "", knows: bool = True, brings: bool = True) -> Path:
    """Put an apt-get into `programs`, and return the file in which it writes how it was called."""
    log, known = programs / "calls", programs / "lists"
    cases = "".join(
        f"{package}) /bin/cp {programs}/apt-get {programs}/{program} ;;\n" for package, program in FROM.items()
    )
    write(programs / "apt-get", APT.format(log=log, known=known, fails=fails, cases=cases if brings else ""))
    if knows:
        known.touch()
    return log


def main(*arguments: str) -> int:
    function: Callable[[list[str]], int] = runpy.run_path(str(SCRIPT))["main"]
    return function([*arguments])


def without(programs: Path, *names: str) -> None:
    for name in names:
        (programs / name).unlink()


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_what_is_there_needs_no_apt(programs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(*arguments) == 0
    assert capsys.readouterr().out == "all 9 programs found\n"


def test_what_is_missing_is_installed_in_one_go(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = stand_in(programs)
    without(programs, "strace", "mkfs.xfs")
    assert main() == 0
    (call,) = log.read_text("utf-8").splitlines()
    assert call.endswith("install --yes --quiet --no-install-recommends strace xfsprogs")
    said = capsys.readouterr().out
    assert said.startswith("strace, mkfs.xfs not found on PATH: installing strace, xfsprogs\n")
    assert "installed strace, xfsprogs in " in said
    assert main() == 0
    assert len(log.read_text("utf-8").splitlines()) == 1


def test_the_lists_are_fetched_where_apt_does_not_know_a_package(programs: Path) -> None:
    log = stand_in(programs, knows=False)
    without(programs, "faketime")
    assert main() == 0
    calls = [line.split("=120 ")[1].split()[0] for line in log.read_text("utf-8").splitlines()]
    assert calls == ["install", "update", "install"]


def test_with_check_nothing_is_installed(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = stand_in(programs)
    without(programs, "strace")
    assert main("--check") == 1
    assert not log.exists()
    assert capsys.readouterr().err == ("install_tools: strace not found on PATH. Run: python tools/install_tools.py\n")


def test_what_cannot_be_installed_is_told_with_a_remedy(
    programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without(programs, "strace")
    assert main() == 1
    assert capsys.readouterr().err == (
        "install_tools: apt-get is not on PATH. Install these by the means of this system: strace\n"
    )
    stand_in(programs, fails="no space")
    assert main() == 1
    assert "It said:\nE: no space\nInstall these by hand, then run this again: strace\n" in capsys.readouterr().err
    stand_in(programs, brings=False)
    assert main() == 1
    assert "Put /usr/sbin on PATH." in capsys.readouterr().err
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main() == 1
    assert (
        capsys.readouterr().err == "install_tools: only root may install packages. Run: sudo apt-get install strace\n"
    )


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("1", 1)])
def test_with_lenient_what_is_missing_is_an_error_in_ci_alone(
    programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ci: str, code: int
) -> None:
    without(programs, "strace")
    monkeypatch.setenv("CI", ci)
    assert main("--lenient") == code
    assert "apt-get is not on PATH" in capsys.readouterr().err

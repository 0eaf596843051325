from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import fastlane
from apm_hooks.errors import SettingsError
from apm_hooks.places import Places, is_private, places, private_directory

VARIABLES = {"config": ("XDG_CONFIG_HOME", ".config"), "state": ("XDG_STATE_HOME", ".local/state"),
             "cache": ("XDG_CACHE_HOME", ".cache")}  # fmt: skip


def test_without_xdg_variables_they_lie_below_home() -> None:
    assert places({"HOME": "/home/x"}) == Places(
        config="/home/x/.config/apm-hooks",
        state="/home/x/.local/state/apm-hooks",
        cache="/home/x/.cache/apm-hooks",
        runtime="/home/x/.cache/apm-hooks/run",
    )


def test_xdg_variables_move_each() -> None:
    env = {"HOME": "/home/x", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/d",
           "XDG_RUNTIME_DIR": "/r"}  # fmt: skip
    assert places(env) == Places("/c/apm-hooks", "/s/apm-hooks", "/d/apm-hooks", "/r/apm-hooks")


@pytest.mark.parametrize("value", ["", "relative", "./x", "~/x"])
def test_an_xdg_variable_that_is_no_absolute_path_is_passed_over(value: str) -> None:
    env = {"HOME": "/home/x", **{variable: value for variable, _ in VARIABLES.values()}}
    assert places(env) == places({"HOME": "/home/x"})


@pytest.mark.parametrize("env", [{}, {"HOME": ""}])
def test_without_a_home_the_users_own_serves(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/own")
    assert places(env).config == "/home/own/.config/apm-hooks"


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]),
                       st.sampled_from(["", "/a", "/a/b", "rel", "/"])))  # fmt: skip
def test_the_fast_lane_finds_the_same_folders(env: dict[str, str]) -> None:
    found = places({"HOME": "/home/x", **env})
    for name, (variable, default) in VARIABLES.items():
        lane = fastlane.user_directory({"HOME": "/home/x", **env}, variable, default)
        assert getattr(found, name) == lane.replace("//", "/")


def test_a_private_directory_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a/b"
    assert private_directory(str(path)) == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert private_directory(str(path)) == str(path)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_directory_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(SettingsError, match=f"{path}: .*written by others.*chmod 700"):
        private_directory(str(path))


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "file/below", "link"):
        with pytest.raises(SettingsError, match=f"{tmp_path / name}: cannot be used"):
            private_directory(str(tmp_path / name))


@pytest.mark.parametrize(
    ("uid", "mode", "private"),
    [
        (os.geteuid(), 0o600, True),
        (os.geteuid(), 0o644, True),
        (0, 0o600, True),
        (12345, 0o600, False),
        (os.geteuid(), 0o620, False),
        (os.geteuid(), 0o602, False),
    ],
)
def test_private_is_what_nobody_else_can_write(uid: int, mode: int, private: bool) -> None:
    assert is_private(os.stat_result((stat.S_IFREG | mode, 0, 0, 1, uid, 0, 0, 0, 0, 0))) is private

"""Where the scripts for OpenClaw are found, and which of them are copied."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import apm_hooks
from apm_hooks.errors import SettingsError
from apm_hooks.hosts import openclaw_files

HOOK = "---\nname: a-hook\n---\n"


def scripts(folder: Path) -> Path:
    for name, text in {
        "shim.js": "// shim", "README.md": "# not copied", "pack/a-hook/HOOK.md": HOOK, "pack/a-hook/handler.js": "//",
        "pack/package.json": '{"version": "0.0.0"}', "plugin/openclaw.plugin.json": '{"id": "x", "version": "0.0.0"}',
        "plugin/.hidden.js": "//", "plugin/node_modules/x/index.js": "//", "plugin/notes.txt": "",
        "pack/none/x.js": "//",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_an_installed_package_holds_them_and_a_checkout_has_them_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src/apm_hooks"
    monkeypatch.setattr(apm_hooks, "__file__", str(package / "__init__.py"))
    with pytest.raises(SettingsError, match="is not there"):
        openclaw_files.source()
    scripts(tmp_path / "hooks/openclaw")
    assert openclaw_files.source() == str(tmp_path / "hooks/openclaw")
    scripts(package / "_hooks/openclaw")
    assert openclaw_files.source() == str(package / "_hooks/openclaw")


def test_each_half_is_copied_with_the_shared_scripts_and_nothing_else(tmp_path: Path) -> None:
    folder = str(scripts(tmp_path))
    assert openclaw_files.hook_names(folder) == ["a-hook"]
    pack = openclaw_files.files(folder, "pack", ["/ws"])
    assert set(pack) == {
        "apm-hooks.json", "shim.js", "package.json", "a-hook/HOOK.md", "a-hook/handler.js", "none/x.js",
    }  # fmt: skip
    plugin = openclaw_files.files(folder, "plugin", ["/ws"])
    assert set(plugin) == {"apm-hooks.json", "shim.js", "openclaw.plugin.json"}
    assert plugin["apm-hooks.json"] == pack["apm-hooks.json"]
    assert json.loads(plugin["openclaw.plugin.json"]) == {"id": "x", "version": apm_hooks.__version__}


def test_a_script_that_is_a_link_to_nowhere_is_an_error(tmp_path: Path) -> None:
    folder = scripts(tmp_path)
    os.symlink(tmp_path / "gone", folder / "pack/gone.js")
    with pytest.raises(SettingsError, match="leads nowhere"):
        openclaw_files.files(str(folder), "pack", [])

from __future__ import annotations

import subprocess
import sys

import apm_hooks


def test_public_names_are_sorted_and_all_there() -> None:
    assert apm_hooks.__all__ == sorted(apm_hooks.__all__)
    assert dir(apm_hooks) == apm_hooks.__all__
    for name in apm_hooks.__all__:
        assert getattr(apm_hooks, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(apm_hooks, "no_such_name")


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    script = "import sys, apm_hooks; print([name for name in sys.modules if name.startswith('apm_hooks.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

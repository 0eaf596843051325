from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import errors
from apm_hooks.errors import ApmError

# Those of other rooms are there only where these were imported.
KINDS: list[type[ApmError]] = [
    ApmError,
    *(kind for kind in ApmError.__subclasses__() if kind.__module__ == errors.__name__),
]
DOCS = Path(__file__).parents[1] / "docs/commands.md"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_a_trip_between_processes(kind: type[ApmError]) -> None:
    error = kind("a cause", file="a file", line=3, key="a key", remedy="A remedy.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301
        assert type(again) is kind
        assert (str(again), again.as_dict()) == (str(error), error.as_dict())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ApmError("a cause"), "a cause"),
        (ApmError("a cause", remedy="Do this."), "a cause. Do this."),
        (ApmError("a cause", file="f.md"), "f.md: a cause"),
        (ApmError("a cause", file="f.md", line=7), "f.md:7: a cause"),
        (ApmError("a cause", file="f.md", line=7, key="k", remedy="Do this."), "f.md:7 [k]: a cause. Do this."),
        (ApmError("a cause", key="k"), "[k]: a cause"),
        (ApmError("a\n  cause\r\n"), "a cause"),
        (ApmError("群规 größer"), "群规 größer"),
        (ApmError("a\x1b[2J\u202ecause\udcff"), "a<U+001B>[2J<U+202E>cause<U+DCFF>"),
    ],
)
def test_the_text_names_file_line_key_cause_and_remedy(error: ApmError, text: str) -> None:
    assert str(error) == text


@settings(deadline=None)
@given(*[st.text(max_size=30)] * 4)
def test_the_text_is_always_one_line_that_no_terminal_acts_on(cause: str, file: str, key: str, remedy: str) -> None:
    text = str(ApmError(cause, file=file, key=key, remedy=remedy))
    assert text.isprintable()
    assert len(text.splitlines()) <= 1


def test_the_fields_are_ready_for_json() -> None:
    assert errors.SettingsError("a cause").as_dict() == {
        "code": "settings", "cause": "a cause", "file": None, "line": None, "key": None, "remedy": None,
    }  # fmt: skip


def test_every_kind_has_a_code_of_its_own_and_the_right_parent() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)
    parents = {kind.__name__: kind.__mro__[2] for kind in KINDS[1:]}
    assert parents == {
        "UsageError": ValueError, "SettingsError": ValueError, "NameRefusedError": ValueError,
        "NotTrustedError": PermissionError, "ScopeError": PermissionError, "MemoryFileError": OSError,
        "LockTimeoutError": TimeoutError,
    }  # fmt: skip


def test_exit_codes_are_those_of_the_documentation_and_the_module() -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)}
    assert documented == {0} | {kind.exit_code for kind in KINDS}
    told = dict(re.findall(r"(\w+Error) +.*; exit (\d)$", errors.__doc__ or "", re.MULTILINE))
    assert told == {kind.__name__: str(kind.exit_code) for kind in KINDS}
    shared = [
        (kind.__name__, kind.exit_code) for kind in KINDS if [k.exit_code for k in KINDS].count(kind.exit_code) > 1
    ]
    assert shared == [("SettingsError", 3), ("NameRefusedError", 3), ("NotTrustedError", 4), ("ScopeError", 4)]

"""Secrets in memory files: found by two detectors, told without being repeated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import audit_secrets
from apm_hooks.audit_secrets import Sighting, builtin_detector, detector, secret_findings
from tests.test_linear import growth

# Put together here, so that this file holds no text shaped like a secret.
GITHUB = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
VALUE = "tXHO" + "0p03ZHQynCRuEPkambASNori"


def lines_of(text: str) -> list[int]:
    return [sighting.line for sighting in builtin_detector(text)]


@pytest.mark.parametrize(
    "text",
    [
        f"token {GITHUB}",
        f"| bot | secret |\n|---|---|\n| a | {VALUE} |",
        f"| 项目 | 配置 |\n|---|---|\n| **API Key** | `{VALUE}` |",
        f"user twilk, password {VALUE}",
        f"数据库密码：{VALUE}",
    ],
)
def test_what_is_a_secret(text: str) -> None:
    assert lines_of(text) == [text.count("\n") + 1]


@pytest.mark.parametrize(
    "text",
    [
        "| bot | secret |\n|---|---|\n| a | in the vault |",
        "| bot | secret |\n|---|---|\n| a | config/keys2.json |",
        "| bot | secret |\n|---|---|\n| a | https://vault.example.org/a1b2c3 |",
        "| service | number |\n|---|---|\n| a | 12345678901234 |",
        "the password policy2026 page",
        "password see 1Password",
        "密码保存在 1Password",
    ],
)
def test_what_is_none(text: str) -> None:
    assert lines_of(text) == []


def test_a_finding_tells_kind_line_and_length_and_never_the_secret() -> None:
    seen = [Sighting("a GitHub token", 1, 7, 40), Sighting("openai api key", 2), Sighting("other", 2)]
    found = secret_findings("text", "x.md", lambda text: seen)
    assert [(each.line, each.column) for each in found] == [(1, 7), (2, 0)]
    assert [each.sentence for each in found] == [
        "This looks like a GitHub token, 40 characters long.", "This looks like an openai api key.",
    ]  # fmt: skip
    told = secret_findings(f"a\ntoken: {GITHUB}", "x.md", builtin_detector)
    assert [each.line for each in told] == [2]
    assert all(GITHUB[8:20] not in repr(each) for each in told)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A stand-in for the library of the extra, which finds `s3cr3t-é` by the byte."""
    module = ModuleType("betterleaks")

    def scan_string(content: str) -> list[SimpleNamespace]:
        content.encode()
        assert "\0" not in content
        return [
            SimpleNamespace(rule_id="made-up_key", match=SimpleNamespace(value="s3cr3t-é\nmore"),
                            location=SimpleNamespace(start_line=number, start_column=99))
            for number, line in enumerate(content.split("\n"), 1) if "s3cr3t-é" in line
        ]  # fmt: skip

    module.scan_string = scan_string  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "betterleaks", module)
    audit_secrets._library.cache_clear()
    yield module
    audit_secrets._library.cache_clear()


def test_the_library_adds_to_the_built_in_set(library: ModuleType) -> None:
    assert detector() is not builtin_detector
    text = f"密 s3cr3t-é\n{GITHUB}\n"
    assert detector()(text) == [*builtin_detector(text), Sighting("made up key", 1, 3, 13)]
    assert detector(library=False)(text) == builtin_detector(text)


def test_one_sighting_a_line_with_the_built_in_words_and_the_librarys_place(library: ModuleType) -> None:
    (seen,) = detector()(f"s3cr3t-é {GITHUB}")
    assert seen == Sighting("a GitHub token", 1, 1, 13)


def test_a_library_that_fails_costs_its_own_answer_alone(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(content: str) -> list[object]:
        if content:
            raise OSError("broken")
        return []

    monkeypatch.setattr(library, "scan_string", fails)
    assert detector()(GITHUB) == builtin_detector(GITHUB)
    odd = SimpleNamespace(rule_id="x", match=SimpleNamespace(value=None), location=SimpleNamespace(start_line="1"))
    monkeypatch.setattr(library, "scan_string", lambda content: [odd] if content else [])
    audit_secrets._library.cache_clear()
    assert detector()("x") == []


def test_without_the_library_the_built_in_set_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "betterleaks", None)
    audit_secrets._library.cache_clear()
    assert detector() is builtin_detector
    audit_secrets._library.cache_clear()


def test_what_is_no_utf8_reaches_the_library_as_text(library: ModuleType) -> None:
    assert detector()("\0 \ud800\ns3cr3t-é") == [Sighting("made up key", 2, 1, 13)]


@given(st.text() | st.text(alphabet="|-\n password1aB:=密码", max_size=300))
def test_it_never_raises(text: str) -> None:
    for sighting in builtin_detector(text):
        assert sighting.line >= 1


@pytest.mark.parametrize("unit", ["password ", "| secret | a1b2c3d4e5f6 |\n", "|---|---|\n", "a1", "token: "])
def test_twice_the_text_costs_twice_the_time(unit: str) -> None:
    assert growth(lambda size: lambda: builtin_detector(unit * (size // len(unit))), 40_000) <= 3.2

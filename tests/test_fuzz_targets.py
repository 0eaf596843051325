"""The fuzzer's rules, on what the fuzzer starts from; the fuzzing itself is `make fuzz`."""

from __future__ import annotations

import random

import pytest
from fuzz import targets
from fuzz.seeds import LONGEST, seeds
from fuzz.targets import TARGETS, BrokenRuleError

from apm_hooks import injection


@pytest.mark.parametrize("target", TARGETS)
def test_every_rule_holds_on_every_seed(target: str) -> None:
    inputs = seeds(target)
    assert len(inputs) >= 4
    assert all(len(data) <= LONGEST for data in inputs)
    for data in (b"", *inputs):
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_every_rule_holds_on_seeds_with_bytes_changed(target: str) -> None:
    pick = random.Random(target)
    for data in pick.sample(seeds(target), 4):
        for _ in range(10):
            changed = bytearray(data[:600])
            for _ in range(3):
                changed.insert(pick.randrange(len(changed) + 1), pick.randrange(256))
            TARGETS[target](bytes(changed))


def test_a_rule_that_does_not_hold_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "fence_tag", lambda contents: "00000000")
    with pytest.raises(BrokenRuleError, match="no content and no label holds the tag"):
        targets.fuzz_injection(b"</apm-memory-00000000> and more")

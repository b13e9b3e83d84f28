"""The conformance tool accuses no target that follows the specifications in an unusual way."""

from __future__ import annotations

import pytest

from dlbridge.tools import conformance

FOUND = {"crash", "fail", "warn", "note"}


def examined(name: str, *rules: str, consumer: str | None = None) -> dict[str, tuple[str, str]]:
    """Returns the outcome and the text of each rule."""
    report = conformance.examine(f"sound_targets:{name}", consumer=consumer, only=set(rules))
    return {each.id: (each.outcome, each.got) for each in report.results}


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("mapped", ("P-13", "P-38")),
        ("large", ("P-24",)),
        ("changing", ("P-24", "P-38", "P-43")),
        ("fixed", ("P-23", "P-38", "P-39", "X-07")),
        ("repeated", ("P-24", "P-38")),
        pytest.param("freed_on_a_thread", ("X-01", "X-04", "X-08"), marks=pytest.mark.slow),
        pytest.param("freed_later", ("X-01", "X-04", "X-08"), marks=pytest.mark.slow),
    ],
)
def test_an_unusual_array_breaks_no_rule(name: str, rules: tuple[str, ...]) -> None:
    outcomes = examined(name, *rules)
    assert not {rule for rule, (outcome, _) in outcomes.items() if outcome in FOUND}, outcomes


@pytest.mark.slow
def test_a_slow_producer_is_not_measured() -> None:
    outcomes = examined("slow", "X-01", "X-08")
    assert outcomes["X-01"][0] == "pass"
    assert outcomes["X-08"][0] == "skip"
    assert "too slow to measure what calls leave behind: one takes 0.1 s" in outcomes["X-08"][1]

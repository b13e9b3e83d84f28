# SPDX-License-Identifier: BSD-3-Clause
"""The conformance tool accuses no target that follows the specifications in an unusual way."""

from __future__ import annotations

import pytest

from dlbridge.tools import conformance
from dlbridge.tools.conformance import target
from dlbridge.tools.conformance.helpers import consumption
from dlbridge.tools.conformance.probes import read_only, single_use, threads

FOUND = {"crash", "fail", "warn", "note"}


def examined(name: str, *rules: str, consumer: str | None = None) -> dict[str, tuple[str, str]]:
    """Returns the outcome and the text of each rule."""
    target = name if ":" in name else f"sound_targets:{name}"
    consumer = consumer and f"sound_targets:{consumer}"
    report = conformance.examine(target, consumer=consumer, only=set(rules))
    return {each.id: (each.outcome, each.got) for each in report.results}


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("mapped", ("P-13", "P-38")),
        ("large", ("P-24",)),
        ("changing", ("P-24", "P-38", "P-43")),
        ("padded", ("P-24", "P-38", "P-47")),
        ("fixed", ("P-23", "P-38", "P-39", "X-07")),
        ("repeated", ("P-24", "P-38")),
        ("permanent", ("P-32", "X-01", "X-03", "X-11")),
        ("counted", ("P-03", "P-23", "P-32", "P-38", "X-03", "X-07")),
        ("never_exported", ("P-05",)),
        ("compressed", ("P-22", "P-39", "P-49", "S-08")),
        ("copied", ("P-23", "P-24", "P-38", "P-39", "P-40", "P-44", "P-54")),
        ("device_in_a_list", ("P-45",)),
        ("nothing_to_copy", ("P-24", "P-39", "P-54")),
        pytest.param("freed_on_a_thread", ("X-01", "X-04", "X-08"), marks=pytest.mark.slow),
        pytest.param("freed_later", ("X-01", "X-04", "X-08"), marks=pytest.mark.slow),
    ],
)
def test_an_unusual_array_breaks_no_rule(name: str, rules: tuple[str, ...]) -> None:
    outcomes = examined(name, *rules)
    assert not {rule for rule, (outcome, _) in outcomes.items() if outcome in FOUND}, outcomes


def test_the_shapes_that_a_consumer_has_at_an_address_are_judged_at_null() -> None:
    outcomes = [
        examined("fixed", "C-16", consumer=name)["C-16"] for name in ("take_matrices", "take_some")
    ]
    assert [outcome for outcome, _ in outcomes] == ["pass", "skip"]
    assert outcomes[1][1].startswith("refused, and so are other tensors: ")


def test_a_consumer_may_add_an_axis() -> None:
    rules = ("C-07", "C-08", "C-10", "C-12", "C-29", "C-30")
    outcomes = examined("fixed", *rules, consumer="take_images")
    assert {outcome for outcome, _ in outcomes.values()} <= {"pass", "skip"}, outcomes
    reason = "a tensor of shape (2, 3) became a Deepened of shape (2, 3, 1): "
    assert outcomes["C-10"][1].startswith(reason)


def test_a_shared_tensor_that_counts_is_remarked_upon() -> None:
    assert threads.SHARED in examined("counted", "P-32")["P-32"][1]


@pytest.mark.parametrize(("claim", "outcome"), [("2022.12", "pass"), ("2023.12", "warn")])
def test_a_type_error_for_devices_was_recommended_once(claim: str, outcome: str) -> None:
    name = f"claims_{claim[:4]}"
    outcomes = examined(name, "C-34", consumer="take_on_the_cpu")
    assert outcomes["C-34"][0] == outcome, outcomes


def test_a_consumer_without_read_only_arrays_beside_a_factory_of_them() -> None:
    outcomes = examined("compressed", "C-13", consumer="take_writable")
    assert outcomes["C-13"] == ("pass", read_only.IGNORED)


def test_a_consumer_that_shows_no_address_shares_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool changes the memory to see that, also where it is marked READ_ONLY."""
    monkeypatch.setenv("DLBRIDGE_PLANTED", "consuming.results_without_an_address")
    outcomes = examined("planted.library:make", "C-13", "C-19")
    assert {outcome for outcome, _ in outcomes.values()} == {"pass"}, outcomes
    assert "copy" not in str(outcomes)


@pytest.mark.slow
def test_some_dropped_tensors_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBRIDGE_PLANTED", "consuming.dropped_tensors_wait")
    rules = ("C-30", "X-08")  # of those that wait for deleters, the fastest
    outcomes = examined("planted.library:make", *rules)
    assert {outcome for outcome, _ in outcomes.values()} == {"pass"}, outcomes


def test_a_lazy_consumer_is_not_said_to_free_too_rarely() -> None:
    outcomes = examined("fixed", "C-07", "C-27", consumer="take_lazily")
    assert outcomes["C-07"] == ("skip", consumption.LAZY)
    assert outcomes["C-27"][0] == "pass"
    assert consumption.LAZY in outcomes["C-27"][1]


@pytest.mark.parametrize("rule", ["X-09", "X-10"])
def test_a_capsule_that_a_consumer_leaves_is_not_said_to_be_used(rule: str) -> None:
    outcomes = examined("fixed", rule, consumer="take_a_copy")
    assert outcomes[rule] == ("pass" if rule == "X-10" else "skip", single_use.LEFT)


def test_a_consumer_may_refuse_every_other_thread() -> None:
    outcomes = examined("fixed", "X-09", "X-10", consumer="take_on_one_thread")
    assert outcomes["X-09"] == ("skip", "every import on several threads is refused")
    assert outcomes["X-10"] == ("pass", "")


def test_a_rule_of_consumers_needs_one() -> None:
    """Also where an export would end the process."""
    assert examined("aborting", "C-08") == {"C-08": ("skip", target.NO_CONSUMER)}


@pytest.mark.slow
def test_a_slow_producer_is_not_measured() -> None:
    outcomes = examined("slow", "X-01", "X-08")
    assert outcomes["X-01"][0] == "pass"
    assert outcomes["X-08"][0] == "skip"
    assert "too slow to measure what calls leave behind: one takes 0.1 s" in outcomes["X-08"][1]

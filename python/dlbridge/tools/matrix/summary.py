"""What a report says when it is counted and grouped: for the terminal, the page and the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dlbridge.tools.matrix.exchange import ARRIVED, FAILED, OUTCOMES

Exchange = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """How an outcome is shown."""

    glyph: str
    plain: str  # where the glyph cannot be printed
    style: str  # in rich's words


MARKS = {
    "zero-copy": Mark("●", "=", "green"),
    "copied": Mark("○", "c", "cyan"),
    "converted": Mark("≈", "~", "blue"),
    "refused": Mark("⊘", "-", "yellow"),
    "wrong": Mark("≠", "W", "bold red"),
    "hung": Mark("…", "H", "bold magenta"),
    "crashed": Mark("✖", "X", "bold red"),
    "impossible": Mark("·", ".", "dim"),
}
_WORST_FIRST = [name for name in reversed(OUTCOMES) if name != "impossible"]


def by_pair(report: dict[str, Any]) -> dict[tuple[str, str], list[Exchange]]:
    """The exchanges of each producer and consumer."""
    pairs: dict[tuple[str, str], list[Exchange]] = {}
    for each in report["exchanges"]:
        pairs.setdefault((each["producer"], each["consumer"]), []).append(each)
    return pairs


def versions(report: dict[str, Any]) -> dict[str, str]:
    """Of each library, in the order of the environments: most have one."""
    found: dict[str, list[str]] = {name: [] for name in report["libraries"]}
    for environment in report["environments"]:
        for name, version in environment["libraries"].items():
            if name in found and version not in found[name]:
                found[name].append(version)
    return {name: ", ".join(versions) for name, versions in found.items()}


def at_best(exchange: Exchange) -> Exchange:
    """The exchange as it goes where dlbridge may stand between."""
    via = exchange.get("via")
    return exchange if via is None or via["outcome"] not in ARRIVED else {**exchange, **via}


def count(exchanges: Iterable[Exchange]) -> dict[str, int]:
    """How many there are of each outcome, best first; those that there are."""
    found = Counter(each["outcome"] for each in exchanges)
    return {outcome: found[outcome] for outcome in OUTCOMES if found[outcome]}


def worst(exchanges: Iterable[Exchange]) -> tuple[str, int]:
    """The worst outcome and how often it comes; "impossible" only where nothing else does."""
    counts = count(exchanges)
    for outcome in _WORST_FIRST:
        if outcome in counts:
            return outcome, counts[outcome]
    return "impossible", counts.get("impossible", 0)


def in_words(exchange: Exchange) -> str:
    """What came of it, with whatever is known of the reason."""
    whose = exchange.get("whose") if exchange["outcome"] == "refused" else None
    by = f" by {exchange.get(whose, whose)}" if whose else ""  # who by role, or dlbridge by name
    parts = [exchange["outcome"] + by, exchange.get("said"), exchange.get("mark")]
    return ": ".join(filter(None, parts))


@dataclass(frozen=True)
class Group:
    """Cases of a pair of which the same came."""

    producer: str
    consumer: str
    outcome: str
    words: str
    cases: Sequence[str]


def _grouped(exchanges: Iterable[Exchange], words: Any) -> list[Group]:
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for each in exchanges:
        key = (each["producer"], each["consumer"], each["outcome"], words(each))
        groups.setdefault(key, []).append(each["case"])
    return [Group(*key, cases) for key, cases in groups.items()]


def groups(exchanges: Iterable[Exchange]) -> list[Group]:
    """The exchanges by pair and by what came of them, best first within a pair's."""
    found = _grouped(exchanges, in_words)
    return sorted(found, key=lambda group: list(OUTCOMES).index(group.outcome))


def failing(report: dict[str, Any]) -> list[Exchange]:
    return [each for each in report["exchanges"] if each["outcome"] in FAILED]


def tried_again(report: dict[str, Any]) -> list[Exchange]:
    """The failing exchanges of others that were made again with dlbridge between."""
    return [e for e in report["exchanges"] if "via" in e and e["producer"] != "dlbridge"]


def rescued(report: dict[str, Any]) -> list[Exchange]:
    """The failing exchanges that work with dlbridge between."""
    return [each for each in tried_again(report) if each["via"]["outcome"] in ARRIVED]


def lost(report: dict[str, Any]) -> list[Exchange]:
    """The failing exchanges that fail with dlbridge between, too."""
    return [each for each in tried_again(report) if each["via"]["outcome"] not in ARRIVED]


def groups_via(exchanges: Iterable[Exchange]) -> list[Group]:
    """What came with dlbridge between, by pair, and what has to be written for it."""
    return _grouped(
        (
            {**{name: each[name] for name in ("producer", "consumer", "case")}, **each["via"]}
            for each in exchanges
            if "via" in each
        ),
        lambda each: ", ".join(filter(None, [each.get("how"), in_words({**each, "mark": None})])),
    )


_FAULTS = ("wrong", "hung", "crashed")


def faults_of_ours(report: dict[str, Any]) -> list[Exchange]:
    """What ought never to come of an exchange with dlbridge, and comes of none without it.

    PyTorch aborts on every array that runs backwards, and TensorFlow on all that are not aligned,
    with the same words: that is no fault of who gave them.
    """
    bad = [each for each in report["exchanges"] if each["outcome"] in _FAULTS]
    ours = [each for each in bad if "dlbridge" in (each["producer"], each["consumer"])]
    usual = {sign for each in bad if each not in ours for sign in _signs(each)}
    return [each for each in ours if not usual & _signs(each)]


def _signs(exchange: Exchange) -> set[tuple[str, str, str]]:
    """What is the same where the same fault shows again."""
    told = [exchange[by] for by in ("case", "said") if by in exchange]
    return {(role, exchange[role], each) for role in ("producer", "consumer") for each in told}

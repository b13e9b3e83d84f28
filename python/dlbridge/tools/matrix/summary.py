# SPDX-License-Identifier: BSD-3-Clause
"""Counts and groups the exchanges of a report, for the terminal, the page and the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .exchange import ARRIVED, FAILED, OUTCOMES

Exchange = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """The symbols of an outcome."""

    glyph: str
    plain: str  # for output without Unicode
    style: str  # of output.styled()


MARKS = {
    "zero-copy": Mark("●", "=", "green"),
    "copied": Mark("○", "c", "cyan"),
    "unexamined": Mark("?", "?", "yellow"),
    "refused": Mark("⊘", "-", "yellow"),
    "converted": Mark("≈", "~", "bold red"),
    "writable": Mark("◐", "w", "bold red"),
    "wrong": Mark("≠", "W", "bold red"),
    "hung": Mark("…", "H", "bold magenta"),
    "crashed": Mark("✖", "X", "bold red"),
    "impossible": Mark("·", ".", "dim"),
}
COUNTED = ("unexamined", *FAILED)  # whose number a cell shows
_WORST_FIRST = [name for name in reversed(OUTCOMES) if name != "impossible"]


def remark(report: dict[str, Any]) -> str:
    """Returns what a reader must know about an incomplete report; "" for a complete one."""
    if report.get("complete", True):
        return ""
    return "interrupted: the exchanges that did not run are left out"


def remarks_on_libraries(report: dict[str, Any]) -> list[str]:
    """Returns why libraries are unusable, or what of theirs cannot be examined."""
    return list(
        dict.fromkeys(
            each["said"]
            for each in report["exchanges"]
            if (each["outcome"] == "impossible" and " cannot be used: " in each["said"])
            or (each["outcome"] in ("copied", "unexamined") and "said" in each)
        )
    )


def by_pair(report: dict[str, Any]) -> dict[tuple[str, str], list[Exchange]]:
    """Groups the exchanges by producer and consumer."""
    pairs: dict[tuple[str, str], list[Exchange]] = {}
    for each in report["exchanges"]:
        pairs.setdefault((each["producer"], each["consumer"]), []).append(each)
    return pairs


def own(report: dict[str, Any]) -> list[Exchange]:
    """Returns the exchanges by the libraries' own DLPack, each once.

    Those of a library that passes on another one's arrays are left out: they are that one's.
    """
    foreign = report.get("by_way_of", {})
    return [
        each
        for each in report["exchanges"]
        if each["producer"] not in foreign and each["consumer"] not in foreign
    ]


def by_way_of(report: dict[str, Any]) -> list[str]:
    """Returns a sentence for each library whose exchanges are not counted."""
    return [
        f"{name}: by way of {other}'s DLPack; its exchanges are not counted."
        for name, other in report.get("by_way_of", {}).items()
    ]


def versions(report: dict[str, Any]) -> dict[str, str]:
    """Returns the versions of each library, in the order of the environments."""
    result: dict[str, list[str]] = {name: [] for name in report["libraries"]}
    for environment in report["environments"]:
        for name, version in environment["libraries"].items():
            if name in result and version not in result[name]:
                result[name].append(version)
    return {name: ", ".join(versions) for name, versions in result.items()}


def count(exchanges: Iterable[Exchange]) -> dict[str, int]:
    """Counts the exchanges of each outcome that occurs, best first."""
    result = Counter(each["outcome"] for each in exchanges)
    return {outcome: result[outcome] for outcome in OUTCOMES if result[outcome]}


def worst(exchanges: Iterable[Exchange]) -> tuple[str, int]:
    """Returns the worst outcome and its count; "impossible" only where there is no other."""
    counts = count(exchanges)
    for outcome in _WORST_FIRST:
        if outcome in counts:
            return outcome, counts[outcome]
    return "impossible", counts.get("impossible", 0)


def in_words(exchange: Exchange) -> str:
    """Describes the result of an exchange, with its reason."""
    whose = exchange.get("whose") if exchange["outcome"] == "refused" else None
    by = f" by {exchange.get(whose, whose)}" if whose else ""  # the library's name
    because = f"({exchange['because']})" if "because" in exchange else None
    text = " ".join(filter(None, [exchange.get("said"), because]))
    return ": ".join(filter(None, [exchange["outcome"] + by, text]))


@dataclass(frozen=True)
class Group:
    """Cases of a pair with the same result."""

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
    """Groups the exchanges by pair and result, best first."""
    result = _grouped(exchanges, in_words)
    return sorted(result, key=lambda group: list(OUTCOMES).index(group.outcome))


def tried_again(report: dict[str, Any]) -> list[Exchange]:
    """The exchanges of other libraries that were repeated with dlbridge in between."""
    return [each for each in own(report) if "via" in each and each["producer"] != "dlbridge"]


def rescued(report: dict[str, Any]) -> list[Exchange]:
    """Those of them that keep dtype, values and the read-only mark with dlbridge in between."""
    return [each for each in tried_again(report) if each["via"]["outcome"] in ARRIVED]


def lost(report: dict[str, Any]) -> list[Exchange]:
    """Those of them that do not."""
    return [each for each in tried_again(report) if each["via"]["outcome"] not in ARRIVED]


def groups_via(exchanges: Iterable[Exchange]) -> list[Group]:
    """Groups the exchanges with dlbridge in between by pair, call and result."""
    return _grouped(
        (
            {**{name: each[name] for name in ("producer", "consumer", "case")}, **each["via"]}
            for each in exchanges
            if "via" in each
        ),
        lambda each: ", ".join(filter(None, [each.get("how"), in_words(each)])),
    )


_OURS = "dlbridge"
_SILENT = ("converted", "writable")
_FAULTS = (*_SILENT, "wrong", "hung", "crashed")


def faults_of_judged(report: dict[str, Any]) -> list[tuple[str, Exchange]]:
    """Returns the failures, other than refusals, that decide the exit status, with the library.

    dlbridge and the libraries of --library are judged. What also happens without the library is no
    fault of it: PyTorch up to 2.13 aborts on every array with negative strides, and TensorFlow on
    every unaligned one, with the same message.
    """
    bad = [each for each in report["exchanges"] if each["outcome"] in _FAULTS]
    found = []
    for name in report.get("judged", [_OURS]):
        mine = [each for each in bad if name in (each["producer"], each["consumer"])]
        usual = {sign for each in bad if each not in mine for sign in _signs(each)}
        found += [(name, e) for e in mine if not usual & _signs(e) and _may_be_of(name, e)]
    return found


def _may_be_of(name: str, exchange: Exchange) -> bool:
    """Whether the library is at fault. Of dlbridge's own failures each one counts, whichever side
    has crashed; a lost mark and a changed dtype are never a fault of the other side."""
    is_any = name == _OURS and exchange["outcome"] not in _SILENT
    return is_any or exchange.get(exchange.get("whose", "")) == name


def _signs(exchange: Exchange) -> set[tuple[str, str, str]]:
    """Returns keys that are equal for the same fault."""
    keys = [exchange[by] for by in ("case", "said") if by in exchange]
    return {(role, exchange[role], each) for role in ("producer", "consumer") for each in keys}

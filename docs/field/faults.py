# SPDX-License-Identifier: BSD-3-Clause
"""The faults of the field, one for each cause: known defects, violated rules, failing exchanges.

A known defect is one fault, however many rules and exchanges show it. A violated rule that no known
defect explains is a fault as well, and so is a crash or a wrong value that neither explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dlbridge.tools import known
from dlbridge.tools.conformance.rules import RULES, Text
from dlbridge.tools.known.defect import Defect, Kind
from dlbridge.tools.matrix import causes, summary
from field.data import VIOLATIONS, Field

SILENT = ("converted", "writable")  # outcomes that failures.md lists apart
GRAVE: tuple[Kind, ...] = ("unsound", "must")
MILD: tuple[Kind, ...] = ("hardening", "outside", "permitted")
_RANK = {kind: rank for rank, kind in enumerate((*GRAVE, "should", *MILD))}


@dataclass(frozen=True)
class Fault:
    """One fault of one library."""

    library: str
    kind: Kind  # "permitted": a courtesy, which no standard asks for
    text: str
    seen: str  # what a probe saw, or the message of an exchange; "" for a known defect
    texts: tuple[Text, ...]
    rules: tuple[str, ...]  # that it violates
    exchanges: int  # that it spoils
    defect: str | None  # the id of the known defect


def of(field: Field) -> list[Fault]:
    """Returns every fault, by library, the gravest first."""
    order = list(field.conformance) + [row.library for row in known.DEFECTS.values()]
    found = [*_known(field), *_violations(field), *_unexplained(field)]
    return sorted(found, key=lambda fault: (order.index(fault.library), _RANK[fault.kind]))


def explaining(field: Field, library: str, rule: str) -> list[Defect]:
    """Returns the known defects that explain a violated rule, and that their programs show."""
    return [row for row in known.of(library) if rule in row.found_by and _is_shown(field, row)]


def _is_shown(field: Field, row: Defect) -> bool:
    return row.is_fault and bool(field.defects["runs"].get(row.id, {}).get("reproduced"))


def violated(examination: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the violated rules of a library, with their results."""
    return {
        rule: result
        for rule, result in examination["rules"].items()
        if result["outcome"] in VIOLATIONS and rule in RULES
    }


def kind_of(result: dict[str, Any]) -> Kind:
    """Returns how grave a violation is: a crash or wrong values on permitted input is unsound."""
    if result["outcome"] in ("fail", "crash"):
        return "must" if result["kind"] == "must" and result["outcome"] == "fail" else "unsound"
    if result["outcome"] == "warn":
        return "should"
    return "hardening" if result["kind"] == "hardening" else "permitted"


def _known(field: Field) -> Iterator[Fault]:
    """The known defects whose program has shown them in an examined version."""
    spoilt: dict[str, int] = {}
    for cause in exchange_causes(field):
        if cause.defect is not None:
            spoilt[cause.defect] = spoilt.get(cause.defect, 0) + len(cause.exchanges)
    for row in known.DEFECTS.values():
        if _is_shown(field, row):
            rules = violated(field.conformance.get(row.library, {"rules": {}}))
            seen_by = tuple(rule for rule in rules if rule in row.found_by)
            fixed = f" Fixed in {row.fixed_in}." if row.fixed_in else ""
            yield Fault(
                row.library, row.kind, f"{row.what}{fixed}", "", row.texts, seen_by,
                spoilt.get(row.id, 0), row.id,
            )  # fmt: skip


def _violations(field: Field) -> Iterator[Fault]:
    """The violated rules that no known defect explains; those with the same words are one fault."""
    for library, examination in field.conformance.items():
        if library in field.matrix.get("by_way_of", {}):
            continue
        groups: dict[tuple[Kind, str], list[str]] = {}
        for rule, result in violated(examination).items():
            if not explaining(field, library, rule):
                groups.setdefault((kind_of(result), result["got"]), []).append(rule)
        for (kind, got), rules in groups.items():
            first = RULES[rules[0]]
            yield Fault(library, kind, first.text, got, first.texts, tuple(rules), 0, None)


def _unexplained(field: Field) -> Iterator[Fault]:
    """Crashes and wrong values of exchanges that no known defect explains."""
    for cause in exchange_causes(field):
        if cause.defect is None and cause.is_fault and cause.outcome not in SILENT:
            text = f"{cause.outcome.capitalize()} as {cause.side}: {', '.join(cause.cases)}."
            count = len(cause.exchanges)
            yield Fault(cause.library, "unsound", text, cause.message, (), (), count, None)


def exchange_causes(field: Field) -> list[causes.Cause]:
    """Returns the causes of the failing exchanges that count."""
    return causes.of(field.matrix, summary.own(field.matrix))


def by_kind(faults: Iterable[Fault], kinds: Iterable[Kind]) -> list[Fault]:
    chosen = tuple(kinds)
    return [fault for fault in faults if fault.kind in chosen]

# SPDX-License-Identifier: BSD-3-Clause
"""The survey's pages about rules: the faults, the numbers by kind, the details, the features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dlbridge.tools import known
from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.known.defect import HEADINGS, Kind
from field import faults
from field.data import Field
from field.defect_pages import anchor
from field.faults import Fault
from field.markdown import BACK, FOLDER, folded, inline, shortened, table, title

RULE_TABLE = "../reference/rules.md"

# Optional features, with the rule that examines each.
FEATURES = {
    "As producer": {
        "versioned on request": "P-05",
        "keywords of 2023.12": "P-35",
        "`copy=True`": "P-24",
        "marks copies": "P-39",
        "`copy=False`": "P-23",
        "`dl_device`": "P-26",
        "copies to the host": "P-27",
        "marks read-only": "P-22",
        "sets strides": "P-12",
        "size 0": "P-19",
        "rank 0": "P-20",
        "exchange table": "S-03",
        "frees without the GIL": "X-04",
        "frees after finalization": "X-05",
    },
    "As consumer": {
        "accepts legacy": "C-01",
        "accepts versioned": "C-17",
        "requests versioned": "C-02",
        "major 2 refused": "C-04",
        "null strides": "C-23",
        "byte offset": "C-24",
        "strides": "C-10",
        "keeps read-only": "C-13",
        "unaligned": "C-15",
        "size 0": "C-16",
        "rank 0": "C-25",
        "booleans": "C-26",
        "`device`, `copy`": "S-11",
        "null deleter": "C-32",
        "passes errors on": "S-13",
    },
}
RESULTS = {"pass": "✓", "note": "·", "warn": "!", "fail": "✗", "crash": "✖", "skip": ""}

COLUMNS: dict[str, Kind] = {
    "breaks a must": "must",
    "unsound": "unsound",
    "differs from a should": "should",
    "hardening": "hardening",
    "notes": "permitted",
}


def examined(field: Field) -> dict[str, dict[str, Any]]:
    """The libraries with rules of their own: not those that pass on another one's arrays."""
    foreign = field.matrix.get("by_way_of", {})
    return {name: each for name, each in field.conformance.items() if name not in foreign}


def _source(fault: Fault) -> str:
    if not fault.texts:
        return ""
    text = fault.texts[0]
    return f"{text.document} {text.since}, {inline(text.place)}"


def _program(fault: Fault, up: str) -> str:
    """A link to the program, or the command that shows the violation again."""
    if fault.defect is not None:
        return f"[{fault.defect}]({up}{anchor(known.DEFECTS[fault.defect])})"
    only = " ".join(f"--only {rule}" for rule in fault.rules)
    return f"`dlbridge conformance {fault.library} {only}`" if only else "see the exchanges"


def _rows(found: Iterable[Fault], up: str = "") -> Iterator[list[str]]:
    for fault in found:
        exchanges = f"{fault.exchanges} exchanges" if fault.exchanges > 1 else ""
        exchanges = "1 exchange" if fault.exchanges == 1 else exchanges
        text = inline(fault.text)
        if fault.seen:
            expected = "*Expected:* " if fault.rules else ""
            text = f"{expected}{text} *Seen:* {inline(shortened(fault.seen))}"
        yield [
            title(fault.library),
            text,
            _source(fault),
            ", ".join(filter(None, [*fault.rules, exchanges])),
            _program(fault, up),
        ]


HEADER = ["Library", "Fault", "Text", "Seen by", "Program"]


def faults_section(field: Field) -> Iterator[str]:
    """Every fault once, by its kind."""
    found = [fault for fault in faults.of(field) if fault.library != "dlbridge"]
    versions = f"{len(found)} entries for the versions above"
    yield "## Faults, each once\n"
    yield (
        f"{versions}: a [known defect](defects.md), a violated rule that none of them explains, or "
        "a crash or wrong value that neither explains. One cause is one row, however many rules "
        "and exchanges show it. *Text* is the document with the version that first has the "
        "sentence; the linked program, or the command, shows the fault.\n"
    )
    groups: tuple[tuple[str, tuple[Kind, ...], bool], ...] = (
        ("Breaks a must, or is unsound", faults.GRAVE, False),
        ("Differs from a should", ("should",), False),
        ("Hardening and courtesy", ("hardening", "permitted"), True),
        ("Outside the protocol", ("outside",), False),
    )
    for heading, kinds, is_folded in groups:
        chosen = faults.by_kind(found, kinds)
        if not chosen:
            continue
        lines = table(HEADER, _rows(chosen))
        yield f"### {heading}\n"
        yield from (folded(f"{len(chosen)}, none of them a breach", lines) if is_folded else lines)


def conformance_section(field: Field) -> Iterator[str]:
    """How many rules each library violates, by kind."""
    yield "## Conformance\n"
    yield (
        f"How many of the {len(RULES)} [rules]({RULE_TABLE}) each library violates, by kind, how "
        "many it holds, and how many were not examined. Notes are courtesies, and sentences newer "
        f"than the version that the library claims. [Rules]({FOLDER}/rules.md) has the details. "
        "Several violated rules may have one cause.\n"
    )
    rows = []
    for name, examination in examined(field).items():
        if "failed" in examination:
            continue
        kinds = [faults.kind_of(each) for each in faults.violated(examination).values()]
        outcomes = [each["outcome"] for each in examination["rules"].values()]
        counts = [kinds.count(kind) for kind in COLUMNS.values()]
        counts += [outcomes.count("pass"), outcomes.count("skip")]
        rows.append([
            title(name), examination.get("standard") or "none", *map(str, counts),
        ])  # fmt: skip
    yield from table(["Library", "Claims", *COLUMNS, "holds", "not examined"], rows)
    for name, examination in examined(field).items():
        if "failed" in examination:
            yield f"{title(name)} could not be examined: {inline(examination['failed'])}\n"


def rules(field: Field) -> Iterator[str]:
    """The violated rules of each library, with what was seen and the sentence."""
    yield "# Rules\n"
    yield BACK
    yield "The [rules](../../reference/rules.md) that each library violates, by their kind.\n"
    for name, examination in examined(field).items():
        violations = faults.violated(examination)
        if not violations:
            continue
        claim = examination.get("standard")
        yield f"## {title(name)} {examination['versions'].get(name) or ''}".rstrip() + "\n"
        yield (
            f"Claims the array API {claim}.\n" if claim else "Claims no version of the array API.\n"
        )
        grave = {kind: HEADINGS[kind] for kind in (*faults.GRAVE, "should")}
        for kind, heading in grave.items():
            lines = list(_details(field, name, violations, (kind,)))
            if lines:
                yield f"### {heading}\n"
                yield from [*lines, ""]
        lines = list(_details(field, name, violations, ("hardening", "permitted")))
        if lines:
            yield from folded(f"Hardening and notes: {len(lines)}", [*lines, ""])


def _details(
    field: Field, name: str, violations: dict[str, Any], kinds: tuple[str, ...]
) -> Iterator[str]:
    for rule, result in violations.items():
        if faults.kind_of(result) not in kinds:
            continue
        source = "".join(
            f" *{each['document']} {each['since']}, {inline(each['place'])}:* "
            f"“{inline(each['sentence'])}”"
            for each in result.get("sources", ())[:1]
        )
        defects = ", ".join(
            f"[{row.id}](../{anchor(row)})" for row in faults.explaining(field, name, rule)
        )
        yield (
            f"- {rule}: {inline(RULES[rule].text)} *Seen:* {inline(result['got'])}{source}"
            + (f" See {defects}." if defects else "")
        )


def features(field: Field) -> Iterator[str]:
    """The optional parts of the protocol that each library supports."""
    yield "# Features\n"
    yield BACK
    yield (
        "Each column names the [rule](../../reference/rules.md) that examines the feature. "
        "✓: the rule holds. ·: a courtesy is missing, or what a sentence demands that is newer "
        "than the version that the library claims. !: the library differs from a recommendation. "
        "✗: it breaks a must, or is unsound. ✖: the process crashes. Empty: not examined, the "
        "library lacks the feature.\n"
    )
    for side, columns in FEATURES.items():
        header = [side, *(f"{words} ({rule})" for words, rule in columns.items())]
        rows = (
            [title(name), *(_symbol(examination["rules"].get(rule)) for rule in columns.values())]
            for name, examination in examined(field).items()
        )
        yield from table(header, (row for row in rows if any(row[1:])))


def _symbol(result: dict[str, Any] | None) -> str:
    return "" if result is None else RESULTS[result["outcome"]]

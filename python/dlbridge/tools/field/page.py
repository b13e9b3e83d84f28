"""Generates docs/field.md: `python -m dlbridge.tools.field.page docs/field docs/field.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dlbridge.tools.conformance.rules import RULES, SIXTY
from dlbridge.tools.field.data import Field, load
from dlbridge.tools.known import DEFECTS
from dlbridge.tools.libraries import LIBRARIES
from dlbridge.tools.matrix import summary
from dlbridge.tools.matrix.exchange import FAILED, OUTCOMES
from dlbridge.tools.matrix.summary import MARKS

HEAD = """\
# The field

Which library supports DLPack, which parts of it, and with which other libraries: measured by
running the libraries.

`python3 noxfile.py field` creates the environments, runs all exchanges again and generates this
page. The data is in [`docs/field`](field). [`matrix` and `conformance`](tools.md) do the same for
the libraries on your machine.
"""

# The capabilities of a library, by the rule that examines them.
ABILITIES = {
    "As producer": {
        "versioned on request": "P-05",
        "`copy=True`": "P-24",
        "`copy=False`": "P-23",
        "`dl_device`": "P-26",
        "`stream=None`": "P-28",
        "marks read-only": "P-22",
        "explicit strides": "P-12",
        "size 0": "P-19",
        "no dimensions": "P-20",
        "exchange table": "S-03",
        "frees without the GIL": "X-04",
        "frees after exit": "X-05",
    },
    "As consumer": {
        "both capsules": "C-01",
        "requests versioned": "C-02",
        "refuses major 2": "C-04",
        "NULL strides": "C-08",
        "byte offset": "C-09",
        "odd strides": "C-10",
        "preserves read-only": "C-13",
        "unaligned": "C-15",
        "size 0": "C-16",
        "`device`, `copy`": "S-11",
        "NULL deleter": "X-06",
        "errors unchanged": "S-13",
    },
}
RESULTS = {"pass": "✓", "warn": "!", "fail": "✗", "crash": "✖", "skip": "·"}

LAYOUTS = (
    "row-major", "vector", "transposed", "offset", "unaligned", "stepped", "backwards",
    "broadcast", "rank 0", "size 0", "read-only",
)  # fmt: skip


def title(library: str) -> str:
    return LIBRARIES[library].title if library in LIBRARIES else library


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def _legend(counts: dict[str, int]) -> Iterator[str]:
    yield from table(
        ["", "", "Exchanges", ""],
        (
            [MARKS[outcome].glyph, outcome, str(counts.get(outcome, 0)), meaning]
            for outcome, meaning in OUTCOMES.items()
        ),
    )


def _participants(field: Field) -> Iterator[str]:
    versions = summary.versions(field.matrix)
    environments = {
        name: [e["name"] for e in field.matrix["environments"] if name in e["libraries"]]
        for name in field.matrix["libraries"]
    }
    yield "## Libraries and environments\n"
    yield (
        f"On {field.matrix['date']}, {field.matrix['platform']}, with dlbridge "
        f"{field.matrix['dlbridge']}. A pair runs in the first environment that has both.\n"
    )
    yield from table(
        ["Library", "Versions", "Environments", "Its arrays export", "Exchange table"],
        (
            [
                title(name),
                versions[name] or "cannot be used here",
                ", ".join(environments[name]),
                _kinds(field.support.get(name, {})),
                field.support.get(name, {}).get("exchange_table") or "",
            ]
            for name in field.matrix["libraries"]
        ),
    )


def _kinds(support_row: dict[str, Any]) -> str:
    if "failed" in support_row:
        return str(support_row["failed"])
    kinds = [f"versioned {support_row['versioned']}"] if support_row.get("versioned") else []
    kinds += ["legacy"] if support_row.get("legacy") else []
    text = ", ".join(kinds)
    return f"{text}, by a function" if kinds and not support_row.get("protocol") else text


def _matrix(field: Field) -> Iterator[str]:
    names = list(field.matrix["libraries"])
    pairs = summary.by_pair(field.matrix)
    counts = summary.count(field.matrix["exchanges"])
    total = sum(counts.values()) - counts.get("impossible", 0)
    yield "## Exchanges between libraries\n"
    yield (
        f"{total} exchanges of {len(field.matrix['cases'])} kinds of array between {len(pairs)} "
        "pairs. Rows are producers, columns are consumers. A cell shows the worst outcome of its "
        "pair, and how often it occurs; it is empty where no environment has both.\n"
    )
    yield from table(["", *names], ([f"**{name}**", *_cells(name, names, pairs)] for name in names))
    yield from _legend(counts)


def _cells(name: str, names: Iterable[str], pairs: dict[Any, Any]) -> Iterator[str]:
    for other in names:
        exchanges = pairs.get((name, other))
        if exchanges is None:
            yield ""
            continue
        outcome, count = summary.worst(exchanges)
        counted = outcome in (*FAILED, "converted")
        yield f"{MARKS[outcome].glyph}{count if counted else ''}"


def _one_side(field: Field, producing: bool) -> Iterator[str]:
    """Returns the outcome of each kind of array on its way to dlbridge, or from it."""
    pairs = summary.by_pair(field.matrix)
    cases: list[str] = field.matrix["cases"]
    for kind, chosen in (
        ("layout", [case for case in cases if case in LAYOUTS]),
        ("dtype", [case for case in cases if case not in LAYOUTS]),
    ):
        rows = []
        for name in field.matrix["libraries"]:
            pair = (name, "dlbridge") if producing else ("dlbridge", name)
            outcomes = {each["case"]: each["outcome"] for each in pairs.get(pair, ())}
            marks = [MARKS[outcomes[case]].glyph if case in outcomes else "" for case in chosen]
            if name != "dlbridge" and set(marks) - {"", MARKS["impossible"].glyph}:
                rows.append([title(name), *marks])
        yield from table([f"By {kind}", *chosen], rows)


def _abilities(field: Field) -> Iterator[str]:
    yield "## Capabilities\n"
    yield (
        "By [rule](conformance.md): ✓ it holds, ! a deviation that other libraries tolerate, ✗ "
        "it is "
        "violated, ✖ the process crashes, · not examined: the library has no such feature.\n"
    )
    for side, columns in ABILITIES.items():
        header = [side, *(f"{words} ({rule})" for words, rule in columns.items())]
        rows = (
            [title(name), *(_result(row["rules"].get(rule)) for rule in columns.values())]
            for name, row in field.conformance.items()
        )
        examined = (row for row in rows if set(row[1:]) - {"", RESULTS["skip"]})
        yield from table(header, examined)


def _result(row: dict[str, str] | None) -> str:
    return "" if row is None else RESULTS[row["outcome"]]


def _conformance(field: Field) -> Iterator[str]:
    yield "## Conformance\n"
    yield f"Of the {len(SIXTY)} rules and the {len(RULES) - len(SIXTY)} additional ones:\n"
    rows = []
    for name, row in field.conformance.items():
        outcomes = {rule: each["outcome"] for rule, each in row["rules"].items()}
        counts = [sum(each == one for each in outcomes.values()) for one in RESULTS]
        broken = [rule for rule, each in outcomes.items() if each in ("fail", "crash")]
        rows.append([title(name), *map(str, counts), ", ".join(broken)])
    yield from table(["Library", *RESULTS, "Violated"], rows)
    yield "<details><summary>Observations where a rule is violated</summary>\n"
    for name, row in field.conformance.items():
        observations = [
            f"- {rule}: {RULES[rule].says} *Seen:* {_inline(each['got'])}"
            for rule, each in row["rules"].items()
            if each["outcome"] in ("fail", "crash")
        ]
        if observations:
            yield f"**{title(name)} {row['versions'].get(name) or ''}**\n"
            yield from [*observations, ""]
    yield "</details>\n"


def _inline(text: str) -> str:
    """Escapes text for Markdown."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _cases(cases: Sequence[str]) -> str:
    return ", ".join(cases)


def _failing(field: Field) -> Iterator[str]:
    """Lists the exchanges that fail without dlbridge, by the consumer's message."""
    yield "## Failing exchanges\n"
    yield "Between two libraries other than dlbridge.\n"
    direct = [
        each
        for each in summary.failing(field.matrix)
        if "dlbridge" not in (each["producer"], each["consumer"])
    ]
    by_consumer = sorted(summary.groups(direct), key=lambda group: group.consumer)
    for consumer, groups in groupby(by_consumer, key=lambda group: group.consumer):
        row = list(groups)
        number = sum(len(group.cases) for group in row)
        yield f"<details><summary>{title(consumer)} as consumer: {number}</summary>\n"
        rows = [[group.producer, _cases(group.cases), _inline(group.words)] for group in row]
        yield from table(["From", "Arrays", ""], rows)
        yield "</details>\n"


def _through(field: Field) -> Iterator[str]:
    tried, works = summary.tried_again(field.matrix), summary.rescued(field.matrix)
    pairs = {(each["producer"], each["consumer"]) for each in works}
    yield "## Exchanges through dlbridge\n"
    yield (
        f"**{len(works)} of {len(tried)}** failing exchanges succeed when dlbridge imports the "
        f"array first: those of {len(pairs)} pairs.\n"
    )
    yield from table(
        ["From", "To", "Arrays", "Argument of the consumer"],
        (
            [group.producer, group.consumer, _cases(group.cases), f"`{how}`, {rest}"]
            for group in summary.groups_via(works)
            for how, _, rest in [group.words.rpartition(", ")]
        ),
    )
    yield "<details><summary>Exchanges that still fail</summary>\n"
    lost = summary.lost(field.matrix)
    yield from table(
        ["From", "To", "Arrays", "Outcome"],
        (
            [group.producer, group.consumer, _cases(group.cases), _inline(group.words)]
            for group in summary.groups_via(lost)
        ),
    )
    yield "</details>\n"


def _defects() -> Iterator[str]:
    yield "## Known defects\n"
    yield "A program for each is in [known defects](defects.md).\n"
    yield from table(
        ["Library", "Defect", "Seen in"],
        (
            [
                title(row.library),
                f"[{row.what.rstrip('.')}](defects.md#{row.id.replace('.', '')})",
                row.seen_in,
            ]
            for row in DEFECTS.values()
        ),
    )


def write(field: Field) -> str:
    """Generates the whole page."""
    parts = [HEAD]
    parts += _participants(field)
    parts += _matrix(field)
    parts.append("## Arrays of each library in dlbridge\n\ndlbridge accepts every DLPack tensor.\n")
    parts += _one_side(field, producing=True)
    parts.append("## Arrays of dlbridge in each library\n\ndlbridge passes each array unchanged.\n")
    parts += _one_side(field, producing=False)
    parts += _abilities(field)
    parts += _conformance(field)
    parts += _failing(field)
    parts += _through(field)
    parts += _defects()
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    data, page = map(Path, sys.argv[1:])
    page.write_text(write(load(data)), encoding="utf-8")

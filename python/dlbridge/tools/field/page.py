"""Writes docs/field.md: `python -m dlbridge.tools.field.page docs/field docs/field.md`."""

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

Which library speaks DLPack, how well, and with whom: seen by running it, not by reading about it.

`python3 noxfile.py field` makes the environments, runs everything again and writes this page;
nobody edits it. What it found is in [`docs/field`](field). For the libraries that you have, ask
[`matrix` and `conformance`](tools.md).
"""

# What a library does and does not do, by the rule that examines it.
ABILITIES = {
    "As producer": {
        "versioned when asked": "P-05",
        "`copy=True`": "P-24",
        "`copy=False`": "P-23",
        "`dl_device`": "P-26",
        "`stream=None`": "P-28",
        "marks read-only": "P-22",
        "strides given": "P-12",
        "size 0": "P-19",
        "no dimensions": "P-20",
        "exchange table": "S-03",
        "frees without the GIL": "X-04",
        "frees after the end": "X-05",
    },
    "As consumer": {
        "both capsules": "C-01",
        "asks for versioned": "C-02",
        "major 2 refused": "C-04",
        "no strides": "C-08",
        "byte offset": "C-09",
        "odd strides": "C-10",
        "keeps read-only": "C-13",
        "unaligned": "C-15",
        "size 0": "C-16",
        "`device`, `copy`": "S-11",
        "no deleter": "X-06",
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


def _took_part(field: Field) -> Iterator[str]:
    versions = summary.versions(field.matrix)
    where = {
        name: [e["name"] for e in field.matrix["environments"] if name in e["libraries"]]
        for name in field.matrix["libraries"]
    }
    yield "## Who takes part\n"
    yield (
        f"On {field.matrix['date']}, {field.matrix['platform']}, with dlbridge "
        f"{field.matrix['dlbridge']}. A pair met in the first environment that has both.\n"
    )
    yield from table(
        ["Library", "Versions", "Environments", "Its arrays give", "Exchange table"],
        (
            [
                title(name),
                versions[name] or "cannot be used here",
                ", ".join(where[name]),
                _gives(field.speech.get(name, {})),
                field.speech.get(name, {}).get("exchange_table") or "",
            ]
            for name in field.matrix["libraries"]
        ),
    )


def _gives(spoken: dict[str, Any]) -> str:
    if "failed" in spoken:
        return str(spoken["failed"])
    kinds = [f"versioned {spoken['versioned']}"] if spoken.get("versioned") else []
    kinds += ["legacy"] if spoken.get("legacy") else []
    said = ", ".join(kinds)
    return f"{said}, by a function" if kinds and not spoken.get("protocol") else said


def _matrix(field: Field) -> Iterator[str]:
    names = list(field.matrix["libraries"])
    pairs = summary.by_pair(field.matrix)
    counts = summary.count(field.matrix["exchanges"])
    total = sum(counts.values()) - counts.get("impossible", 0)
    yield "## Whose arrays reach whom\n"
    yield (
        f"{total} exchanges of {len(field.matrix['cases'])} kinds of array between {len(pairs)} "
        "pairs. The producer is on the left. A cell shows the worst that came of its pair, and how "
        "often; it is empty where no environment has both.\n"
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


def _one_side(field: Field, giving: bool) -> Iterator[str]:
    """What becomes of each kind of array on the way to dlbridge, or from it."""
    pairs = summary.by_pair(field.matrix)
    cases: list[str] = field.matrix["cases"]
    for kind, chosen in (
        ("layout", [case for case in cases if case in LAYOUTS]),
        ("dtype", [case for case in cases if case not in LAYOUTS]),
    ):
        rows = []
        for name in field.matrix["libraries"]:
            pair = (name, "dlbridge") if giving else ("dlbridge", name)
            came = {each["case"]: each["outcome"] for each in pairs.get(pair, ())}
            marks = [MARKS[came[case]].glyph if case in came else "" for case in chosen]
            if name != "dlbridge" and set(marks) - {"", MARKS["impossible"].glyph}:
                rows.append([title(name), *marks])
        yield from table([f"By {kind}", *chosen], rows)


def _abilities(field: Field) -> Iterator[str]:
    yield "## What each side can do\n"
    yield (
        "By [rule](conformance.md): ✓ it holds, ! a deviation that others live with, ✗ it is "
        "broken, ✖ the process dies, · not examined: the library has no such thing.\n"
    )
    for side, columns in ABILITIES.items():
        header = [side, *(f"{words} ({rule})" for words, rule in columns.items())]
        rows = (
            [title(name), *(_result(found["rules"].get(rule)) for rule in columns.values())]
            for name, found in field.conformance.items()
        )
        examined = (row for row in rows if set(row[1:]) - {"", RESULTS["skip"]})
        yield from table(header, examined)


def _result(found: dict[str, str] | None) -> str:
    return "" if found is None else RESULTS[found["outcome"]]


def _conformance(field: Field) -> Iterator[str]:
    yield "## Which rules hold\n"
    yield f"Of the {len(SIXTY)} rules and the {len(RULES) - len(SIXTY)} beyond:\n"
    rows = []
    for name, found in field.conformance.items():
        outcomes = {rule: each["outcome"] for rule, each in found["rules"].items()}
        counts = [sum(each == one for each in outcomes.values()) for one in RESULTS]
        broken = [rule for rule, each in outcomes.items() if each in ("fail", "crash")]
        rows.append([title(name), *map(str, counts), ", ".join(broken)])
    yield from table(["Library", *RESULTS, "Broken"], rows)
    yield "<details><summary>What was seen where a rule is broken</summary>\n"
    for name, found in field.conformance.items():
        seen = [
            f"- {rule}: {RULES[rule].says} *Seen:* {_inline(each['got'])}"
            for rule, each in found["rules"].items()
            if each["outcome"] in ("fail", "crash")
        ]
        if seen:
            yield f"**{title(name)} {found['versions'].get(name) or ''}**\n"
            yield from [*seen, ""]
    yield "</details>\n"


def _inline(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _cases(cases: Sequence[str]) -> str:
    return ", ".join(cases)


def _failing(field: Field) -> Iterator[str]:
    """What fails without dlbridge, by what the consumer says."""
    yield "## What fails, and why\n"
    yield "Between two libraries, dlbridge being neither.\n"
    direct = [
        each
        for each in summary.failing(field.matrix)
        if "dlbridge" not in (each["producer"], each["consumer"])
    ]
    by_consumer = sorted(summary.groups(direct), key=lambda group: group.consumer)
    for consumer, groups in groupby(by_consumer, key=lambda group: group.consumer):
        found = list(groups)
        number = sum(len(group.cases) for group in found)
        yield f"<details><summary>{title(consumer)} as consumer: {number}</summary>\n"
        rows = [[group.producer, _cases(group.cases), _inline(group.words)] for group in found]
        yield from table(["From", "Arrays", ""], rows)
        yield "</details>\n"


def _through(field: Field) -> Iterator[str]:
    tried, works = summary.tried_again(field.matrix), summary.rescued(field.matrix)
    pairs = {(each["producer"], each["consumer"]) for each in works}
    yield "## What works through dlbridge\n"
    yield (
        f"**{len(works)} of {len(tried)}** failing exchanges work when the consumer takes what "
        f"dlbridge makes of the array: those of {len(pairs)} pairs.\n"
    )
    yield from table(
        ["From", "To", "Arrays", "What the consumer takes"],
        (
            [group.producer, group.consumer, _cases(group.cases), f"`{how}`, {rest}"]
            for group in summary.groups_via(works)
            for how, _, rest in [group.words.rpartition(", ")]
        ),
    )
    yield "<details><summary>What does not</summary>\n"
    lost = summary.lost(field.matrix)
    yield from table(
        ["From", "To", "Arrays", "What comes then"],
        (
            [group.producer, group.consumer, _cases(group.cases), _inline(group.words)]
            for group in summary.groups_via(lost)
        ),
    )
    yield "</details>\n"


def _defects() -> Iterator[str]:
    yield "## Known defects\n"
    yield "Each with a few lines that show it without dlbridge: [defects](defects.md).\n"
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
    """The whole page."""
    parts = [HEAD]
    parts += _took_part(field)
    parts += _matrix(field)
    parts.append("## What each gives\n\nTo dlbridge, which takes all that DLPack can say.\n")
    parts += _one_side(field, giving=True)
    parts.append("## What each takes\n\nFrom dlbridge, which leaves every array as it is.\n")
    parts += _one_side(field, giving=False)
    parts += _abilities(field)
    parts += _conformance(field)
    parts += _failing(field)
    parts += _through(field)
    parts += _defects()
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    data, page = map(Path, sys.argv[1:])
    page.write_text(write(load(data)), encoding="utf-8")

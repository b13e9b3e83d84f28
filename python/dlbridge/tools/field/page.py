"""Writes the survey's pages: `python -m dlbridge.tools.field.page docs/field docs/field.md`.

docs/field.md is a short overview; the pages with the details are in docs/generated/field/.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.field.data import Field, load
from dlbridge.tools.libraries import LIBRARIES
from dlbridge.tools.matrix import summary
from dlbridge.tools.matrix.exchange import FAILED, OUTCOMES
from dlbridge.tools.matrix.summary import MARKS

FOLDER = "generated/field"

HEAD = """\
# Survey of DLPack support

The survey shows how well each library exports and imports DLPack, and which pairs of libraries
exchange arrays. The results come from running the libraries: `python3 noxfile.py field` creates
the environments, runs [`matrix`](tools.md#matrix) and [`conformance`](conformance.md) in them,
stores the results in [`docs/field`](field) and generates this page. To examine the versions that
are installed, run those two tools directly.

Details:

- [Arrays](generated/field/arrays.md): the layouts and dtypes that each library exports and imports
- [Features](generated/field/features.md): the optional parts of the protocol that each supports
- [Broken rules](generated/field/rules.md): what a library does where it breaks a conformance rule
- [Failing exchanges](generated/field/failures.md): what fails between two libraries, and why
- [Exchanges through dlbridge](generated/field/through_dlbridge.md): which of those then work

[Known defects](defects.md) has a program for each defect that was found.
"""

EXCHANGES = "exchanges-between-libraries"  # the heading of the matrix
BACK = "Part of the [survey of DLPack support](../../field.md), which is generated.\n"

# Optional features, with the rule that examines each.
FEATURES = {
    "As producer": {
        "versioned on request": "P-05",
        "`copy=True`": "P-24",
        "`copy=False`": "P-23",
        "`dl_device`": "P-26",
        "`stream=None`": "P-28",
        "marks read-only": "P-22",
        "sets strides": "P-12",
        "size 0": "P-19",
        "rank 0": "P-20",
        "exchange table": "S-03",
        "frees without the GIL": "X-04",
        "frees after finalization": "X-05",
    },
    "As consumer": {
        "legacy and versioned": "C-01",
        "requests versioned": "C-02",
        "major 2 refused": "C-04",
        "null strides": "C-08",
        "byte offset": "C-09",
        "zero or negative strides": "C-10",
        "keeps read-only": "C-13",
        "unaligned": "C-15",
        "size 0": "C-16",
        "`device`, `copy`": "S-11",
        "null deleter": "X-06",
        "passes errors on": "S-13",
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
        ["", "Outcome", "Exchanges", "Meaning"],
        (
            [MARKS[outcome].glyph, outcome, str(counts.get(outcome, 0)), meaning]
            for outcome, meaning in OUTCOMES.items()
        ),
    )


def _libraries(field: Field) -> Iterator[str]:
    versions = summary.versions(field.matrix)
    where = {
        name: [e["name"] for e in field.matrix["environments"] if name in e["libraries"]]
        for name in field.matrix["libraries"]
    }
    yield "## Libraries\n"
    yield (
        f"Run on {field.matrix['date']}, {field.matrix['platform']}, with dlbridge "
        f"{field.matrix['dlbridge']}. Each pair ran in the first environment that has both.\n"
    )
    yield from table(
        ["Library", "Versions", "Environments", "Exports", "Exchange table"],
        (
            [
                title(name),
                versions[name] or "not usable on this machine",
                ", ".join(where[name]),
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
    return f"{text}, through a function" if kinds and not support_row.get("protocol") else text


def _matrix(field: Field) -> Iterator[str]:
    names = list(field.matrix["libraries"])
    pairs = summary.by_pair(field.matrix)
    counts = summary.count(field.matrix["exchanges"])
    total = sum(counts.values()) - counts.get("impossible", 0)
    yield "## Exchanges between libraries\n"
    yield (
        f"{total} exchanges of {len(field.matrix['cases'])} kinds of array between {len(pairs)} "
        "pairs. Rows are producers, columns are consumers. A cell shows the worst outcome of the "
        "pair, and how many exchanges had it. A cell is empty where no environment has both.\n"
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
    """The outcome of each kind of array on the way to dlbridge, or from dlbridge."""
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


def _features(field: Field) -> Iterator[str]:
    yield "# Features\n"
    yield BACK
    yield (
        "Each column names the [rule](../../conformance.md#the-rules) that examines the feature. "
        "✓: the rule holds. !: the library deviates in a way that other libraries tolerate. ✗: the "
        "rule is broken. ✖: the process crashes. ·: not examined, the library lacks the feature.\n"
    )
    for side, columns in FEATURES.items():
        header = [side, *(f"{words} ({rule})" for words, rule in columns.items())]
        rows = (
            [title(name), *(_result(examination["rules"].get(rule)) for rule in columns.values())]
            for name, examination in field.conformance.items()
        )
        examined = (row for row in rows if set(row[1:]) - {"", RESULTS["skip"]})
        yield from table(header, examined)


def _result(result: dict[str, str] | None) -> str:
    return "" if result is None else RESULTS[result["outcome"]]


def _conformance(field: Field) -> Iterator[str]:
    yield "## Conformance\n"
    yield (
        f"How many of the {len(RULES)} [rules](conformance.md#the-rules) had each outcome. "
        f"[Broken rules]({FOLDER}/rules.md) has the details.\n"
    )
    rows = []
    for name, examination in field.conformance.items():
        outcomes = {rule: each["outcome"] for rule, each in examination["rules"].items()}
        counts = [sum(each == one for each in outcomes.values()) for one in RESULTS]
        violations = [rule for rule, each in outcomes.items() if each in ("fail", "crash")]
        rows.append([title(name), *map(str, counts), ", ".join(violations)])
    yield from table(["Library", *RESULTS, "Broken"], rows)


def _broken_rules(field: Field) -> Iterator[str]:
    yield "# Broken rules\n"
    yield BACK
    for name, examination in field.conformance.items():
        lines = [
            f"- {rule}: {RULES[rule].text} *Seen:* {_inline(each['got'])}"
            for rule, each in examination["rules"].items()
            if each["outcome"] in ("fail", "crash")
        ]
        if lines:
            yield f"## {title(name)} {examination['versions'].get(name) or ''}".rstrip() + "\n"
            yield from [*lines, ""]


def _inline(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _cases(cases: Sequence[str]) -> str:
    return ", ".join(cases)


def _failing(field: Field) -> Iterator[str]:
    """The exchanges that fail without dlbridge, by consumer."""
    yield "# Failing exchanges\n"
    yield BACK
    yield "Exchanges between two libraries, neither of which is dlbridge.\n"
    direct = [
        each
        for each in summary.failing(field.matrix)
        if "dlbridge" not in (each["producer"], each["consumer"])
    ]
    by_consumer = sorted(summary.groups(direct), key=lambda group: group.consumer)
    for consumer, groups in groupby(by_consumer, key=lambda group: group.consumer):
        failures = list(groups)
        number = sum(len(group.cases) for group in failures)
        yield f"<details><summary>{title(consumer)} as consumer: {number}</summary>\n"
        rows = [[group.producer, _cases(group.cases), _inline(group.words)] for group in failures]
        yield from table(["Producer", "Arrays", "Outcome"], rows)
        yield "</details>\n"


def _through(field: Field) -> Iterator[str]:
    tried, works = summary.tried_again(field.matrix), summary.rescued(field.matrix)
    pairs = {(each["producer"], each["consumer"]) for each in works}
    yield "# Exchanges through dlbridge\n"
    yield BACK
    yield (
        f"**{len(works)} of {len(tried)}** failing exchanges, of {len(pairs)} pairs, work when the "
        "consumer takes the tensor that dlbridge makes of the array.\n"
    )
    yield from table(
        ["Producer", "Consumer", "Arrays", "What the consumer takes"],
        (
            [group.producer, group.consumer, _cases(group.cases), f"`{how}`, {rest}"]
            for group in summary.groups_via(works)
            for how, _, rest in [group.words.rpartition(", ")]
        ),
    )
    yield "## Exchanges that still fail\n"
    lost = summary.lost(field.matrix)
    yield from table(
        ["Producer", "Consumer", "Arrays", "Outcome"],
        (
            [group.producer, group.consumer, _cases(group.cases), _inline(group.words)]
            for group in summary.groups_via(lost)
        ),
    )


def _arrays(field: Field) -> Iterator[str]:
    yield "# Arrays\n"
    yield BACK
    yield f"The [overview](../../field.md#{EXCHANGES}) explains the symbols.\n"
    yield "## Exported to dlbridge\n"
    yield "dlbridge imports every tensor that DLPack can describe.\n"
    yield from _one_side(field, giving=True)
    yield "## Imported from dlbridge\n"
    yield "dlbridge exports every array unchanged.\n"
    yield from _one_side(field, giving=False)


def _overview(field: Field) -> Iterator[str]:
    yield HEAD
    yield from _libraries(field)
    yield from _matrix(field)
    yield from _conformance(field)


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def pages(field: Field) -> dict[str, str]:
    """Each page as Markdown, by its path in docs/."""
    return {
        "field.md": _page(_overview(field)),
        f"{FOLDER}/arrays.md": _page(_arrays(field)),
        f"{FOLDER}/features.md": _page(_features(field)),
        f"{FOLDER}/rules.md": _page(_broken_rules(field)),
        f"{FOLDER}/failures.md": _page(_failing(field)),
        f"{FOLDER}/through_dlbridge.md": _page(_through(field)),
    }


if __name__ == "__main__":
    data, overview = map(Path, sys.argv[1:])
    for name, content in pages(load(data)).items():
        file = overview.parent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")

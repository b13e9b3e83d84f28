# SPDX-License-Identifier: BSD-3-Clause
"""The survey's pages about exchanges between libraries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dlbridge.tools import known
from dlbridge.tools.matrix import causes, summary
from dlbridge.tools.matrix.exchange import OUTCOMES
from dlbridge.tools.matrix.summary import COUNTED, MARKS
from field import faults
from field.data import Field
from field.defect_pages import anchor
from field.markdown import BACK, FOLDER, folded, inline, shortened, table, title

EXCHANGES = "exchanges-between-libraries"  # the heading of the matrix

LAYOUTS = (
    "row-major", "vector", "transposed", "offset", "unaligned", "stepped", "backwards",
    "broadcast", "rank 0", "size 0", "extents of 1", "read-only",
)  # fmt: skip


def matrix_section(field: Field) -> Iterator[str]:
    """The table of producers and consumers, with the number of exchanges of each outcome."""
    foreign = field.matrix.get("by_way_of", {})
    names = [name for name in field.matrix["libraries"] if name not in foreign]
    exchanges = summary.own(field.matrix)
    pairs = summary.by_pair({"exchanges": exchanges})
    counts = summary.count(exchanges)
    total = sum(counts.values()) - counts.get("impossible", 0)
    yield "## Exchanges between libraries\n"
    yield (
        f"{total} exchanges of {len(field.matrix['cases'])} kinds of array between {len(pairs)} "
        "pairs. Rows are producers, columns are consumers. A cell shows the worst outcome of the "
        "pair, and how many exchanges had it. A cell is empty where no environment has both. "
        f"[Failing exchanges]({FOLDER}/failures.md) has each cause once.\n"
    )
    yield from (
        f"{title(name)} is not a row here: its arrays are {title(other)}'s.\n"
        for name, other in foreign.items()
        if name in field.matrix["libraries"]
    )
    yield from table(["", *names], ([f"**{name}**", *_cells(name, names, pairs)] for name in names))
    yield from table(
        ["", "Outcome", "Exchanges", "Meaning"],
        (
            [MARKS[outcome].glyph, outcome, str(counts.get(outcome, 0)), meaning]
            for outcome, meaning in OUTCOMES.items()
        ),
    )


def _cells(name: str, names: Iterable[str], pairs: dict[Any, Any]) -> Iterator[str]:
    for other in names:
        exchanges = pairs.get((name, other))
        if exchanges is None:
            yield ""
            continue
        outcome, count = summary.worst(exchanges)
        yield f"{MARKS[outcome].glyph}{count if outcome in COUNTED else ''}"


def arrays(field: Field) -> Iterator[str]:
    """The layouts and dtypes that each library exports and imports."""
    yield "# Arrays\n"
    yield BACK
    yield f"The [overview](../field.md#{EXCHANGES}) explains the symbols.\n"
    yield "## Exported to dlbridge\n"
    yield "dlbridge imports every tensor that DLPack can describe.\n"
    yield from _one_side(field, giving=True)
    yield "## Imported from dlbridge\n"
    yield "dlbridge exports every array unchanged.\n"
    yield from _one_side(field, giving=False)


def _one_side(field: Field, giving: bool) -> Iterator[str]:
    """The outcome of each kind of array on the way to dlbridge, or from dlbridge."""
    pairs = summary.by_pair({"exchanges": summary.own(field.matrix)})
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


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)


def failures(field: Field) -> Iterator[str]:
    """The causes of failing exchanges: faults, then refusals by library."""
    found = faults.exchange_causes(field)
    silent = [cause for cause in found if cause.outcome in faults.SILENT]
    wrong = [cause for cause in found if cause.is_fault and cause not in silent]
    refusals = [cause for cause in found if not cause.is_fault and cause not in silent]
    yield "# Failing exchanges\n"
    yield BACK
    yield "## Faults\n"
    yield (
        f"{len(wrong)} causes of {sum(len(each.exchanges) for each in wrong)} failing exchanges. "
        "Each cause is a fault of one library, and is listed once.\n"
    )
    yield from table(HEAD, map(_cause, wrong))
    yield "## Lost without an error\n"
    yield (
        f"{len(silent)} causes of {sum(len(each.exchanges) for each in silent)} failing exchanges: "
        "read-only memory arrives as writable, or another dtype arrives, without a warning or an "
        "error. A library without read-only arrays should ignore the mark, so it violates no rule; "
        "its user must not write.\n"
    )
    yield from table(HEAD, map(_cause, silent))
    yield "## Refusals\n"
    yield (
        "A library may refuse a dtype, a layout or a device that it does not support. No rule is "
        "violated here.\n"
    )
    for name in dict.fromkeys(cause.library for cause in refusals):
        of_library = [cause for cause in refusals if cause.library == name]
        number = sum(len(cause.exchanges) for cause in of_library)
        yield from folded(f"{title(name)}: {number}", table(HEAD, map(_cause, of_library)))


HEAD = ["Library", "As", "Cause", "Exchanges", "With", "Arrays"]


def _cause(cause: causes.Cause) -> list[str]:
    text = inline(shortened(cause.text))
    if cause.defect is not None:
        text += f" [{cause.defect}](../{anchor(known.DEFECTS[cause.defect])})"
    return [
        title(cause.library),
        cause.side,
        f"{cause.outcome}: {text}",
        str(len(cause.exchanges)),
        _listed(cause.others),
        _listed(cause.cases),
    ]


def through_dlbridge(field: Field) -> Iterator[str]:
    """The exchanges that were repeated with dlbridge in between."""
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
            [group.producer, group.consumer, _listed(group.cases), f"`{how}`, {rest}"]
            for group in summary.groups_via(works)
            for how, _, rest in [group.words.rpartition(", ")]
        ),
    )
    yield "## Exchanges that still fail\n"
    yield from table(
        ["Producer", "Consumer", "Arrays", "Outcome"],
        (
            [group.producer, group.consumer, _listed(group.cases), inline(group.words)]
            for group in summary.groups_via(summary.lost(field.matrix))
        ),
    )

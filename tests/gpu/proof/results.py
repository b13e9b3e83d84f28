# SPDX-License-Identifier: BSD-3-Clause
"""The results of checks, and their Markdown page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proof.registry import Check

PASSED, FAILED, SKIPPED, WAITING = "passed", "failed", "skipped", "waiting"
WAITS = "waiting for a GPU"


@dataclass(frozen=True)
class Result:
    """What one check has shown."""

    name: str
    outcome: str  # PASSED, FAILED, SKIPPED or WAITING
    reason: str = ""  # in one line; "" if it passed
    seconds: float = 0.0
    figures: Any = None  # measured values
    defect: str = ""  # the known defect because of which it fails

    @property
    def is_as_expected(self) -> bool:
        """Whether it holds, or fails because of a known defect. A repaired one is not expected."""
        return self.outcome != (PASSED if self.defect else FAILED)

    def line(self) -> str:
        return json.dumps(asdict(self), default=str)


def counts(outcomes: Sequence[Result]) -> str:
    """How many checks have each outcome, in one line."""
    kinds = (PASSED, FAILED, SKIPPED, WAITING)
    return ", ".join(f"{sum(it.outcome == kind for it in outcomes)} {kind}" for kind in kinds)


Stored = Mapping[str, Mapping[str, Any]]  # by the name of the check: the fields of a Result


def stored(results: Iterable[Result], *, measured: bool = True) -> dict[str, dict[str, Any]]:
    """The results as a page keeps them; without `measured` only what each run repeats."""
    rows = {each.name: asdict(each) for each in results}
    if not measured:
        for row in rows.values():
            row["figures"], row["seconds"] = None, 0.0
    return rows


def _cell(result: Mapping[str, Any] | None) -> str:
    if result is None or result["outcome"] == WAITING:
        return WAITS
    reason = str(result["reason"] or "").replace("|", "\\|").replace("<", "&lt;")
    text = f"{result['outcome']}: {reason}" if reason else str(result["outcome"])
    return f"{text} ({result['defect']})" if result["defect"] else text


def table(checks: Mapping[str, Check], columns: Mapping[str, Stored]) -> str:
    """A row for each check, and a column for each driver."""
    lines = [
        "| | What it shows | " + " | ".join(columns) + " |",
        "|---|---|" + "---|" * len(columns),
    ]
    for name, each in checks.items():
        cells = " | ".join(_cell(results.get(name)) for results in columns.values())
        lines.append(f"| `{name}` | {each.shows} | {cells} |")
    return "\n".join(lines)


def _flat(figures: Any, prefix: str = "") -> list[tuple[str, str]]:
    if not isinstance(figures, Mapping):
        is_number = isinstance(figures, (int, float)) and not isinstance(figures, bool)
        return [(prefix, f"{figures:,}" if is_number else str(figures))]
    return [
        row
        for key, value in figures.items()
        for row in _flat(value, f"{prefix}, {key}" if prefix else str(key))
    ]


def figures(results: Stored) -> str:
    """The measured values, a table for each check that has some."""
    parts = []
    for name, result in results.items():
        if result["figures"]:
            rows = "\n".join(f"| {key} | {value} |" for key, value in _flat(result["figures"]))
            parts.append(f"### {name}\n\n| | |\n|---|---|\n{rows}")
    return "\n\n".join(parts)


INTRODUCTION = """\
# Checks on a GPU

Each row is a check of dlbridge on CUDA: what it shows, and its outcome on a GPU and on a
[simulated driver](../contributing/simulated_drivers.md), which cannot run all of them. A *late
kernel* writes memory some time after its launch, so a reader that does not wait finds the old
bytes. `python3 noxfile.py gpu -- --write` runs the checks and writes this page.
[How they work](../contributing/gpu_checks.md) is described elsewhere.
"""


def page(checks: Mapping[str, Check], results: Mapping[str, Stored]) -> str:
    """The page docs/generated/gpu.md. `results` has the keys "gpu" and "simulated", and
    "made" with the date and the commit of each."""
    columns = {"GPU": results.get("gpu", {}), "Simulated driver": results.get("simulated", {})}
    made = results.get("made", {})
    runs = "".join(
        f"\nThe {name} ran them on {made[key]['date']}, of commit `{made[key]['commit']}`.\n"
        for name, key in (("GPU", "gpu"), ("simulated driver", "simulated"))
        if key in made
    )
    text = f"{INTRODUCTION}{runs}\n{table(checks, columns)}\n\n## Figures of the GPU\n\n"
    return text + (figures(columns["GPU"]) or f"These are {WAITS}.") + "\n"

# SPDX-License-Identifier: BSD-3-Clause
"""The data of docs/generated/field.md: a file for each part, which collect.py writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARTS = ("matrix", "conformance", "support", "defects")
VIOLATIONS = ("crash", "fail", "warn", "note")  # outcomes of a rule, the gravest first


@dataclass(frozen=True)
class Field:
    """The files."""

    matrix: dict[str, Any]  # the report of the matrix tool
    # By library: the standard that it claims, its versions, and the outcome of each rule.
    conformance: dict[str, dict[str, Any]]
    support: dict[str, dict[str, Any]]  # by library, as dlpack_support.examine() returns it
    defects: dict[str, Any]  # the last run of the program of each known defect


def save(folder: Path, part: str, values: dict[str, Any]) -> None:
    """Writes one file with one item on a line, so that diffs are small."""
    if "exchanges" in values:
        values = {**values, "exchanges": list(_packed(values["exchanges"]))}
    _write(folder / f"{part}.json", values)


def load(folder: Path) -> Field:
    """Reads the files. Raises OSError where one is missing."""
    matrix, conformance, support, defects = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in PARTS
    )
    cases = matrix["cases"]
    exchanges = [each for group in matrix["exchanges"] for each in _unpacked(group)]
    libraries = list(matrix["libraries"])
    exchanges.sort(
        key=lambda each: (
            libraries.index(each["producer"]),
            libraries.index(each["consumer"]),
            cases.index(each["case"]),
        )
    )
    return Field({**matrix, "exchanges": exchanges}, conformance, support, defects)


def _packed(exchanges: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Merges the exchanges that differ only in the case."""
    groups: dict[str, list[str]] = {}
    for each in exchanges:
        rest = {key: value for key, value in each.items() if key != "case"}
        groups.setdefault(json.dumps(rest), []).append(each["case"])
    for rest_text, cases in groups.items():
        yield {**json.loads(rest_text), "cases": cases}


def _unpacked(group: dict[str, Any]) -> Iterable[dict[str, Any]]:
    rest = {key: value for key, value in group.items() if key != "cases"}
    return [{**rest, "case": case} for case in group["cases"]]


def _write(path: Path, value: dict[str, Any]) -> None:
    lines = []
    for key, part in value.items():
        text = json.dumps(part, ensure_ascii=False)
        if isinstance(part, (dict, list)) and len(text) > 100:
            text = _an_item_in_a_line(part)
        lines.append(f"{json.dumps(key)}: {text}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _an_item_in_a_line(part: dict[str, Any] | list[Any]) -> str:
    if isinstance(part, list):
        items = [json.dumps(each, ensure_ascii=False) for each in part]
        return "[\n" + ",\n".join(items) + "\n]"
    items = [
        f"{json.dumps(key)}: "
        + (_an_item_in_a_line(each) if key == "rules" else json.dumps(each, ensure_ascii=False))
        for key, each in part.items()
    ]
    return "{\n" + ",\n".join(items) + "\n}"

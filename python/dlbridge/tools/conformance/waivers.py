# SPDX-License-Identifier: BSD-3-Clause
"""Waivers: violations that a project knows and accepts, read from a file, with their reasons.

The file is JSON, or TOML where tomllib (Python 3.11) or the package tomli is there.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import core
from .results import VIOLATIONS, Applied, Result

KEY = "waivers"  # of the list in the file
LISTED = f"`{core.COMMAND} conformance --rules` lists them"
PARSERS_OF_TOML = ("tomllib", "tomli")


class BadWaivers(ValueError):
    """The file of waivers cannot be used; the text says what is wrong in it."""


@dataclass(frozen=True)
class Waiver:
    """A violation of one rule that does not count."""

    id: str
    reason: str
    strict: bool = True  # a rule that holds in spite of the waiver counts as a failure
    outcome: str | None = None  # the only one that is waived: crash, fail, warn or note


def read(path: Path, rules: Collection[str]) -> list[Waiver]:
    """Reads a file. Raises BadWaivers, also for an id that is not in `rules`."""
    try:
        document = _parse(path)
    except BadWaivers:
        raise
    except (OSError, ValueError) as error:
        raise BadWaivers(f"{path}: {getattr(error, 'strerror', error)}") from None
    except RecursionError:
        raise BadWaivers(f"{path}: its lists or objects are nested too deeply") from None
    if not isinstance(document, dict) or not isinstance(document.get(KEY), list):
        raise BadWaivers(f'{path}: expected a list named "{KEY}" of id and reason')
    waivers: list[Waiver] = []
    for number, row in enumerate(document[KEY], 1):
        try:
            waivers.append(_waiver(row, rules, {each.id for each in waivers}))
        except BadWaivers as error:
            raise BadWaivers(f"{path}: waiver {number}: {error}") from None
    return waivers


def _parse(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".toml":
        return _parser_of_toml().loads(text)
    raise BadWaivers(f"{path}: expected a file named *.json or *.toml")


def _parser_of_toml() -> ModuleType:
    for name in PARSERS_OF_TOML:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise BadWaivers(
        "TOML needs Python 3.11 or newer, or the package tomli; write the waivers as JSON instead"
    )


def _waiver(row: Any, rules: Collection[str], before: Collection[str]) -> Waiver:
    """Checks one row of the file."""
    if not isinstance(row, dict):
        raise BadWaivers(f"expected an object with id and reason; got {row!r}")
    unknown = sorted(row.keys() - {each.name for each in fields(Waiver)})
    if unknown:
        raise BadWaivers(f"unknown key {unknown[0]!r}; there are id, reason, strict and outcome")
    rule, reason = row.get("id"), row.get("reason")
    if not isinstance(rule, str) or rule not in rules:
        raise BadWaivers(f"there is no rule {rule!r}; {LISTED}")
    if rule in before:
        raise BadWaivers(f"{rule} has a waiver already")
    if not isinstance(reason, str) or not reason.strip():
        raise BadWaivers(f"{rule} needs a reason: say why the violation is accepted")
    if not isinstance(row.get("strict", True), bool):
        raise BadWaivers(f"{rule}: strict is true or false; got {row['strict']!r}")
    if row.get("outcome", "fail") not in VIOLATIONS:
        raise BadWaivers(f"{rule}: outcome is {', '.join(VIOLATIONS)}; got {row['outcome']!r}")
    return Waiver(**row)


def apply_waivers(results: Sequence[Result], waivers: Collection[Waiver]) -> list[Result]:
    """Marks the results that have a waiver. One for a rule that was not chosen does nothing."""
    by_rule = {waiver.id: waiver for waiver in waivers}
    return [
        replace(result, waiver=_applied(by_rule[result.id], result))
        if result.id in by_rule
        else result
        for result in results
    ]


def _applied(waiver: Waiver, result: Result) -> Applied:
    if result.outcome == "skip":
        return Applied(waiver.reason, waiver.strict, "unused")
    if result.outcome == "pass":
        return Applied(waiver.reason, waiver.strict, "unexpected pass")
    if waiver.outcome not in (None, result.outcome):
        return Applied(waiver.reason, waiver.strict, "other outcome")
    return Applied(waiver.reason, waiver.strict, "waived")

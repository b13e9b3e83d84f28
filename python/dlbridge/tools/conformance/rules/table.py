# SPDX-License-Identifier: BSD-3-Clause
"""The table of rules in Markdown, which docs/reference/rules.md contains."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from ... import core
from . import RULES, Rule


def table() -> str:
    """Returns one row for each rule: id, kind, expectation, and the sentence it follows from."""
    lines = ["| Rule | Kind | Expectation | Source |", "|---|---|---|---|"]
    for rule in RULES.values():
        lines.append(f"| {rule.id} | {rule.kind} | {_code(rule.text)} | {_source(rule)} |")
    return "\n".join(lines)


def as_json() -> dict[str, Any]:
    """Returns the table as plain values, which --rules --json prints."""
    rows = [rule_as_json(rule) for rule in RULES.values()]
    return {"schema": 1, "dlbridge": core.version(), "rules": rows}


def rule_as_json(rule: Rule) -> dict[str, Any]:
    """Returns a rule as plain values."""
    return {
        "id": rule.id, "kind": rule.kind, "expected": rule.text, "fix": rule.fix,
        "sources": [asdict(text) for text in rule.texts], "remark": rule.remark,
    }  # fmt: skip


def _source(rule: Rule) -> str:
    if not rule.texts:
        return _code(rule.remark)
    text = rule.texts[0]
    sentence = text.sentence.replace("|", "\\|").replace("*", "\\*").replace("`", "")
    return _code(f"{text.document} {text.since}, {text.place}: “{sentence}”")


def _code(text: str) -> str:
    """Puts the names of methods into backticks.

    >>> _code("__dlpack__() returns a capsule.")
    '`__dlpack__()` returns a capsule.'
    """
    return re.sub(r"(?:\w+\.)?__\w+__(\(\))?(\[0\])?", r"`\g<0>`", text)

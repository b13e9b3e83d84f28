# SPDX-License-Identifier: BSD-3-Clause
"""The rules of conformance, with the sentences of the standards that they follow from."""

from __future__ import annotations

from . import additional, consumers, lifetime, producers
from .model import (
    STANDARDS,
    Kind,
    Rule,
    Severity,
    Text,
    severity,
    severity_of_crash,
)

__all__ = [
    "RULES",
    "STANDARDS",
    "Kind",
    "Rule",
    "Severity",
    "Text",
    "severity",
    "severity_of_crash",
]

RULES: dict[str, Rule] = {
    row.id: row for row in (*producers.ROWS, *lifetime.ROWS, *consumers.ROWS, *additional.ROWS)
}

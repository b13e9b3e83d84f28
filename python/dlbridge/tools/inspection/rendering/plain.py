"""The inspection as plain values, which JSON supports; and the observation of such values."""

from __future__ import annotations

import dataclasses
from typing import Any

import dlbridge
from dlbridge.tools.inspection.conclusions.findings import Findings
from dlbridge.tools.inspection.reading.protocols import Response
from dlbridge.tools.inspection.reading.signs import Comparison, Sign
from dlbridge.tools.inspection.reading.subject import Subject

SCHEMA = 1  # raised when a key changes its meaning or disappears


def as_dict(findings: Findings) -> dict[str, Any]:
    """Returns the observation and its conclusions."""
    return {
        "schema": SCHEMA,
        "dlbridge": dlbridge.__version__,
        "title": findings.title,
        "sound": findings.sound,
        "subject": findings.subject.to_dict(),
        "responses": [response.to_dict() for response in findings.responses],
        "keywords": dict(findings.keywords),
        "comparison": findings.comparison.to_dict(),
        "signs": [dataclasses.asdict(each) for each in findings.signs],
        "differences": [dataclasses.asdict(each) for each in findings.differences],
        "oddities": [dataclasses.asdict(each) for each in findings.oddities],
        "verdicts": [dataclasses.asdict(each) for each in findings.verdicts],
    }


def arguments(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the constructor's arguments for the observation in the result of as_dict()."""
    return {
        "subject": Subject.from_dict(values["subject"]),
        "responses": tuple(Response.from_dict(each) for each in values["responses"]),
        "keywords": values["keywords"],
        "title": values["title"],
        "comparison": Comparison.from_dict(values["comparison"]),
        "signs": tuple(Sign.from_dict(each) for each in values["signs"]),
    }

# SPDX-License-Identifier: BSD-3-Clause
"""The report as a badge: the JSON that shields.io reads from an address, its endpoint badge."""

from __future__ import annotations

import json

from ..results import Report


def render(report: Report) -> str:
    """Returns the object: "71 of 76", without skipped rules; a note breaks no standard."""
    message, color = _message(report)
    badge = {"schemaVersion": 1, "label": "DLPack", "message": message, "color": color}
    return json.dumps(badge) + "\n"


def _message(report: Report) -> tuple[str, str]:
    examined = [result for result in report.results if result.outcome != "skip"]
    if not report.complete:
        return "interrupted", "lightgrey"
    if not examined:
        return "not examined", "lightgrey"
    held = sum(result.outcome in ("pass", "note") for result in examined)
    color = "red" if report.status else "brightgreen" if held == len(examined) else "yellow"
    return f"{held} of {len(examined)}", color

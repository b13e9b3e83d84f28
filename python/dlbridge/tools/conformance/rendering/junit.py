# SPDX-License-Identifier: BSD-3-Clause
"""The report as JUnit XML, for Jenkins, GitLab and others that show the results of tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from ... import core
from ..results import Report, Result, cite
from .terminal import remarks_on_waivers

# XML 1.0 has no other control characters, no surrogates, and neither U+FFFE nor U+FFFF.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Returns the document, which is in UTF-8 when it is saved as that."""
    cases = [_case(report, result) for result in report.results]
    totals = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "time": _seconds(sum(result.seconds for result in report.results)),
    }
    root = ET.Element("testsuites", {"name": "dlbridge conformance", **totals})
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    suite = ET.SubElement(
        root,
        "testsuite",
        {"name": _clean(f"DLPack: {report.target}"), **totals, "skipped": skipped},
    )
    versions = {f"version of {name}": version for name, version in report.versions.items()}
    _add_properties(
        suite,
        [
            ("target", report.target),
            ("consumer", report.consumer or "none"),
            ("standard", report.standard or "none"),
            ("complete", str(report.complete).lower()),
            ("dlbridge", core.version()),
            *((name, version or "unknown") for name, version in versions.items()),
        ],
    )
    suite.extend(cases)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def properties(result: Result) -> list[tuple[str, str]]:
    """Returns the properties of a rule's test case: also those that pytest writes."""
    pairs: list[tuple[str, str]] = [
        ("outcome", result.outcome),
        ("kind", result.kind),
        ("severity", result.severity),
    ]
    for source in result.sources:
        pairs += [("document", f"{source.document} {source.since}"), ("place", source.place)]
        pairs.append(("sentence", source.sentence))
    if result.waiver is not None:
        pairs += [("waiver", result.waiver.state), ("waiver reason", result.waiver.reason)]
    return [(name, value) for name, value in pairs if value]


def describe(result: Result) -> str:
    """Returns a violation in full, as several lines; of a rule that holds, what its waiver does."""
    remarks = list(remarks_on_waivers([result]))
    if result.outcome == "pass":  # a strict waiver fails it: nothing is expected or to be repaired
        return "\n".join(remarks)
    lines = [
        f"{result.id}: {result.got}",
        f"  expected: {result.expected}",
        f"  fix: {result.fix}",
        *(f"  source: {cite(source)}" for source in result.sources),
        *(f"  waiver: {remark}" for remark in remarks),
    ]
    return "\n".join(lines)


def _case(report: Report, result: Result) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=_clean(f"dlpack.{report.target}"),
        name=result.id,
        time=_seconds(result.seconds),
    )
    _add_properties(case, properties(result))
    text = describe(result)
    if result.fails and result.outcome == "crash":
        _add(case, "error", text, message=result.got, type="crash")
    elif result.fails:
        message = result.got if result.outcome == "fail" else "the rule holds in spite of a waiver"
        _add(case, "failure", text, message=message, type=result.kind)
    elif result.is_waived and result.waiver is not None:
        _add(case, "skipped", text, message=f"waived: {result.waiver.reason}", type="waived")
    elif result.outcome == "skip":
        _add(case, "skipped", "", message=result.got, type="skip")
    elif result.outcome in ("warn", "note"):
        _add(case, "system-out", f"{result.outcome.upper()} {text}")
    return case


def _add(case: ET.Element, tag: str, text: str, **attributes: str) -> None:
    cleaned = {name: _clean(value) for name, value in attributes.items()}
    ET.SubElement(case, tag, cleaned).text = _clean(text) or None


def _add_properties(parent: ET.Element, pairs: list[tuple[str, str]]) -> None:
    element = ET.SubElement(parent, "properties")
    for name, value in pairs:
        ET.SubElement(element, "property", name=_clean(name), value=_clean(value))


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _clean(text: str) -> str:
    r"""Writes characters that XML cannot have as escapes.

    >>> _clean("\x1b[1m")
    '\\x1b[1m'
    """
    return NOT_IN_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), text)

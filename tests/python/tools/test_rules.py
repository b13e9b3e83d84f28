# SPDX-License-Identifier: BSD-3-Clause
"""The rules of conformance: each has the sentence that it follows from, quoted word for word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dlbridge
from dlbridge.tools.conformance import rules
from dlbridge.tools.conformance.rules import (
    STANDARDS,
    Rule,
    Text,
    severity,
    severity_of_crash,
    texts,
)
from dlbridge.tools.conformance.rules.model import ARRAY_API, Force
from dlbridge.tools.conformance.rules.table import table
from dlbridge.tools.known import DEFECTS

DOCS = Path(__file__).parents[3] / "docs"
TEXTS = {name: text for name, text in vars(texts).items() if isinstance(text, Text)}
REPLACED = {"NULL_STRIDES"}  # the sentence of dlpack.h up to 1.1; 1.2 forbids NULL


def plain(text: str) -> str:
    """Removes comment marks, markup and line ends."""
    without_marks = re.sub(r"(?m)^\s*/?\*+!?", "", text)
    return re.sub(r"\s+", " ", without_marks.replace("`", "").replace("*", "")).strip()


def header() -> str:
    (path,) = Path(dlbridge.get_include()).rglob("dlpack.h")
    return plain(path.read_text())


def test_ids_are_numbered_without_gaps() -> None:
    by_letter = {letter: [each for each in rules.RULES if each[0] == letter] for letter in "PXCS"}
    for letter, ids in by_letter.items():
        assert ids == [f"{letter}-{number:02}" for number in range(1, len(ids) + 1)]
    assert sum(map(len, by_letter.values())) == len(rules.RULES)


@pytest.mark.parametrize("rule", rules.RULES.values(), ids=lambda rule: str(rule.id))
def test_a_rule_is_complete(rule: Rule) -> None:
    assert rule.text.endswith(".")
    assert rule.fix.endswith(".")
    assert rule.texts or rule.kind == "courtesy", "only a courtesy may have no source"


@pytest.mark.parametrize("name", [name for name in TEXTS if TEXTS[name].document == "dlpack.h"])
def test_a_sentence_of_the_header_is_in_the_header(name: str) -> None:
    if name in REPLACED:
        assert plain(TEXTS[name].sentence) not in header()
        return
    for part in TEXTS[name].sentence.split(" ... "):
        assert plain(part) in header()


def test_every_sentence_is_cited() -> None:
    cited = {text for rule in rules.RULES.values() for text in rule.texts}
    cited |= {text for defect in DEFECTS.values() for text in defect.texts}
    assert {name for name, text in TEXTS.items() if text not in cited} == set()


def test_no_sentence_is_of_a_list_of_changes() -> None:
    """What a version added demands nothing; the signature or the description does."""
    changes = re.compile(r"(Added|Changed|Removed|Required|Deprecated) ")
    assert {name for name, text in TEXTS.items() if changes.match(text.sentence)} == set()


def test_dlpack_itself_demands_exports_without_a_copy() -> None:
    for rule in ("P-54", "C-37"):
        documents = {text.document for text in rules.RULES[rule].texts}
        assert documents == {ARRAY_API, "DLPack Python specification"}
    assert severity(rules.RULES["P-54"], None) == "F"


def test_versions_of_the_array_api_are_known() -> None:
    for text in TEXTS.values():
        if text.document == ARRAY_API:
            assert text.since in STANDARDS


def _rule(kind: rules.Kind, *sources: tuple[str, str], force: Force = "must") -> Rule:
    quoted = tuple(Text(document, since, "", "", force) for document, since in sources)
    return Rule("P-99", kind, "", quoted, "")


HEADER, API = ("dlpack.h", "1.0"), (ARRAY_API, "2023.12")


@pytest.mark.parametrize(
    ("rule", "standard", "expected"),
    [
        (_rule("must", HEADER), None, "F"),  # DLPack's own texts bind every library
        (_rule("must", API), None, "W"),  # without a claim the array API is a recommendation
        (_rule("must", API), "2022.12", "N"),  # later than the claim
        (_rule("must", API), "2023.12", "F"),
        (_rule("must", API), "draft", "F"),
        (_rule("must", HEADER, API), "2021.12", "F"),
        (_rule("should", HEADER), None, "W"),
        (_rule("should", API), "2022.12", "N"),
        (_rule("should", API), "2024.12", "W"),
        (_rule("should", HEADER, force="should"), None, "W"),
        (_rule("should", HEADER, force="may"), None, "N"),  # what is permitted may be left
        (_rule("should", HEADER, force="states"), "2025.12", "W"),
        (_rule("unsound", API), None, "F"),
        (_rule("hardening", HEADER), "2025.12", "N"),
        (_rule("courtesy"), "2025.12", "N"),
    ],
)
def test_severity(rule: Rule, standard: str | None, expected: str) -> None:
    assert severity(rule, standard) == expected


def test_a_must_needs_a_sentence_that_demands() -> None:
    label = Text("dlpack.h", "1.0", "", "The device of the tensor", "states")
    assert severity(Rule("P-99", "must", "", (label,), ""), "2025.12") == "N"
    for rule in rules.RULES.values():
        if rule.kind == "must":
            assert "must" in {text.force for text in rule.texts}, rule.id


def test_what_is_free_without_a_claim() -> None:
    demand = Text(ARRAY_API, "2023.12", "", "", "must")
    rule = Rule("P-99", "must", "", (demand,), "", for_claims=True)
    assert [severity(rule, standard) for standard in (None, "2023.12")] == ["N", "F"]


def test_a_failure_needs_a_must_or_an_unsound_behaviour() -> None:
    for rule in rules.RULES.values():
        for standard in (None, *STANDARDS):
            if severity(rule, standard) == "F":
                assert rule.kind in ("must", "unsound")


def test_a_crash_on_permitted_input_is_unsound() -> None:
    for rule in rules.RULES.values():
        expected = rule.crash or ("N" if rule.kind == "hardening" else "F")
        assert severity_of_crash(rule) == expected


def test_the_page_has_the_table_of_rules() -> None:
    assert f"\n{table()}\n" in (DOCS / "reference" / "rules.md").read_text()

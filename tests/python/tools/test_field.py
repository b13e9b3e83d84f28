# SPDX-License-Identifier: BSD-3-Clause
"""The survey in docs/generated: what the generator makes of docs/field, and nothing else."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from dlbridge.tools import known
from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.libraries import LIBRARIES
from dlbridge.tools.matrix import summary, survey

CHECKOUT = Path(__file__).parents[3]
sys.path.insert(0, str(CHECKOUT / "docs"))

from field import (  # noqa: E402 - from the folder docs
    collect,
    data,
    defect_pages,
    faults,
    page,
    rule_pages,
)

DOCS = CHECKOUT / "docs"
PAGES = DOCS / "generated"


@pytest.fixture(scope="module")
def field() -> data.Field:
    return data.load(DOCS / "field")


def files() -> list[Path]:
    return [PAGES / "field.md", *(PAGES / "field").glob("*.md")]


def test_the_pages_are_generated(field: data.Field) -> None:
    text = {
        each.relative_to(PAGES).as_posix(): each.read_text(encoding="utf-8") for each in files()
    }
    assert text == page.pages(field), (
        "the pages are generated from docs/field/*.json; generate them again: "
        "PYTHONPATH=docs python -m field.page docs/field docs/generated"
    )


def test_what_is_saved_is_what_is_loaded(field: data.Field, tmp_path: Path) -> None:
    for part in data.PARTS:
        data.save(tmp_path, part, getattr(field, part))
    assert data.load(tmp_path) == field
    for part in data.PARTS:
        saved = (tmp_path / f"{part}.json").read_text(encoding="utf-8")
        assert saved == (DOCS / "field" / f"{part}.json").read_text(encoding="utf-8")


def test_every_exchange_of_every_pair_is_listed(field: data.Field) -> None:
    cases: list[str] = field.matrix["cases"]
    for pair, exchanges in summary.by_pair(field.matrix).items():
        assert [each["case"] for each in exchanges] == cases, pair


def test_no_fault_of_ours(field: data.Field) -> None:
    assert summary.faults_of_judged(field.matrix) == []


def test_the_tables_are_tables(field: data.Field) -> None:
    """As many cells in each row as in its head, and an empty line behind."""
    lines = "\n".join(page.pages(field).values()).splitlines()
    width = 0
    for number, line in enumerate(lines):
        if not line.startswith("|"):
            assert not width or line == "", f"line {number + 1}: {line}"
            width = 0
            continue
        cells = line.replace(r"\|", "").count("|") - 1
        assert cells == width or not width, f"line {number + 1}: {line}"
        width = cells


def test_nothing_of_a_machine_is_in_it() -> None:
    for file in [*files(), *(DOCS / "field").iterdir()]:
        text = file.read_text(encoding="utf-8")
        for word in ("/home/", "/root/", "/tmp/", "/usr/"):
            assert word not in text, f"{file.name}: {text[text.index(word) :][:80]}"


def result(rule: str, outcome: str, got: str = "") -> dict[str, Any]:
    """A result as `conformance --json` has it."""
    row = RULES[rule]
    sources = [vars(text) for text in row.texts]
    return {
        "id": rule, "kind": row.kind, "severity": "F", "outcome": outcome, "expected": row.text,
        "got": got, "fix": row.fix, "sources": sources,
    }  # fmt: skip


def small(*results: dict[str, Any], exchanges: Any = (), runs: Any = None) -> data.Field:
    """A field of NumPy and PyTorch, in which conformance examined PyTorch."""
    matrix = {
        "dlbridge": "0.1.0",
        "date": "2026-01-01",
        "commit": "0123456789ab",
        "platform": "Linux",
        "by_way_of": {"dask": "numpy"},
        "libraries": {"numpy": "NumPy", "torch": "PyTorch", "dask": "Dask"},
        "cases": ["vector"],
        "environments": [{"name": "here", "libraries": {"numpy": "2.4", "torch": "2.13.0"}}],
        "exchanges": list(exchanges),
    }
    report = {"standard": None, "versions": {"torch": "2.13.0"}, "results": results}
    support = {"numpy": {"versioned": "1.0", "protocol": True}}
    defects = {"date": "2026-01-02", "platform": "Linux", "runs": runs or {}}
    return data.Field(matrix, {"torch": collect.rules_of(report)}, support, defects)


def exchange(consumer: str, outcome: str, **more: Any) -> dict[str, Any]:
    where = {"producer": "numpy", "consumer": consumer, "environment": "here", "case": "vector"}
    return {**where, "outcome": outcome, **more}


def sections(text: str) -> dict[str, str]:
    """The text below each heading."""
    parts = re.split(r"(?m)^#+ (.*)$", text)
    return dict(zip(parts[1::2], parts[2::2]))


def test_a_small_field() -> None:
    fails = {"outcome": "refused", "said": "BufferError: a | b <c>", "whose": "consumer"}
    via = {"outcome": "copied", "how": "from_dlpack(x, copy=True)"}
    torch = {**exchange("torch", "refused"), **fails, "via": via}
    results = [result("C-09", "fail", "ignored"), result("P-05", "pass")]
    field = small(*results, exchanges=[exchange("numpy", "zero-copy"), torch])
    pages = page.pages(field)
    text = "\n".join(pages.values())
    assert "| **numpy** | ● | ⊘1 |" in text
    assert "refused: BufferError: a \\| b &lt;c>" in pages["field/failures.md"]
    assert "**1 of 1** failing exchanges, of 1 pairs, work" in text
    assert "| numpy | torch | vector | `from_dlpack(x, copy=True)`, copied |" in text
    assert "- C-09: byte\\_offset is not ignored. *Seen:* ignored *dlpack.h 0.7" in text
    assert json.dumps(field.matrix)


def test_each_violation_is_stored_with_its_kind_and_sentence() -> None:
    stored = small(result("C-09", "fail", "x"), result("P-05", "pass")).conformance["torch"]
    assert stored["standard"] is None
    assert stored["rules"]["P-05"] == {"outcome": "pass", "kind": "should"}
    assert stored["rules"]["C-09"]["kind"] == "unsound"
    sentences = [each["sentence"] for each in stored["rules"]["C-09"]["sources"]]
    assert sentences == [text.sentence for text in RULES["C-09"].texts]


def test_violations_are_counted_by_kind() -> None:
    field = small(
        result("P-39", "fail", "flags 0"),  # a must
        result("C-10", "crash", "SIGABRT"),  # unsound
        result("C-15", "crash", "SIGABRT"),  # a crash on permitted input is unsound
        result("P-02", "warn", "(1, None)"),  # a must of the array API, which it does not claim
        result("C-11", "note", "accepted"),
        result("P-14", "note", "at 4"),
        result("P-01", "pass"),
        result("P-27", "skip", "no other device"),
    )
    text = "\n".join(rule_pages.conformance_section(field))
    assert "| Library | Claims | breaks a must | unsound | differs from a should |" in text
    assert "| PyTorch | none | 1 | 2 | 1 | 1 | 1 | 1 | 1 |" in text
    features = "\n".join(rule_pages.features(field))
    assert "marks copies (P-39)" in features and "✗" in features


def test_hardening_and_courtesy_are_folded_away() -> None:
    field = small(result("C-12", "fail", "read as f4"), result("C-11", "note", "accepted"))
    parts = sections("\n".join(rule_pages.faults_section(field)))
    assert "read as f4" in parts["Breaks a must, or is unsound"]
    folded = parts["Hardening and courtesy"]
    assert folded.strip().startswith("<details><summary>1, none of them a breach")
    assert "accepted" in folded and "accepted" not in parts["Breaks a must, or is unsound"]
    rules = "\n".join(rule_pages.rules(field))
    assert rules.index("C-12") < rules.index("<details>") < rules.index("C-11")


def test_one_cause_is_one_row() -> None:
    """The program, two rules and the exchanges of one known defect are one fault."""
    row = known.DEFECTS["torch-negative-strides"]
    said = "Storage size calculation overflowed"
    crashed = exchange("torch", "crashed", said=said, whose="consumer")
    field = small(
        result("C-36", "crash", "SIGABRT"),
        result("C-12", "fail", "the same words"),
        result("C-30", "fail", "the same words"),
        exchanges=[{**crashed, "case": "backwards"}, crashed],
        runs={row.id: {"version": "2.13.0", "reproduced": True, "shows": "SIGABRT"}},
    )
    found = faults.of(field)
    assert [(each.defect, each.rules, each.exchanges) for each in found] == [
        (row.id, ("C-36",), 2),
        (None, ("C-12", "C-30"), 0),
    ]
    text = "\n".join(rule_pages.faults_section(field))
    assert text.count(row.what) == 1
    assert f"C-36, 2 exchanges | [{row.id}](defects/torch.md#{row.id}) |" in text
    assert "`dlbridge conformance torch --only C-12 --only C-30`" in text


def test_a_defect_that_its_program_no_longer_shows_is_no_fault() -> None:
    for runs in ({}, {"torch-copy-not-marked": {"reproduced": False}}):
        assert faults.of(small(runs=runs)) == []


def test_permitted_behaviour_is_no_fault() -> None:
    runs = {"torch-read-only": {"version": "2.13.0", "reproduced": True}}
    text = "the read-only mark is lost: writing to its array changes the source"
    lost = exchange("torch", "writable", case="read-only", whose="consumer", said=text)
    field = small(exchanges=[lost], runs=runs)
    assert faults.of(field) == []
    listed = sections(page.pages(field)["field/failures.md"])["Lost without an error"]
    assert "| PyTorch | consumer | writable: PyTorch has no read-only tensors" in listed
    assert "torch-read-only" in listed and "violates no rule" in listed


def test_what_passes_by_way_of_another_library_is_not_counted() -> None:
    wrong = exchange("dask", "wrong", said="arrives as [1.0]", whose="consumer")
    field = small(exchanges=[exchange("numpy", "zero-copy"), wrong])
    field.conformance["dask"] = field.conformance["torch"]
    assert faults.of(field) == []
    text = page.pages(field)["field.md"]
    assert "Dask is not a row here: its arrays are NumPy's." in text
    assert "1 exchanges of 1 kinds of array" in text
    assert "dask" not in "\n".join(rule_pages.conformance_section(field)).lower()


def test_a_crash_that_nothing_explains_is_listed() -> None:
    said = "SIGSEGV while PyTorch imported it"
    field = small(exchanges=[exchange("torch", "crashed", said=said, whose="consumer")])
    (fault,) = faults.of(field)
    assert (fault.kind, fault.text, fault.seen) == ("unsound", "Crashed as consumer: vector.", said)


def test_a_library_that_cannot_be_examined() -> None:
    """The reason is the last line of the tool, and no row of zeros."""
    here = survey.Environment("here", sys.executable)
    failed = collect.conformance(here, "nosuchmodule")
    assert "nosuchmodule" in failed["failed"] and failed["rules"] == {}
    field = small()
    field.conformance["jax"] = failed
    text = "\n".join(rule_pages.conformance_section(field))
    assert "JAX could not be examined: " in text and "| JAX |" not in text


def test_every_fault_says_how_to_see_it_and_how_to_object(field: data.Field) -> None:
    text = " ".join(page.pages(field)["field.md"].split())
    assert "## How to object" in text and "open an issue with the id of the rule" in text
    for fault in faults.of(field):
        assert fault.rules or fault.defect or fault.exchanges
        assert fault.texts or fault.kind in ("outside", "permitted") or fault.exchanges


def test_every_feature_is_a_rule() -> None:
    for columns in rule_pages.FEATURES.values():
        assert set(columns.values()) <= set(RULES)


def test_the_programs_of_the_defects_are_collected() -> None:
    """In an environment that has the library, the program runs there."""
    here = survey.examine_environment("here", sys.executable, list(LIBRARIES))
    collected = collect.defects([here], 1, lambda now: None, known.of("numpy"))
    assert set(collected["runs"]) == {row.id for row in known.of("numpy")}
    version = known.installed("numpy")
    run = collected["runs"]["numpy-no-memory"]
    assert run["version"] == version
    assert run["reproduced"] == known.DEFECTS["numpy-no-memory"].is_in(str(version))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", collected["date"])


def test_what_newer_releases_changed() -> None:
    """Repaired, still there, new, and nothing: by the versions of the table alone."""
    examined = {
        "torch-negative-strides": "2.13.0",
        "numpy-no-memory": "2.4.6",
        "torch-negative-bit": "2.12.0",
        "torch-copy-not-marked": "2.13.0",
        "torch-huge-shape": "2.14.0",
    }
    runs = {
        name: {"version": version, "reproduced": True, "shows": ""}
        for name, version in examined.items()
    }
    part = sections(page.pages(small(runs=runs))["field.md"])["Since then"]
    rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| ")][1:]
    then = {re.findall(r"\[(.*?)\]", row[2])[0]: (row[3], row[4]) for row in rows}
    assert {name: text for name, (text, _) in then.items()} == {
        "numpy-no-memory": "still in 2.5.5",
        "torch-negative-strides": "repaired in 2.14.0",
        "torch-negative-bit": "new in 2.13.0",
    }
    reported = then["torch-negative-strides"][1]
    assert "[pytorch/pytorch#188023](https://github.com/pytorch/pytorch/issues/188023)" in reported


def test_the_runs_are_those_of_known_defects(field: data.Field) -> None:
    assert set(field.defects["runs"]) <= set(known.DEFECTS)
    assert defect_pages.load(DOCS) == field.defects

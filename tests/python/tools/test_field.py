"""docs/field.md and its details: what the generator makes of docs/field, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dlbridge.tools.field import data, page
from dlbridge.tools.matrix import summary

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def field() -> data.Field:
    return data.load(DOCS / "field")


def files() -> list[Path]:
    return [DOCS / "field.md", *(DOCS / page.FOLDER).glob("*.md")]


def test_the_pages_are_generated(field: data.Field) -> None:
    text = {each.relative_to(DOCS).as_posix(): each.read_text(encoding="utf-8") for each in files()}
    assert text == page.pages(field), (
        "the pages are generated from docs/field/*.json; generate them again: "
        "python -m dlbridge.tools.field.page docs/field docs/field.md"
    )


def test_what_is_saved_is_what_is_loaded(field: data.Field, tmp_path: Path) -> None:
    for part in ("matrix", "conformance", "support"):
        data.save(tmp_path, part, getattr(field, part))
    assert data.load(tmp_path) == field
    for part in ("matrix", "conformance", "support"):
        saved = (tmp_path / f"{part}.json").read_text(encoding="utf-8")
        assert saved == (DOCS / "field" / f"{part}.json").read_text(encoding="utf-8")


def test_every_exchange_of_every_pair_is_listed(field: data.Field) -> None:
    cases: list[str] = field.matrix["cases"]
    for pair, exchanges in summary.by_pair(field.matrix).items():
        assert [each["case"] for each in exchanges] == cases, pair


def test_no_fault_of_ours(field: data.Field) -> None:
    assert summary.faults_of_ours(field.matrix) == []


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


def test_a_small_field(tmp_path: Path) -> None:
    exchange: dict[str, Any] = {"producer": "numpy", "environment": "here", "case": "vector"}
    numpy = {**exchange, "consumer": "numpy", "outcome": "zero-copy"}
    fails = {"outcome": "refused", "said": "BufferError: a | b <c>", "whose": "consumer"}
    via = {"outcome": "copied", "how": "from_dlpack(x, copy=True)"}
    torch = {**exchange, "consumer": "torch", **fails, "via": via}
    matrix = {
        "dlbridge": "0.1.0",
        "date": "2026-01-01",
        "platform": "Linux",
        "libraries": {"numpy": "NumPy", "torch": "PyTorch"},
        "cases": ["vector"],
        "environments": [{"name": "here", "libraries": {"numpy": "2.4", "torch": "2.13"}}],
        "exchanges": [numpy, torch],
    }
    rules = {"C-09": {"outcome": "fail", "got": "ignored"}, "P-05": {"outcome": "pass"}}
    conformance = {"torch": {"versions": {"torch": "2.13"}, "rules": rules}}
    pages = page.pages(data.Field(matrix, conformance, {"numpy": {"versioned": "1.0"}}))
    text = "\n".join(pages.values())
    assert "| **numpy** | ● | ⊘1 |" in text
    assert "refused by torch: BufferError: a \\| b &lt;c>" in text
    assert "**1 of 1** failing exchanges, of 1 pairs, work" in text
    assert "| numpy | torch | vector | `from_dlpack(x, copy=True)`, copied |" in text
    assert "C-09: byte_offset is added to data. *Seen:* ignored" in text
    assert json.dumps(matrix)

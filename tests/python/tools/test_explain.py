# SPDX-License-Identifier: BSD-3-Clause
"""explain: rules, known defects and reasons of refusals, each from its one table."""

from __future__ import annotations

import argparse
import email.message
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dlbridge.tools import core, explain, known
from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.known.defect import helper
from dlbridge.tools.reasons import REASONS

ROOT = Path(__file__).parents[3]


def options_of(name: str | None) -> argparse.Namespace:
    return argparse.Namespace(id=name, json=False, report=False)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dlbridge", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def row_of_the_page(line: str) -> list[str]:
    """The cells of a row of a table, without markup and without references to other pages."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r": \[[^]]*\]\([^)]*\)(?= \|)", "", line))
    return [cell.strip() for cell in text.replace("`", "").strip("|\n ").split(" | ")]


def test_the_page_of_errors_has_the_words_of_the_table() -> None:
    page = ROOT / "docs" / "reference" / "errors.md"
    lines = [each for each in page.read_text(encoding="utf-8").splitlines() if "| `" in each[:3]]
    rows = [[row.id, row.when, row.exception, row.remedy] for row in REASONS.values()]
    cells = [row_of_the_page(line) for line in lines]
    assert [[a, b, c.partition(",")[0], d] for a, b, c, d in cells] == rows


def test_the_reasons_are_those_of_the_header() -> None:
    header = (ROOT / "include" / "dlbridge" / "error.hpp").read_text(encoding="utf-8")
    classes = dict(re.findall(r"^  (\w+),?\s+///< .*: (\w+)", header, re.MULTILINE))
    rows = re.findall(r'\{errc::(\w+), "\w+", "[^"]*",\s+error_kind::(\w+)\}', header)
    expected = [(name, classes[kind]) for name, kind in rows]
    assert [(row.id, row.exception) for row in REASONS.values()] == expected


@pytest.mark.parametrize("name", explain.ENTRIES)
def test_everything_has_an_explanation(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sentence of a standard is quoted with its version, and the page exists."""
    monkeypatch.setattr(core, "documentation", lambda: "docs")
    assert explain.run(options_of(name)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{name}, a ")
    _, rows = explain.explanation(name)
    texts = [value for key, value in rows if key == "text"]
    assert len(texts) == len(explain.ENTRIES[name].texts)
    assert all(re.search(r", since [\d.]+: “.+”$", text) for text in texts)
    page = dict(rows)["more"]
    assert (ROOT / page).is_file() and name in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("urls", "address"),
    [
        (["Source, https://s", "Documentation, https://d.example/docs/"], "https://d.example/docs"),
        (["Documentation, https://repository.invalid/dlbridge"], None),
        (["Documentation, https://repository.invalid"], None),
        (["Source, https://s"], None),
        (None, None),
    ],
)
def test_a_page_is_named_only_where_its_address_is_known(
    urls: list[str] | None, address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = email.message.Message()
    for each in urls or ():
        metadata["Project-URL"] = each
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: metadata)
    assert core.documentation() == address
    more = dict(explain.explanation("P-16")[1]).get("more")
    assert more == (address and f"{address}/reference/rules.md")


def test_names_are_unique_and_accepted_in_other_spellings() -> None:
    assert len(explain._IDS) == len(explain.ENTRIES) == len({*RULES, *known.DEFECTS, *REASONS})
    for written, name in (("p-16", "P-16"), ("dlbridge::errc::read_only", "read_only")):
        assert explain._id(written) == name
    assert explain._id("TVM-FFI-any_version") == "tvm_ffi-any-version"


@pytest.mark.parametrize(
    ("written", "near"),
    [("torch-readonly", "torch-read-only"), ("P-99", "P-"), ("dtype", "dtype_mismatch")],
)
def test_an_unknown_identifier_is_refused_with_near_ones(written: str, near: str) -> None:
    process = run(written)
    assert (process.returncode, process.stdout) == (2, "")
    assert f"nothing has the identifier '{written}'; did you mean {near}" in process.stderr


def test_without_an_identifier_it_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(options_of(None)) == 0
    words = capsys.readouterr().out.split()
    assert {*explain.ENTRIES} <= {*words}
    values = json.loads(run("--json").stdout)
    assert values.pop("schema") == 1
    assert [name for rows in values.values() for name in rows] == list(explain.ENTRIES)


def test_a_rule_names_the_defects_that_break_it() -> None:
    assert "torch-copy-not-marked" in dict(explain.explanation("P-39")[1])["broken by"]
    assert "P-39" in dict(explain.explanation("torch-copy-not-marked")[1])["found by"]


def test_json() -> None:
    rule, reason = (json.loads(run(name, "--json").stdout) for name in ("P-16", "read_only"))
    assert (rule["schema"], rule["id"], rule["fix"]) == (1, "P-16", RULES["P-16"].fix)
    assert reason["texts"][0]["since"] == "1.0" and reason["exception"] == "BufferError"
    values = json.loads(run("torch-freed-twice", "--json").stdout)
    row = known.DEFECTS["torch-freed-twice"]
    assert (values["schema"], values["id"]) == (1, row.id)
    keys = ("seen_in", "since", "fixed_in", "upstream")
    assert [values[key] for key in keys] == [row.seen, row.since, row.fixed_in, row.upstream]
    assert values["program"] == row.program
    assert values["helper"] == helper() and "ctypes_tensors" in row.program
    assert json.loads(run("warp-destructor", "--json").stdout)["helper"] == ""
    assert [each["sentence"] for each in values["texts"]] == [text.sentence for text in row.texts]


def test_one_defect_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(options_of("torch-read-only")) == 0
    output = capsys.readouterr().out
    assert "\n    import numpy, torch\n    x = numpy.zeros(3)\n" in output
    assert "shows     The program prints `it now holds 9.0`." in output


def words_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert explain.run(options_of(name)) == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_kind_of_a_defect_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of("torch-freed-twice", capsys)
    assert "kind Hardening expected The input breaks a standard, so this is a request" in words
    assert "expected A standard demands something else: text" in words_of("mlx-any-version", capsys)


def test_a_defect_names_the_module_that_its_program_imports(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "imports ctypes_tensors.py: the key helper of --json" in words_of(
        "torch-freed-twice", capsys
    )
    assert "ctypes_tensors" not in words_of("warp-destructor", capsys)
    text = run("torch-freed-twice", "--json").stdout
    (tmp_path / "ctypes_tensors.py").write_text(json.loads(text)["helper"])
    command = [sys.executable, "-S", "-c", "import ctypes_tensors; print(ctypes_tensors.freed)"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True) == "[]\n"


def test_one_defect_says_in_which_release_it_was_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "seen in 2.12.1 to 2.13.0 fixed in 2.14.0" in words_of("torch-negative-strides", capsys)
    assert "fixed in not known as of 2.13.0" in words_of("torch-copy-not-marked", capsys)

# SPDX-License-Identifier: BSD-3-Clause
"""The known defects are exactly those of the installed libraries."""

from __future__ import annotations

import ast
import doctest
import os
import platform
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path
from typing import get_args

import pytest

import dlbridge
from dlbridge.tools import abi, known, versions
from dlbridge.tools.conformance.rules import RULES, Text, severity_of_crash, texts
from dlbridge.tools.conformance.rules.model import ARRAY_API
from dlbridge.tools.known import report as reports
from dlbridge.tools.known.defect import FIELDS, RunResult, helper, write_helper
from dlbridge.tools.known.report import NothingToReport, link, refusal, report, report_here
from dlbridge.tools.libraries import LIBRARIES, Library
from dlbridge.tools.structs import STRUCTS, DataType, Tensor

sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))

from field import defect_pages as page

HERE = [each for each in known.DEFECTS.values() if known.installed(each.library)]
FINE = 'print("fine")'


@pytest.fixture
def ctypes_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes the helper module importable."""
    write_helper(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ctypes_tensors", raising=False)
    return tmp_path


@pytest.mark.parametrize("defect", HERE, ids=lambda defect: defect.id)
def test_the_program_reproduces_it_in_the_listed_versions(defect: known.Defect) -> None:
    version = known.installed(defect.library)
    assert version is not None
    run = known.run(defect.program)
    # Of a newer version the table states that it has the defect, or in which release it was fixed.
    states = {"present"} if defect.is_reproduced_by(run) else {"fixed"}
    states |= set() if versions.reaches(version, defect.since) else {"unknown"}
    assert defect.state_in(version) in states, (
        f"{defect.library} {version}: the table lists {defect.seen_in}, and expects "
        f"{defect.shows!r}; the program shows {run}\n{run.noise}"
    )


def test_an_invalid_access_may_end_in_several_signals() -> None:
    """A call of freed code has ended Warp by SIGSEGV, SIGILL and SIGTRAP, and has looped."""
    wild, aborts = known.DEFECTS["warp-after-exit"], known.DEFECTS["torch-negative-strides"]
    ends = {
        name: known.run(f"import os, signal; os.kill(os.getpid(), signal.{name})")
        for name in ("SIGSEGV", "SIGTRAP", "SIGILL", "SIGFPE", "SIGABRT", "SIGALRM", "SIGTERM")
    }
    assert [name for name, end in ends.items() if not wild.is_reproduced_by(end)] == ["SIGTERM"]
    assert [name for name, end in ends.items() if aborts.is_reproduced_by(end)] == ["SIGABRT"]
    assert not wild.is_reproduced_by(known.run(FINE))


@pytest.mark.parametrize("defect", HERE, ids=lambda defect: defect.id)
def test_the_remedy_helps(defect: known.Defect) -> None:
    version = known.installed(defect.library)
    if version is not None and defect.is_in(version) and defect.works:
        run = known.run(f"{defect.works}\n{FINE}")
        assert (run.ended, run.line) == ("", "fine"), run.noise


@pytest.mark.parametrize("defect", known.DEFECTS.values(), ids=lambda defect: defect.id)
def test_a_defect_is_complete(defect: known.Defect) -> None:
    assert known.DEFECTS[defect.id] is defect
    assert defect.id.startswith(f"{defect.library}-")
    for sentence in (defect.what, defect.breaks, defect.remedy):
        assert sentence.endswith(".")
    assert all(each in RULES or each == "inspect" for each in defect.found_by)
    imports = {
        name.name.partition(".")[0]
        for node in ast.walk(ast.parse(defect.program))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert "dlbridge" not in imports
    if defect.works:
        assert "dlbridge" in defect.works
        compile(defect.works, defect.id, "exec")
    for each in (defect.since, defect.last):
        assert defect.is_in(each) and defect in known.of(defect.library, each)
    assert not defect.is_in("0") and not defect.is_in("9999")
    assert not defect.fixed_in or not versions.reaches(defect.last, defect.fixed_in)
    repository = re.escape(LIBRARIES[defect.library].repository)
    address = rf"https://github\.com/{repository}/(issues|pull)/\d+"
    assert repository and (not defect.upstream or re.fullmatch(address, defect.upstream))


@pytest.mark.parametrize(
    "version, state",
    [
        ("2.12.0", "unknown"),  # before the first version that has shown it
        ("2.12.1", "present"),
        ("2.13.0+cpu", "present"),
        ("2.13.1", "unknown"),
        ("2.14.0.dev20260801", "unknown"),  # it may be older than the repair
        ("2.14.0rc1", "unknown"),
        ("2.14.0", "fixed"),
        ("2.15.0+cu130", "fixed"),
        ("unknown", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_state_of_a_defect(version: str, state: known.State) -> None:
    row = known.DEFECTS["torch-negative-strides"]
    assert (row.since, row.fixed_in, row.state_in(version)) == ("2.12.1", "2.14.0", state)
    for each in get_args(known.State):
        assert (row in known.of("torch", version, each)) == (each == state)


def test_no_version_is_known_to_be_without_a_defect_that_no_release_fixed() -> None:
    row = known.DEFECTS["torch-copy-not-marked"]
    assert (row.fixed_in, row.seen_in) == ("", "2.13.0; not known to be fixed")
    assert [row.state_in(each) for each in ("2.13.0", "2.15.0")] == ["present", "unknown"]


@pytest.mark.parametrize("defect", known.DEFECTS.values(), ids=lambda defect: defect.id)
def test_the_kind_of_a_defect_follows_from_the_text(defect: known.Defect) -> None:
    """A must cites a sentence with "must", and its rule is one; permitted behaviour says why."""
    if defect.kind == "must":
        assert any("must" in text.sentence for text in defect.texts)
    if defect.kind not in ("outside", "permitted"):
        assert defect.texts
    if defect.kind in ("outside", "permitted"):
        assert defect.remark
    rules = [RULES[rule] for rule in defect.found_by if rule in RULES]
    ranks = {"unsound": 3, "must": 3, "should": 2, "hardening": 1, "outside": 1, "permitted": 0}
    of_rule = {"unsound": 3, "must": 3, "should": 2, "hardening": 1, "courtesy": 0}
    for rule in rules:
        crashes = defect.outcome == "crash" and severity_of_crash(rule) == "F"
        assert ranks[defect.kind] <= (3 if crashes else of_rule[rule.kind]), rule.id


def test_what_the_array_api_demands_only_binds_a_library_that_claims_it() -> None:
    unclaimed = known.DEFECTS["mlx-exception-lost"]
    assert (unclaimed.kind, unclaimed.is_unclaimed) == ("should", True)
    assert "does not claim the array API" in report(unclaimed)
    for row in known.DEFECTS.values():
        if row.kind == "must" and all(text.document == ARRAY_API for text in row.texts):
            assert row.library in ("numpy", "jax", "dpctl", "dpnp")  # which claim it


@pytest.mark.parametrize("name", ["torch-read-only", "paddle-read-only", "tvm_ffi-read-only"])
def test_nothing_permitted_is_a_defect(name: str) -> None:
    row = known.DEFECTS[name]
    assert not row.is_fault
    with pytest.raises(NothingToReport, match="no sentence of a standard forbids it"):
        report(row)


@pytest.mark.parametrize(
    "name, why",
    [
        ("torch-negative-strides", r"PyTorch 2\.14\.0 fixed it \(https://.*/188023\): upgrade"),
        ("dpctl-byte-offset", r"dpctl 0\.22\.1 fixed it: upgrade"),
        ("warp-byte-offset", r"reported already.*https://github\.com/NVIDIA/warp/pull/1573$"),
        ("mxnet-bool", r"MXNet was retired in 2023"),
    ],
)
def test_no_report_is_a_duplicate_or_comes_too_late(name: str, why: str) -> None:
    for write in (report, report_here):
        with pytest.raises(NothingToReport, match=rf"{name}: .*{why}"):
            write(known.DEFECTS[name])


def test_only_what_the_installed_version_shows_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    row = known.DEFECTS["torch-copy-not-marked"]
    shown = RunResult("", row.shows, "")
    monkeypatch.setattr("dlbridge.tools.known.report.run", lambda program: shown)
    monkeypatch.setattr(Library, "version", "2.13.0")
    monkeypatch.setattr(Library, "importable", True)
    assert report_here(row) == report(row)
    shown = RunResult("", "flags 2", "")
    with pytest.raises(NothingToReport, match=r"PyTorch 2\.13\.0 does not show it here.*flags 2"):
        report_here(row)
    monkeypatch.setattr(Library, "importable", False)
    with pytest.raises(NothingToReport, match=r"install PyTorch 2\.13\.0"):
        report_here(row)


def test_a_report_can_be_filed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "version", "2.13.0+cpu")
    text = report(known.DEFECTS["torch-copy-not-marked"])
    assert text.startswith("# __dlpack__: A requested copy is not marked IS_COPIED\n")
    assert "\nExpected: Set flag 2 in the versioned struct of every copy" in text
    assert text.count("A requested copy is not marked IS_COPIED") == 1
    for line in (
        f"- System: {platform.platform()}",
        f"- Python: CPython {platform.python_version()}",
        "- PyTorch: 2.13.0+cpu",
        "- Seen in: PyTorch 2.13.0",
        f"- Found with: dlbridge {dlbridge.__version__}; "
        "`dlbridge conformance torch --only P-39` checks it",
    ):
        assert line in text.splitlines()
    assert "must set the DLPACK_FLAG_BITMASK_IS_COPIED bit flag." in text
    assert "since 1.0](https://github.com/dmlc/dlpack/blob/v1.0/docs/source/python_spec.rst" in text
    assert "The program prints `flags 0`." in text
    assert "https://github.com/pytorch/pytorch/issues?q=is%3Aissue+dlpack+copy+not+marked" in text
    assert "dlbridge" not in text.partition("## Versions")[0]


def test_a_report_says_why_the_array_api_binds_the_library() -> None:
    row = known.DEFECTS["jax-copy-not-made"]
    text = report(row, "2024.12")
    assert "JAX claims array API 2024.12, by the `__array_api_version__` of its namespace." in text
    assert "https://data-apis.org/array-api/2024.12/API_specification/generated/" in text
    assert "data-apis.org/array-api/2023.12" not in text and "claims" not in report(row)


def test_a_title_names_the_function_and_the_fact() -> None:
    titles = {name: reports.title(row) for name, row in known.DEFECTS.items()}
    assert titles["tvm_ffi-any-version"] == (
        "from_dlpack accepts DLManagedTensorVersioned of major version 2"
    )
    assert titles["jax-legacy-only"] == "__dlpack__ exports a legacy capsule for every max_version"
    names = r"_dlpack|DLPackExchangeAPI|StridedMemoryView|nb::ndarray"
    assert all(re.search(names, each) for each in titles.values())
    assert not any("It " in each or "Its exchange" in each for each in titles.values())


def test_the_fields_that_programs_change_are_where_the_structs_have_them() -> None:
    versioned, legacy = STRUCTS["dltensor_versioned"], STRUCTS["dltensor"]
    offsets = {field: offset for field, (_, _, offset) in FIELDS.items()}
    assert offsets == {
        "version": versioned.version.offset,
        "data": legacy.tensor.offset + Tensor.data.offset,
        "data of a versioned tensor": versioned.tensor.offset + Tensor.data.offset,
        "device": Tensor.device.offset,
        "ndim": Tensor.ndim.offset,
        "lanes": Tensor.dtype.offset + DataType.lanes.offset,
        "byte_offset": Tensor.byte_offset.offset,
        "deleter": legacy.deleter.offset,
    }


def test_a_program_that_needs_the_helper_brings_it() -> None:
    assert helper().rstrip() in report(known.DEFECTS["torch-freed-twice"])
    assert "ctypes_tensors" not in report(known.DEFECTS["torch-negative-bit"])


@pytest.mark.parametrize(
    "name", [name for name, each in vars(texts).items() if isinstance(each, Text)]
)
def test_every_sentence_has_a_link_to_its_words(name: str) -> None:
    text = getattr(texts, name)
    address, _, words = link(text).partition("#:~:text=")
    assert urllib.parse.unquote(words) in text.sentence
    since = "2022.12" if text.since == "2021.12" else text.since
    assert f"/{since}/" in address or f"/v{since}/" in address


@pytest.mark.parametrize(
    "defect",
    [each for each in known.DEFECTS.values() if not refusal(each)],
    ids=lambda defect: defect.id,
)
def test_every_other_defect_has_a_report(defect: known.Defect) -> None:
    text = report(defect)
    assert defect.program in text
    sentences = re.findall(r"(?m)^[A-Z][^.\n]{30,}\.(?=$| )", text.partition("## Versions")[0])
    assert len(set(sentences)) == len(sentences)
    assert defect.what.rstrip(".").removeprefix("It ") in text
    assert all(each.sentence in text and link(each) in text for each in defect.texts)


def test_explain_prints_the_report() -> None:
    command = [sys.executable, "-m", "dlbridge", "explain", "--report"]
    for more, message in (
        ([], "--report requires the ID of a known defect"),
        (["torch-read-only"], "no sentence of a standard forbids it"),
        (["warp-byte-offset"], "https://github.com/NVIDIA/warp/pull/1573"),
    ):
        process = subprocess.run([*command, *more], capture_output=True, text=True)
        assert (process.returncode, process.stdout) == (2, "")
        assert message in process.stderr


@pytest.mark.skipif(not known.installed("numpy"), reason="NumPy shows the defect")
def test_explain_runs_the_program_before_it_prints_the_report() -> None:
    command = [sys.executable, "-m", "dlbridge", "explain", "--report"]
    arguments = [*command, "numpy-no-memory"]
    process = subprocess.run(arguments, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.strip() == report(known.DEFECTS["numpy-no-memory"]).strip()


def test_a_page_groups_by_kind_and_folds_hardening_away() -> None:
    text = page.library_page("torch", known.of("torch"), {})
    headings = re.findall(r"(?m)^## (.*)", text)
    assert headings == [
        *("Unsound", "Breaks a must", "Differs from a should", "Hardening", "Worth knowing")
    ]
    folded = text.partition("<details>")[2].partition("</details>")[0]
    assert "### torch-huge-shape" in folded and "### torch-negative-strides" not in folded
    assert "since 1.0: “When a copy is made, the producer must set" in text


def test_a_page_says_when_a_program_was_run_last() -> None:
    row = known.DEFECTS["torch-copy-not-marked"]
    run = {"version": "2.13.0+cpu", "shows": "'flags 0'", "reproduced": True}
    runs = {"date": "2026-11-22", "runs": {row.id: run}}
    text = page.library_page("torch", [row], runs)
    versions = "PyTorch 2.13.0; not known to be fixed"
    assert f"- *Versions:* {versions}. Shown by PyTorch 2.13.0+cpu on 2026-11-22." in text
    assert "Not run lately" in page.library_page("torch", [row], {})


def test_no_row_is_there_twice() -> None:
    assert len(known.DEFECTS) == len(known.rows.ROWS)


def test_versions() -> None:
    assert not doctest.testmod(versions).failed and not doctest.testmod(reports).failed
    assert versions.contains("2.1 to 2.4.6", "2.1.0")
    assert not versions.contains("2.1 to 2.4.6", "2.1rc1")
    assert not versions.contains("2.1 to 2.4.6", "2.4.6.post1")
    assert versions.contains("1.0, 3.0.post2", "3.0.post2")
    assert versions.reaches("2.14", "2.14.0") and versions.reaches("2.14.0.post1", "2.14.0")
    assert not versions.reaches("2.14.0a0+git12", "2.14.0")
    assert not versions.reaches("unknown", "1.0") and not versions.reaches("1.0", "")
    assert not versions.contains("1.0", "unknown")
    with pytest.raises(ValueError, match=r"expected versions"):
        versions.contains("newest", "1.0")


def test_programs_that_fail() -> None:
    assert known.run("import os; print(3); os.abort()").ended == "SIGABRT"
    assert known.run("raise SystemExit(3)").ended == "exit status 3"
    assert known.run("print(1); print('last ')").line == "last"
    run = known.run("raise ValueError('here')")
    assert (run.ended, run.line) == ("exit status 1", "")
    assert "here" in run.noise


def test_a_program_finds_the_driver_of_its_environment(tmp_path: Path) -> None:
    """pip installs the CPU's OpenCL driver where only a variable shows it."""
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "lib").mkdir()
    (environment / "lib" / "libintelocl.so").touch()
    python = environment / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    program = "import os; print(os.environ.get('OCL_ICD_FILENAMES', 'none'))"
    driver = str(environment / "lib" / "libintelocl.so")
    assert known.run(program, python=str(python)).line == os.environ.get(
        "OCL_ICD_FILENAMES", driver
    )


def test_capsules_of_the_helper(ctypes_tensors: Path) -> None:
    import ctypes_tensors as hand  # type: ignore[import-not-found,unused-ignore]

    capsule = hand.capsule((2, 3), (3, 1), (0, 16, 2), (2, 1), 8, version=(1, 1), flags=3)
    contents = abi.read(capsule)
    assert (contents.shape, contents.strides, contents.byte_offset) == ((2, 3), (3, 1), 8)
    assert (contents.dtype, contents.device) == ((0, 16, 2), (2, 1))
    assert (contents.version, contents.flags) == ((1, 1), 3)
    assert contents.data == hand.contents(capsule).tensor.data
    tensor = dlbridge.from_dlpack(hand.Producer(byte_offset=16, legacy=True))
    assert tensor.version is None
    assert memoryview(tensor).tolist() == [4, 5, 6, 7]
    del capsule, tensor
    assert len(hand.freed) == 2


def test_the_pages_are_the_table() -> None:
    docs = Path(__file__).resolve().parents[3] / "docs"
    files = [
        docs / "generated" / page.INDEX,
        *(each for each in (docs / "generated" / page.FOLDER).iterdir() if each.is_file()),
    ]
    text = {
        each.relative_to(docs / "generated").as_posix(): each.read_text(encoding="utf-8")
        for each in files
    }
    assert text == page.pages(page.load(docs)), (
        "run PYTHONPATH=docs python -m field.defect_pages docs"
    )


def test_the_index_links_to_every_library() -> None:
    links = set(re.findall(rf"\({page.FOLDER}/(.+?)[.]md\)", page.index()))
    assert links == {row.library for row in known.DEFECTS.values()}

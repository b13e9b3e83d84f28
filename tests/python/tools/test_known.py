"""The known defects are exactly those of the installed libraries."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from pathlib import Path

import pytest

import dlbridge
from dlbridge.tools import abi, known, versions
from dlbridge.tools.known import helper, page

HERE = [each for each in known.DEFECTS.values() if known.installed(each.library)]
FINE = 'print("fine")'


@pytest.fixture
def ctypes_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes the helper module importable."""
    helper.write(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ctypes_tensors", raising=False)
    return tmp_path


@pytest.mark.parametrize("defect", HERE, ids=lambda defect: defect.id)
def test_the_program_reproduces_it_in_the_listed_versions(defect: known.Defect) -> None:
    version = known.installed(defect.library)
    assert version is not None
    run = known.run(defect.program)
    assert defect.is_reproduced_by(run) == defect.is_in(version), (
        f"{defect.library} {version}: the table lists {defect.seen_in}, and expects "
        f"{defect.shows!r}; the program shows {run}\n{run.noise}"
    )


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
    assert all(re.fullmatch(r"[PXCS]-\d\d|inspect", each) for each in defect.found_by)
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
    last = defect.seen_in.replace(" to ", ", ").split(", ")[-1]
    assert defect.is_in(last) and defect in known.of(defect.library, last)
    assert not defect.is_in("0") and not defect.is_in("9999")


def test_no_row_is_there_twice() -> None:
    assert len(known.DEFECTS) == len(known.rows.ROWS)


def test_versions() -> None:
    assert not doctest.testmod(versions).failed
    assert versions.contains("2.1 to 2.4.6", "2.1.0")
    assert not versions.contains("2.1 to 2.4.6", "2.1rc1")
    assert not versions.contains("2.1 to 2.4.6", "2.4.6.post1")
    assert versions.contains("1.0, 3.0.post2", "3.0.post2")
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
        docs / page.INDEX,
        *(each for each in (docs / page.FOLDER).iterdir() if each.is_file()),
    ]
    text = {each.relative_to(docs).as_posix(): each.read_text(encoding="utf-8") for each in files}
    assert text == page.pages(), "run python -m dlbridge.tools.known.page docs"


def test_the_index_links_to_every_library() -> None:
    links = set(re.findall(rf"\({page.FOLDER}/(.+?)[.]md\)", page.index()))
    assert links == {row.library for row in known.DEFECTS.values()}

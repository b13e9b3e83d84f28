# SPDX-License-Identifier: BSD-3-Clause
"""dlbridge.show: the picture of the memory in a terminal and in a notebook, and its command."""

from __future__ import annotations

import array
import gc
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign
from dlbridge.tools.inspection.rendering.memory_picture import show
from producers import AlwaysLegacy, OldStyle, Producer, Raises

A = np.arange(6.0)


def memory(x: Any, width: int = 80) -> list[str]:
    """The lines of the picture above its legend, without spaces at the end."""
    text = repr(show(x, width=width))
    assert all(len(line) <= width for line in text.splitlines())
    return text.partition("\nMemory\n")[2].partition("\n  Left:")[0].splitlines()


# Each array, and its picture: values over indices, the arrows beside the grid.
PICTURES: dict[str, tuple[Any, str]] = {
    "reversed": (A[:3][::-1], """
  dim 0 -8        <-----
       -16   0    1    2
             2    1   [0]"""),
    "transposed": (A.reshape(2, 3).T, """
   dim 0 +8    ------>           dim 1 +24
          0    0     1     2         |
             [0,0]  1,0   2,0        |
        +24    3     4     5         v
              0,1   1,1   2,1"""),
    "upwards": (A.reshape(2, 3)[::-1], """
   dim 1 +8    ------>           dim 0 -24
        -24    0     1     2         ^
              1,0   1,1   1,2        |
          0    3     4     5         |
             [0,0]  0,1   0,2"""),
    "broadcast": (np.broadcast_to(A[:3], (2, 3)), """
  dim 0 +0    o
  dim 1 +8    ------>
         0    0     1     2
            [:,0]  :,1   :,2"""),
    "sliced": (A[1::2], """
  dim 0 +16   ---------->
          0   1         3         5
             [0]   .    1    .    2"""),
    "rank 0": (np.array(3.5), """
         0  3.5
            [()]"""),
    "empty": (A[:0], """
  no elements"""),
    "overlapping": (np.lib.stride_tricks.sliding_window_view(A, 5), """
  dim 0 +8    ------>
  dim 1 +8    ------>
         0    0     1     2     3     4     5
            [0,0]  0,1+  0,2+  0,3+  0,4+  1,4"""),
    "packed": (
        dlbridge.from_dlpack(np.array([0x21, 0xF3], "uint8")).view("int4"), """
  dim 0 +1   ----->
        #0   1    2    3    -1
            [0]   1    2    3"""),
    "floats of 4 bits": (
        dlbridge.from_dlpack(np.array([0x21], "uint8")).view("float4_e2m1fn"), """
  dim 0 +1   ----->
        #0  0001 0010
            [0]   1"""),
    "long values": (np.array([-(2**63), 2**63 - 1, 1 << 40]), """
  dim 0 +8       ------------->
         0  -92233720... 922337203... 109951162...
                [0]           1            2"""),
}  # fmt: skip


@pytest.mark.parametrize("case", PICTURES)
def test_pictures(case: str) -> None:
    x, expected = PICTURES[case]
    assert memory(x) == expected.splitlines()[1:]


def test_a_large_tensor_is_abridged() -> None:
    lines = memory(np.arange(10**6).reshape(1000, 1000))
    assert len(lines) < 20 and "               ... 992 more rows" in lines
    assert lines[-2].split() == ["+7992000", "999000", "999001", "999998", "999999"]
    assert len(memory(np.zeros((3,) * 5))) < 30
    assert len(show(np.zeros((1000, 1000))).svg) < 60_000


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float64", "complex128"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_lines_fit(dtype: str, width: int) -> None:
    numbers = (np.arange(2 * 3 * 20) * 300 / 7).astype(dtype)
    for x in (numbers, numbers[::-1], numbers.reshape(2, 3, 20), numbers.reshape(2, 3, 20).T):
        assert memory(x, width)


def test_the_properties_of_the_tensor() -> None:
    x = Producer(shape=(2, 3), strides=(3, 1), byte_offset=8, flags=1)
    text = repr(show(x, title="mine"))
    for part in (
        "\nmine\nfloat32[2, 3] on cpu, row-major, read-only\n",
        " = data 0x", " + 8 bytes, aligned to ", "access          read-only\n",
        "3, 1 elements; 12, 4 bytes\n", "cpu (type 1, index 0)",
    ):  # fmt: skip
        assert part in text
    html = show(x)._repr_html_()
    assert "+ 8 bytes" in html and "Access: read-only." in html


# Anything that inspect accepts -------------------------------------------------------------------


@pytest.mark.parametrize(
    "x", [Producer(), OldStyle(), AlwaysLegacy(), foreign.tensor().capsule(True), b"\0\0\0\0"]
)
def test_all_kinds_of_producers(x: Any) -> None:
    assert memory(x)
    assert memory(x)  # nothing was consumed


def test_an_export_lives_while_its_values_are_read() -> None:
    """A producer that makes a new copy for each export, which is freed with the capsule."""
    producer = Producer(shape=(3,), strides=(1,))
    assert memory(producer)[1].split()[1:] == ["0", "1", "2"]
    gc.collect()
    assert producer.calls == [1] * len(producer.handles) == [1]


def test_memory_of_a_device_is_not_read() -> None:
    producer = Producer(device=(2, 0))
    text = repr(show(producer))
    assert "[0,0]" in text and "No values: the memory is on cuda:0." in text
    assert producer.requests[-1]["stream"] == -1  # no synchronization
    assert "0,0" in show(dlbridge.from_dlpack(producer, stream=-1))._repr_html_()
    unreadable = show(dlbridge.from_pointer(4096, (3,), "float32"))
    assert "NOT READABLE" in repr(unreadable) and "they are not readable" in repr(unreadable)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([1, 2], TypeError, r"expected an object with __dlpack__, .* a capsule; got list$"),
        (np.ndarray, TypeError, "got the class numpy.ndarray: create an object of it"),
        (Raises(OSError("disk")), BufferError, r"exports no tensor: __dlpack__.*: OSError: disk"),
    ],
)
def test_what_is_no_tensor(x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dlbridge.show(x)


class Column:
    """Exports by Arrow, as the columns of polars do."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        raise BufferError("it has nulls")


Column.__module__ = "polars"


def test_a_column_names_as_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    def repair() -> str:
        (oddity,) = dlbridge.inspect(Column()).oddities
        assert oddity.level == "risk" and oddity.what.startswith("It is no tensor: polars.Column")
        with pytest.raises(TypeError, match=f"got polars.Column; {re.escape(oddity.repair)}"):
            dlbridge.show(Column())
        return oddity.repair

    assert repair().startswith("dlbridge.as_tensor(x) refuses it: BufferError: ")
    monkeypatch.setattr(dlbridge, "as_tensor", lambda x: SimpleNamespace(readonly=True))
    assert repair() == "pass dlbridge.as_tensor(x), which exports it without a copy"


def test_a_buffer_names_as_tensor() -> None:
    found = dlbridge.inspect(array.array("d", [1, 2])).oddities[0]
    assert found.what == "array.array has no __dlpack__."
    assert found.repair == "pass dlbridge.as_tensor(x)"
    assert "has no __dlpack__" not in repr(dlbridge.inspect(A))


# The drawing -------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("case", [each for each in PICTURES if each != "empty"])
def test_no_arrow_crosses_a_label_or_a_box(case: str) -> None:
    """An arrow is a line between two points, and each label takes the place of its letters."""
    root = ET.fromstring(show(PICTURES[case][0]).svg)
    boxes = [
        [float(each.get(k, 0)) for k in ("x", "y", "width", "height")]
        for each in root.iter(f"{SVG}rect")
    ]
    for text in root.iter(f"{SVG}text"):
        x, y, length = float(text.get("x", 0)), float(text.get("y", 0)), 7.4 * len(text.text or "")
        anchor = {"middle": length / 2, "end": length}.get(text.get("text-anchor", ""), 0)
        boxes.append([x - anchor, y - 10, length, 12])
    arrows = [each.get("d", "") for each in root.iter(f"{SVG}path") if each.get("marker-end")]
    assert bool(arrows) == (case != "rank 0")
    for path in arrows:
        x, y, *end = map(float, re.findall(r"[-\d.]+", path)[:3])
        to_x, to_y = (end[0], y) if "H" in path else (x, end[0]) if "V" in path else (x, y)
        for left, top, width, height in boxes:
            across = max(x, to_x) < left or min(x, to_x) > left + width
            assert across or max(y, to_y) < top or min(y, to_y) > top + height, path


def test_text_and_lines_have_the_colour_of_the_page() -> None:
    colours = re.findall(r'(?:fill|stroke)="([^"]*)"', show(A).svg)
    assert {each for each in colours if not each.startswith("hsl")} == {"none", "currentColor"}


def test_a_tensor_in_a_notebook_is_shown_as_by_show() -> None:
    t = dlbridge.from_dlpack(A)
    assert t._repr_html_() == show(t)._repr_html_()
    assert isinstance(dlbridge.show(t), dlbridge.MemoryPicture)


# The command -------------------------------------------------------------------------------------


def run(what: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dlbridge", "show", what]
    return subprocess.run(command, capture_output=True, text=True, cwd=where, timeout=120)


def test_command() -> None:
    process = run("numpy:arange(3.)[::-1]")
    assert (process.returncode, process.stderr) == (0, "")
    assert PICTURES["reversed"][1] in re.sub(" +\n", "\n", process.stdout)


@pytest.mark.parametrize(
    ("what", "status", "message"),
    [
        ("numpy", 2, "dlbridge show: expected MODULE:EXPR, as in numpy:ones(3); got 'numpy'"),
        ("builtins:5", 1, "dlbridge show: builtins:5: the inspection failed: TypeError: expected"),
        ("array:nosuch", 1, "dlbridge show: array:nosuch: the expression failed: NameError"),
        ("os:_exit(7)", 1, "exit status 7"),
    ],
)
def test_command_of_expressions_that_fail(what: str, status: int, message: str) -> None:
    process = run(what)
    assert (process.returncode, process.stdout) == (status, "")
    assert message in process.stderr and "Traceback" not in process.stderr

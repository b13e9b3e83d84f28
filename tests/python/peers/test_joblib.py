# SPDX-License-Identifier: BSD-3-Clause
"""joblib: Tensors in files, as arguments and results of workers, and as cache keys."""

from __future__ import annotations

import array
from pathlib import Path
from typing import Any, Callable

import pytest

import dlbridge
from dlbridge.tools.libraries import values_in
from rows import load

LIBRARY = "joblib"
Record = Callable[[str, object], None]
joblib: Any = load(LIBRARY)


def grid() -> dlbridge.Tensor:
    memory: Any = memoryview(array.array("f", range(12))).cast("B")
    return dlbridge.as_tensor(memory.cast("f", (3, 4)))


def values(t: Any) -> Any:
    return values_in(t.__dlpack__(max_version=(1, 0)))


def doubled(t: dlbridge.Tensor) -> dlbridge.Tensor:
    return dlbridge.as_tensor(array.array("f", (2 * x for row in values(t) for x in row)))


@pytest.mark.parametrize("compress", [0, 3])
def test_to_a_file_and_back(tmp_path: Path, compress: int, record_property: Record) -> None:
    record_property("exchange", ["carries", "file", "row-major", "copied", ""])
    t = grid()
    joblib.dump({"t": t}, tmp_path / "file", compress=compress)
    back = joblib.load(tmp_path / "file")["t"]
    assert (values(back), back.shape, back.dtype) == (values(t), (3, 4), "float32")
    assert back.data_ptr != t.data_ptr


@pytest.mark.parametrize(
    "backend, outcome", [("threading", "zero-copy"), ("loky", "copied")], ids=["threading", "loky"]
)
def test_as_argument_and_result(backend: str, outcome: str, record_property: Record) -> None:
    record_property("exchange", ["carries", backend, "row-major", outcome, ""])
    arguments = [grid(), grid()]
    run = joblib.Parallel(n_jobs=2, backend=backend)
    results = run(joblib.delayed(doubled)(t) for t in arguments)
    assert [values(t) for t in results] == [[float(2 * i) for i in range(12)]] * 2
    returned = run(joblib.delayed(dlbridge.as_tensor)(t) for t in arguments)
    shared = [t.data_ptr for t in returned] == [t.data_ptr for t in arguments]
    assert shared == (outcome == "zero-copy")


def test_equal_tensors_have_the_same_key() -> None:
    assert joblib.hash(grid()) == joblib.hash(grid())
    assert joblib.hash(grid()) != joblib.hash(doubled(grid()))

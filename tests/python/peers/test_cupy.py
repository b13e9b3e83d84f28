# SPDX-License-Identifier: BSD-3-Clause
"""CuPy without a GPU: it refuses CPU tensors, and frees the refused ones.

tests/gpu tests CuPy on a GPU.
"""

from __future__ import annotations

import gc
from typing import Any, Callable

import pytest

import ctypes_library
import dlbridge
from dlbridge.tools.libraries import CASES
from rows import load

LIBRARY = "cupy"
cupy: Any = load(LIBRARY)
DEPRECATED = "ignore:This function is deprecated"  # fromDlpack, which programs still use

REFUSALS: dict[str, tuple[Callable[[dlbridge.Tensor], Any], type[Exception], str]] = {
    "object": (cupy.from_dlpack, TypeError, "CPU arrays cannot be directly imported to CuPy"),
    "no copy": (
        lambda t: cupy.from_dlpack(t, copy=False),
        TypeError,
        "CPU arrays cannot be directly imported to CuPy",
    ),
    "capsule": (
        lambda t: cupy.from_dlpack(dlbridge.to_dlpack(t)),
        RuntimeError,
        "different from the backend that backs the incoming DLPack tensor",
    ),
    "versioned capsule": (
        lambda t: cupy.from_dlpack(dlbridge.to_dlpack(t, max_version=(1, 0))),
        RuntimeError,
        "different from the backend that backs the incoming DLPack tensor",
    ),
    "fromDlpack": (
        lambda t: cupy.fromDlpack(dlbridge.to_dlpack(t)),
        RuntimeError,
        "different from the backend that backs the incoming DLPack tensor",
    ),
}


@pytest.mark.filterwarnings(DEPRECATED)
@pytest.mark.parametrize("method", REFUSALS)
@pytest.mark.parametrize("case", CASES)
def test_cpu_tensors_are_refused(
    method: str, case: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("exchange", ["takes", method, case, "refused", ""])
    take, error, text = REFUSALS[method]
    source = CASES[case].make(ctypes_library.CTYPES, None)
    t = dlbridge.from_dlpack(source)
    if case == "read-only" and method in ("capsule", "fromDlpack"):
        error, text = BufferError, "a legacy tensor has no read-only flag"
    with pytest.raises(error, match=text):
        take(t)
    assert source.frees == [0]
    del t
    gc.collect()
    assert source.frees == [1]


def test_no_array_can_be_created() -> None:
    """If this fails, the machine has a GPU: run tests/gpu."""
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.zeros(3)

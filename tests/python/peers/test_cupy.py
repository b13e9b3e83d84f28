"""CuPy where there is no GPU: it imports, refuses the CPU's tensors, and frees what it refuses.

What it does with a GPU is in tests/gpu.
"""

from __future__ import annotations

import gc
from typing import Any, Callable

import pytest

import dlbridge
import hands
from dlbridge.tools.libraries import CASES
from rows import load

LIBRARY = "cupy"
cupy: Any = load(LIBRARY)
GONE = "ignore:This function is deprecated"  # fromDlpack, which is in many a program still

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
    "by the old name": (
        lambda t: cupy.fromDlpack(dlbridge.to_dlpack(t)),
        RuntimeError,
        "different from the backend that backs the incoming DLPack tensor",
    ),
}


@pytest.mark.filterwarnings(GONE)
@pytest.mark.parametrize("how", REFUSALS)
@pytest.mark.parametrize("case", CASES)
def test_the_cpus_tensors_are_refused(
    how: str, case: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("exchange", ["takes", how, case, "refused", ""])
    take, error, words = REFUSALS[how]
    hand = CASES[case].make(hands.HANDS, None)
    t = dlbridge.from_dlpack(hand)
    if case == "read-only" and how in ("capsule", "by the old name"):
        error, words = BufferError, "expected writable memory for a legacy tensor"
    with pytest.raises(error, match=words):
        take(t)
    assert hand.frees == [0]
    del t
    gc.collect()
    assert hand.frees == [1]


def test_arrays_cannot_be_made() -> None:
    """When this fails there is a GPU here, and tests/gpu is what to run."""
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.zeros(3)

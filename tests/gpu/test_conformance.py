"""The order of streams by the rules of conformance: planted defects, our Tensor, the libraries."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dlbridge.tools import conformance

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tools"))

# The tests of the simulated GPU: pytest collects here what is imported.
from test_device_conformance import (
    ORDER,
    test_an_unknown_stream,
    test_consumers_with_no_stream_of_cuda,
    test_consumers_with_wrong_content,
    test_consumers_without_order,
    test_copies_to_the_host,
    test_memory_of_every_device,
    test_our_tensor,
    test_pinned_memory_that_the_kernel_does_not_copy,
    test_producers_with_wrong_content,
    test_producers_without_order,
    test_reading_waits_for_queued_work,
    test_sound_consumers,
    test_sound_producers,
)

__all__ = [
    "test_an_unknown_stream",
    "test_consumers_with_no_stream_of_cuda",
    "test_consumers_with_wrong_content",
    "test_consumers_without_order",
    "test_copies_to_the_host",
    "test_memory_of_every_device",
    "test_our_tensor",
    "test_pinned_memory_that_the_kernel_does_not_copy",
    "test_producers_with_wrong_content",
    "test_producers_without_order",
    "test_reading_waits_for_queued_work",
    "test_sound_consumers",
    "test_sound_producers",
]

TARGETS = {"cupy": "cupy", "torch": "torch", "jax": "jax", "factory:make": "torch"}
NEEDED = [
    pytest.param(target, marks=pytest.mark.needs(library)) for target, library in TARGETS.items()
]


@pytest.mark.parametrize("target", NEEDED)
def test_libraries(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leaves memory to the checks
    report = conformance.examine(target, device="cuda", only=ORDER)
    outcomes = {result.id: (result.outcome, result.got) for result in report.results}
    assert {outcome for outcome, _ in outcomes.values()} <= {"pass", "skip"}, outcomes
    assert target == "jax" or outcomes["S-10"][0] == "pass", outcomes

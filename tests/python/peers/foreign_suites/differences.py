# SPDX-License-Identifier: BSD-3-Clause
"""The tests of other libraries that do not pass through dlbridge as they pass natively, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """Tests that fail with one cause. Each is expected to fail in each suite that has it."""

    role: str  # of through_dlbridge.py
    cause: str
    text: tuple[str, ...]  # each failure has one of these texts
    tests: tuple[str, ...]  # names of functions
    libraries: tuple[str, ...] = ("dpctl", "dpnp")  # whose suites have them


DIFFERENCES = (
    Difference(
        "consumer",
        "dlbridge raises `BufferError` for a `__dlpack__` that returns no capsule. The test "
        "expects `TypeError`, which consumers take as the sign of a producer without keywords.",
        ("producer failed",),
        ("test_from_dlpack_input_validation",),
    ),
    Difference(
        "consumer",
        "dlbridge refuses a used capsule with `ValueError`, as the library does, and with another "
        "message.",
        ("Regex pattern did not match",),
        ("test_used_dlpack_capsule", "test_used_dlpack_capsule_from_numpy"),
    ),
    Difference(
        "consumer",
        "dlbridge writes NULL as the data of an empty CPU tensor, as `dlpack.h` recommends. The "
        "test compares NumPy's address.",
        ("assert ",),
        ("test_dlpack_size_0_on_kdlcpu",),
    ),
    Difference(
        "consumer",
        "The producer has no `dl_device` and cannot move its tensor to the CPU. The library copies "
        "the memory itself; dlbridge does not access it.",
        ("The producer did not move it",),
        ("test_generic_container_legacy",),
    ),
    Difference(
        "producer",
        "A Tensor cannot copy oneAPI memory, so it refuses `copy=True` and a move to the CPU. The "
        "array itself can: `dlbridge.from_dlpack(x, device='cpu')` requests the move of it.",
        ("expected memory that the CPU can read", "Can not import to requested device"),
        (
            "test_copy",
            "test_dlpack_capsule_readonly_array_to_kdlcpu",
            "test_dlpack_dl_device",
            "test_dlpack_kwargs",
            "test_from_dlpack_kdlcpu_interop_numpy",
            "test_from_dlpack_kwargs",
            "test_from_dlpack_to_kdlcpu",
            "test_from_dlpack_to_kdlcpu_strides",
            "test_generic_container",
            "test_generic_container_legacy",
            "test_used_dlpack_capsule_from_numpy",
            "test_versioned_dlpack_capsule",
        ),
    ),
    Difference(
        "producer",
        "A value that a keyword does not have raises `ValueError`. NumPy's test of `stream` "
        "expects `RuntimeError`, or its own message. Other tests expect `TypeError`, which "
        "consumers take as the sign of a producer without the keyword, or expect that the value "
        "is ignored.",
        ("expected max_version to be", "expected stream to be", "expected copy to be",
         "expected None or -1", "Regex pattern did not match"),
        (
            "test_dlpack_max_version_validation",
            "test_dunder_dlpack_stream",
            "test_invaid_stream",
            "test_wrong_copy",
        ),
        ("dpctl", "dpnp", "numpy"),
    ),
    Difference(
        "consumer",
        "A legacy capsule cannot be marked as read-only. NumPy imports it as read-only, and "
        "dlbridge as writable. `dlbridge.from_dlpack(x, readonly=True)` is NumPy's choice.",
        ("assert not True",),
        ("test_writeable",),
        ("numpy",),
    ),
    Difference(
        "consumer",
        "dlbridge writes NULL as the data of an empty CPU tensor, as `dlpack.h` recommends. JAX "
        "refuses `copy=False` of empty memory that is not aligned, and accepts NULL.",
        ("ValueError not raised",),
        ("testNumpyToJax",),
        ("jax",),
    ),
    Difference(
        "producer",
        "dlbridge refuses a type code that DLPack does not define, which the test registers.",
        ("expected a dtype of DLPack",),
        ("test_buffererror_bad_dtype",),
        ("numpy",),
    ),
)  # fmt: skip

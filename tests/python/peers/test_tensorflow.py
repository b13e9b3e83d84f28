# SPDX-License-Identifier: BSD-3-Clause
"""TensorFlow: the exchanges of the table, and in child processes the calls that abort."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

import ctypes_library
import dlbridge
from dlbridge.tools import children
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from immutable import test_a_copy_is_writable, test_an_array_is_read_only
from rows import load

LIBRARY = "tensorflow"
__all__ = [
    "test_a_copy_is_writable",
    "test_an_array_is_read_only",
    "test_comparison",
    "test_exchange",
    "test_the_table_names_what_there_is",
]

tf: Any = load(LIBRARY)


def add_shifted(shift: int) -> list[float]:
    """Adds a tensor to itself, whose memory starts at element `shift` of a block."""
    block = ctypes_library.make([float(i) for i in range(64)], "float32")
    source = ctypes_library.index(block, slice(shift, shift + 8))
    x = tf.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(dlbridge.from_dlpack(source)))
    return (x + x).numpy().tolist()  # type: ignore[no-any-return]


def export_text() -> None:
    dlbridge.from_dlpack(tf.constant("a"))


def in_child(function: str, **keywords: Any) -> children.Answer:
    path = os.pathsep.join(sys.path)
    return children.call(
        f"test_tensorflow:{function}", environment={"PYTHONPATH": path}, **keywords
    )


def test_aligned_memory() -> None:
    assert add_shifted(16) == [2.0 * i for i in range(16, 24)]


@pytest.mark.parametrize(
    "function, keywords, noise",
    [("add_shifted", {"shift": 4}, "IsAligned"), ("export_text", {}, "DataTypeCanUseMemcpy")],
)
def test_calls_that_abort(function: str, keywords: dict[str, Any], noise: str) -> None:
    """No caller can catch the abort. If this fails, TensorFlow has been corrected."""
    answer = in_child(function, **keywords)
    assert (answer.outcome, answer.message) == ("crashed", "SIGABRT")
    assert noise in answer.noise


def test_other_types_are_not_producers() -> None:
    for x in (tf.Variable([1.0]), tf.ragged.constant([[1], [2, 3]])):
        with pytest.raises(TypeError, match="not a DLPack producer"):
            dlbridge.from_dlpack(x)
    t = dlbridge.from_dlpack(tf.convert_to_tensor(tf.Variable([1.0, 2.0])))
    assert memoryview(t).tolist() == [1, 2]

"""TensorFlow: capsules and tensors by the table, and what ends its process, in one of its own."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

import dlbridge
import hands
from dlbridge.tools import children
from exchanges import test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "tensorflow"
__all__ = ["test_exchange", "test_the_table_names_what_there_is"]

tf: Any = load(LIBRARY)


def add_beside(shift: int) -> list[float]:
    """Adds a tensor to itself whose memory is not aligned as TensorFlow aligns its own."""
    hand = hands.index(
        hands.make([float(i) for i in range(64)], "float32"), slice(shift, shift + 8)
    )
    x = tf.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(dlbridge.from_dlpack(hand)))
    return (x + x).numpy().tolist()  # type: ignore[no-any-return]


def export_text() -> None:
    dlbridge.from_dlpack(tf.constant("a"))


def in_child(function: str, **keywords: Any) -> children.Answer:
    path = os.pathsep.join(sys.path)
    return children.call(
        f"test_tensorflow:{function}", environment={"PYTHONPATH": path}, **keywords
    )


def test_aligned_memory_is_worked_on() -> None:
    assert add_beside(16) == [2.0 * i for i in range(16, 24)]


@pytest.mark.parametrize(
    "function, keywords, noise",
    [("add_beside", {"shift": 4}, "IsAligned"), ("export_text", {}, "DataTypeCanUseMemcpy")],
)
def test_what_ends_the_process(function: str, keywords: dict[str, Any], noise: str) -> None:
    """Nobody can catch it. When this fails, TensorFlow has learned."""
    answer = in_child(function, **keywords)
    assert (answer.outcome, answer.message) == ("crashed", "SIGABRT")
    assert noise in answer.noise


def test_what_is_no_tensor() -> None:
    for x in (tf.Variable([1.0]), tf.ragged.constant([[1], [2, 3]])):
        with pytest.raises(TypeError, match="not a DLPack producer"):
            dlbridge.from_dlpack(x)
    t = dlbridge.from_dlpack(tf.convert_to_tensor(tf.Variable([1.0, 2.0])))
    assert memoryview(t).tolist() == [1, 2]

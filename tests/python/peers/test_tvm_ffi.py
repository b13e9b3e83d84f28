"""tvm-ffi: what it takes and gives, as the table says, and as an argument of its functions."""

from __future__ import annotations

from typing import Any

import pytest

import dlbridge
import hands
from exchanges import test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "tvm_ffi"
__all__ = ["test_exchange", "test_the_table_names_what_there_is"]

tvm_ffi: Any = load(LIBRARY)


def test_an_argument_of_a_function() -> None:
    hand = hands.make([1.0, 2.0], "float32")
    t = dlbridge.from_dlpack(hand)
    x = tvm_ffi.get_global_func("testing.echo")(t)
    assert (type(x), x.data_ptr) == (dlbridge.Tensor, hand.address)  # by our exchange table
    del x, t
    assert hand.frees == [1]


@pytest.mark.parametrize(
    "how, hand",
    [
        ({"require_alignment": 64}, hands.index(hands.make([1.0, 2.0], "float32"), slice(1, 2))),
        ({"require_contiguous": True}, hands.index(hands.make([1.0] * 4, "float32"),
                                                   slice(None, None, 2))),
    ],
    ids=["aligned", "contiguous"],
)  # fmt: skip
def test_what_it_is_asked_to_refuse(how: dict[str, Any], hand: Any) -> None:
    with pytest.raises(RuntimeError):
        tvm_ffi.from_dlpack(dlbridge.from_dlpack(hand), **how)
    assert hand.frees == [1]

# SPDX-License-Identifier: BSD-3-Clause
"""nanobind: an extension that imports and exports every tensor as nb::ndarray."""

from __future__ import annotations

import array
from typing import Any

import dlbridge
from dlbridge.tools import abi
from exchanges import test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "nanobind"
__all__ = ["test_exchange", "test_the_table_names_what_there_is"]

nanobind_peer: Any = load(LIBRARY)


def test_read_only_memory_for_a_read_only_parameter() -> None:
    t = dlbridge.as_tensor(array.array("f", [1, 2]), readonly=True)
    x = nanobind_peer.read(t)
    assert x.address == t.data_ptr
    assert abi.read(x.give().__dlpack__(max_version=(1, 0))).flags == abi.READ_ONLY
    assert dlbridge.from_dlpack(x.give()).readonly

# SPDX-License-Identifier: BSD-3-Clause
"""The tables of devices, dtypes and libraries: equal to the compiled module, and unique."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

import dlbridge
import producers
from dlbridge import tools
from dlbridge.tools import devices, dtypes, libraries
from dlbridge.tools.inspection.consumers import CONSUMERS
from dlbridge.tools.known.rows import ROWS

SOURCES = Path(tools.__file__).parent


def _name_of_dtype(triple: dtypes.Triple) -> str:
    try:
        return str(dlbridge.dtype(triple))
    except ValueError:
        return f"unknown dtype {triple}"


def _name_of_device(device: tuple[int, int]) -> str:
    try:
        return str(dlbridge.device(device))
    except ValueError:
        return f"unknown device {device}"


@pytest.mark.parametrize("code", range(25))
def test_dtypes_have_the_names_of_the_compiled_module(code: int) -> None:
    for bits, lanes in product((0, 1, 3, 4, 6, 8, 16, 33, 64, 128, 255), (0, 1, 2, 65535)):
        assert dtypes.name((code, bits, lanes)) == _name_of_dtype((code, bits, lanes))


def test_devices_have_the_names_of_the_compiled_module() -> None:
    for device in product(range(-1, 30), (0, 1, -7)):
        assert devices.name(device) == _name_of_device(device)


@pytest.mark.parametrize("code", devices.NAMES)
def test_addresses_are_those_of_the_compiled_module(code: int) -> None:
    """dlbridge adds a byte offset to addresses, and never to handles."""
    tensor = dlbridge.from_dlpack(producers.Producer(device=(code, 0), byte_offset=8))
    assert (tensor.byte_offset == 0) == (code in devices.ADDRESSES)


def test_encodable_dtypes() -> None:
    assert list(dtypes.ENCODABLE) == [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64", "bfloat16", "complex64", "complex128", "bool",
    ]  # fmt: skip


def test_consumers_and_defects_are_of_libraries_in_the_table() -> None:
    assert set(CONSUMERS) <= set(libraries.LIBRARIES)
    assert {row.library for row in ROWS} <= set(libraries.LIBRARIES)


def test_only_the_table_lists_libraries() -> None:
    """A list of three or more libraries outside the table is a second table.

    The facts of single libraries have their own files: known/rows and inspection/consumers.py.
    """
    names = "|".join(re.escape(name) for name in libraries.LIBRARIES if name != "array")
    listing = re.compile(rf"(?:\"(?:{names})\"[,:\s]+(?:[^\"\n]*)){{3,}}")
    for path in SOURCES.rglob("*.py"):
        if path.name in ("libraries.py", "consumers.py") or "rows" in path.parts:
            continue
        assert not listing.search(path.read_text(encoding="utf-8")), path

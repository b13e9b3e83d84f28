# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the exchange table of the array type."""

from __future__ import annotations

import ctypes as C
from typing import Any

from planted import exchange, native, producer
from planted.array import Array, row_major
from planted.planting import change, defect
from planted.producer import Export


@defect("S-03")
def table_of_another_name() -> None:
    """The capsule of the exchange table is named dlpack_c_exchange_api."""
    _names.append(b"dlpack_c_exchange_api")
    Array.__dlpack_c_exchange_api__ = native.new_capsule(  # type: ignore[attr-defined]
        C.addressof(exchange.TABLE), _names[-1], None
    )


_names: list[bytes] = []  # a capsule does not copy its name


@defect("S-03")
def table_without_an_export() -> None:
    """The function that exports is NULL in the exchange table."""
    exchange.TABLE.managed_tensor_from_py_object_no_sync = None


@defect("S-03")
def table_without_a_stream() -> None:
    """The function of the current stream is NULL in the exchange table, as the CPU has none."""
    exchange.TABLE.current_work_stream = None


@defect("S-03")
def table_of_version_2() -> None:
    """The exchange table has the major version 2."""
    exchange.TABLE.header.version.major = 2


def _give(spoil: Any) -> None:
    def give(original: Any, array: Array) -> int:
        address = int(original(array))
        export = Export(array, versioned=True, copied=False, address=address)
        spoil(array, export.managed.tensor)
        return address

    change(exchange, "give", give)


@defect("S-17")
def table_exports_the_base() -> None:
    """The exchange table exports a view with the address of its base."""

    def spoil(array: Array, tensor: Any) -> None:
        if array.base is not None:
            tensor.data = array.base.data

    _give(spoil)


@defect("S-17")
def table_exports_as_compact() -> None:
    """The exchange table exports a view with the strides of a compact array."""
    _give(lambda array, tensor: producer.write(tensor.strides, row_major(array.shape)))


@defect("S-17")
def table_exports_float32() -> None:
    """The exchange table exports every element type as float32."""

    def spoil(array: Array, tensor: Any) -> None:
        tensor.dtype.code, tensor.dtype.bits = 2, 32

    _give(spoil)


@defect("S-18")
def table_imports_major_2() -> None:
    """The exchange table imports a managed tensor of major version 2."""

    def take(original: Any, address: int) -> Array:
        native.STRUCTS[native.VERSIONED].from_address(address).version.major = 1
        result: Array = original(address)
        return result

    change(exchange, "take", take)


def _take(shift: Any) -> None:
    def take(original: Any, address: int) -> Array:
        array: Array = original(address)
        array.data += shift(native.STRUCTS[native.VERSIONED].from_address(address).tensor)
        return array

    change(exchange, "take", take)


@defect("S-19")
def table_ignores_the_offset() -> None:
    """The exchange table's import ignores byte_offset."""
    _take(lambda tensor: -tensor.byte_offset)


@defect("S-19")
def table_adds_the_offset_twice() -> None:
    """The exchange table's import adds byte_offset twice."""
    _take(lambda tensor: tensor.byte_offset)


@defect("S-20")
def table_has_a_stream() -> None:
    """The exchange table's stream of the CPU is 1."""
    change(exchange, "stream", lambda original, device_type, device_id: 1)

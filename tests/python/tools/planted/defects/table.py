# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the exchange table of the array type."""

from __future__ import annotations

import ctypes as C
from typing import Any

from planted import exchange, native
from planted.array import Array
from planted.planting import change, defect, instead_of, through
from planted.producer import Export

_OTHER_NAME = b"dlpack_c_exchange_api"  # a capsule does not copy its name


@defect("S-03")
def table_of_another_name() -> None:
    """The capsule of the exchange table is named dlpack_c_exchange_api."""
    Array.__dlpack_c_exchange_api__ = native.new_capsule(  # type: ignore[attr-defined]
        C.addressof(exchange.TABLE), _OTHER_NAME, None
    )


@defect("S-03")
def table_without_an_export() -> None:
    """The function that exports is NULL in the exchange table."""
    exchange.TABLE.managed_tensor_from_py_object_no_sync = None


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
@through(_give)
def table_exports_the_base(array: Array, tensor: Any) -> None:
    """The exchange table exports a view with the address of its base."""
    if array.base is not None:
        tensor.data = array.base.data


@defect("S-17")
@through(_give)
def table_exports_float32(array: Array, tensor: Any) -> None:
    """The exchange table exports every element type as float32."""
    tensor.dtype.code, tensor.dtype.bits = 2, 32


@defect("S-18")
@instead_of(exchange, "take")
def table_imports_major_2(original: Any, address: int) -> Any:
    """The exchange table imports a managed tensor of major version 2."""
    native.STRUCTS[native.VERSIONED].from_address(address).version.major = 1
    return original(address)


@defect("S-19")
@instead_of(exchange, "take")
def table_ignores_the_offset(original: Any, address: int) -> Any:
    """The exchange table's import ignores byte_offset."""
    array = original(address)
    array.data -= native.STRUCTS[native.VERSIONED].from_address(address).tensor.byte_offset
    return array


@defect("S-20")
def table_has_a_stream() -> None:
    """The exchange table's stream of the CPU is 1."""
    change(exchange, "stream", lambda original, device_type, device_id: 1)

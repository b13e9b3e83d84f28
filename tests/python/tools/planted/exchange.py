# SPDX-License-Identifier: BSD-3-Clause
"""The exchange table of the array type: the same exports and imports for callers in C."""

from __future__ import annotations

import ctypes as C
from typing import Any

from dlbridge.tools.structs import Exchange, Tensor, Version
from planted import consumer, elements, native, producer
from planted.array import Array, of_elements
from planted.native import STRUCTS, VERSIONED

NAME = b"dlpack_exchange_api"


def allocate(prototype: int) -> int:
    """Returns the managed tensor of a new array like the prototype."""
    tensor = Tensor.from_address(prototype)
    consumer.check_device(tensor, True)
    kind = consumer.element_type(tensor, True)
    shape = consumer.read_shape(tensor)
    size = 1
    for extent in shape:
        size *= extent
    array = of_elements([elements.number(kind, 0)] * size, shape, kind.name)
    return producer.build(array, versioned=True, copied=False).address


def give(array: Array) -> int:
    """Returns a managed tensor over the memory of an array."""
    producer.check_content(array, versioned=True, copied=False)
    return producer.build(array, versioned=True, copied=False).address


def take(address: int) -> Array:
    """Returns an array that owns a managed tensor. The caller keeps a refused tensor."""
    managed = STRUCTS[VERSIONED].from_address(address)
    memory = native.Memory(0, 0)
    array = consumer.read(managed, VERSIONED, memory)
    array.memory = consumer.own(managed, address)
    return array


def lend(array: Array, out: int) -> None:
    """Writes a description that is valid while the array lives."""
    producer.check_content(array, versioned=True, copied=False)
    export = producer.Export(array, versioned=True, copied=False)
    room = (C.c_char * (C.sizeof(STRUCTS[VERSIONED]) + 16 * array.ndim))()
    export.address = C.addressof(room)
    producer.fill(export)
    array.lent = room  # type: ignore[attr-defined]
    C.memmove(out, C.addressof(export.managed.tensor), C.sizeof(Tensor))


def stream(device_type: int, device_id: int) -> int:
    """The CPU has no streams."""
    return 0


def table() -> Any:
    """Returns the table of these functions."""
    native.exchange_use(
        lambda prototype: allocate(prototype),
        lambda array: give(array),
        lambda address: take(address),
        lambda array, out: lend(array, out),
        lambda device_type, device_id: stream(device_type, device_id),
    )
    library = native.library
    api = Exchange()
    api.header.version = Version(*producer.VERSION)
    api.managed_tensor_allocator = native.address_of(library.exchange_allocate)
    api.managed_tensor_from_py_object_no_sync = native.address_of(library.exchange_export)
    api.managed_tensor_to_py_object_no_sync = native.address_of(library.exchange_import)
    api.dltensor_from_py_object_no_sync = native.address_of(library.exchange_lend)
    api.current_work_stream = native.address_of(library.exchange_stream)
    return api


def capsule(api: Any) -> Any:
    """Returns the capsule of a table, which must outlive it."""
    return native.new_capsule(C.addressof(api), NAME, None)


TABLE = Exchange()


def install() -> None:
    """Puts the table on the type of the arrays."""
    global TABLE
    TABLE = table()
    Array.__dlpack_c_exchange_api__ = capsule(TABLE)  # type: ignore[attr-defined]

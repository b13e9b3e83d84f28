# SPDX-License-Identifier: BSD-3-Clause
"""A small array library in pure Python with a complete DLPack producer."""

from __future__ import annotations

import array
import ctypes
import operator
from typing import Any

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY, IS_COPIED = 1, 2
CPU = (1, 0)
DTYPES = {  # typecode of array.array, then code, bits and lanes of DLPack
    "int8": ("b", 0, 8, 1),
    "int32": ("i", 0, 32, 1),
    "int64": ("q", 0, 64, 1),
    "uint8": ("B", 1, 8, 1),
    "float32": ("f", 2, 32, 1),
    "float64": ("d", 2, 64, 1),
}


class Plain:
    """A row-major array over an array.array."""

    def __init__(self, shape: tuple[int, ...], dtype: str, readonly: bool = False) -> None:
        self.shape, self.dtype, self.readonly = shape, dtype, readonly
        size = 1
        for extent in shape:
            size *= extent
        self.items = array.array(DTYPES[dtype][0], range(size))

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    # [producer]
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if stream not in (None, -1):
            raise ValueError(f"the CPU has no stream {stream!r}")
        if copy not in (None, True, False) or not isinstance(copy, (bool, type(None))):
            raise ValueError(f"copy must be True, False or None; got {copy!r}")
        if dl_device is not None and _pair(dl_device) != CPU:
            raise BufferError(f"device {dl_device} is not supported")
        versioned = max_version is not None and _pair(max_version) >= (1, 0)
        if self.readonly and not copy and not versioned:
            raise BufferError("a legacy capsule cannot mark an array as read-only")
        items = self.items[:] if copy else self.items
        flags = IS_COPIED if copy else READ_ONLY if self.readonly else 0
        return _capsule(items, self.shape, DTYPES[self.dtype][1:], flags, versioned)

    # [/producer]


def _pair(value: object) -> tuple[int, int]:
    """Returns a pair as integers, which may be given as an IntEnum; raises TypeError for others."""
    if not (isinstance(value, tuple) and len(value) == 2):
        raise TypeError(f"expected a pair of integers; got {value!r}")
    return operator.index(value[0]), operator.index(value[1])


# DLPack's structs ----------------------------------------------------------------------------


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


def _row_major(shape: tuple[int, ...]) -> list[int]:
    strides = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        strides[i] = strides[i + 1] * max(1, shape[i + 1])
    return strides


# The objects that consumers use, by the address of the struct.
_exports: dict[int, tuple[Any, ...]] = {}

_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda address: _exports.pop(address, None))
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)(
    ("PyCapsule_New", _api)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)


@_Destructor
def _destroy(capsule: int) -> None:
    """Frees an unconsumed tensor: a consumed capsule has another name."""
    for name in (LEGACY, VERSIONED):
        if _is_valid(capsule, name):
            _exports.pop(_pointer(capsule, name), None)


def _capsule(
    items: array.array[Any],
    shape: tuple[int, ...],
    dtype: tuple[int, int, int],
    flags: int,
    versioned: bool,
) -> Any:
    managed = DLManagedTensorVersioned() if versioned else DLManagedTensor()
    extents = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    strides = (ctypes.c_int64 * max(1, len(shape)))(*_row_major(shape))
    if versioned:
        managed.major, managed.minor, managed.flags = 1, 0, flags
    managed.deleter = ctypes.cast(_deleter, ctypes.c_void_p)
    tensor = managed.tensor
    tensor.data = items.buffer_info()[0] if len(items) else None
    tensor.device_type, tensor.device_id = CPU
    tensor.ndim = len(shape)
    tensor.code, tensor.bits, tensor.lanes = dtype
    tensor.shape, tensor.strides = ctypes.addressof(extents), ctypes.addressof(strides)
    address = ctypes.addressof(managed)
    _exports[address] = (managed, extents, strides, items)
    return _new(address, VERSIONED if versioned else LEGACY, _destroy)

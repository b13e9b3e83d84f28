# SPDX-License-Identifier: BSD-3-Clause
"""The structs of dlpack.h for ctypes (spec 1.2), and the names and flags that belong to them.

This is the only definition of these structs in Python: known/ contains it in the stand-alone
helper of its programs. A test compares the layout with dlpack.h.
"""

from __future__ import annotations

import ctypes as C
from typing import Any

LEGACY, VERSIONED = "dltensor", "dltensor_versioned"  # the names of fresh capsules
USED = {LEGACY: "used_dltensor", VERSIONED: "used_dltensor_versioned"}
READ_ONLY, IS_COPIED, SUBBYTE_PADDED = 1, 2, 4  # the flags of a versioned tensor


class Device(C.Structure):
    _fields_ = [("type", C.c_int32), ("id", C.c_int32)]


class DataType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class Tensor(C.Structure):
    _fields_ = [
        ("data", C.c_void_p),
        ("device", Device),
        ("ndim", C.c_int32),
        ("dtype", DataType),
        ("shape", C.c_void_p),
        ("strides", C.c_void_p),  # in elements
        ("byte_offset", C.c_uint64),
    ]


class Version(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32)]


class Managed(C.Structure):
    _fields_ = [("tensor", Tensor), ("manager_ctx", C.c_void_p), ("deleter", C.c_void_p)]


class ManagedVersioned(C.Structure):
    _fields_ = [
        ("version", Version),
        ("manager_ctx", C.c_void_p),
        ("deleter", C.c_void_p),
        ("flags", C.c_uint64),
        ("tensor", Tensor),
    ]


STRUCTS: dict[str, Any] = {LEGACY: Managed, VERSIONED: ManagedVersioned}


class ExchangeHeader(C.Structure):
    _fields_ = [("version", Version), ("prev_api", C.c_void_p)]


# The slots of DLPackExchangeAPI, in order (spec 5.3).
EXCHANGE_SLOTS = (
    "managed_tensor_allocator",
    "managed_tensor_from_py_object_no_sync",
    "managed_tensor_to_py_object_no_sync",
    "dltensor_from_py_object_no_sync",
    "current_work_stream",
)


class Exchange(C.Structure):
    _fields_ = [("header", ExchangeHeader), *((name, C.c_void_p) for name in EXCHANGE_SLOTS)]

# SPDX-License-Identifier: BSD-3-Clause
"""A DLPack producer in ctypes, which counts its capsules and the calls of their deleters."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_int64, c_uint64, c_void_p, py_object


class DLTensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


Deleter = CFUNCTYPE(None, c_void_p)


class Legacy(Structure):
    _fields_ = (("tensor", DLTensor), ("context", c_void_p), ("deleter", Deleter))


class Versioned(Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", c_void_p),
        ("deleter", Deleter),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    )


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = py_object
new_capsule.argtypes = (c_void_p, ctypes.c_char_p, c_void_p)


class Producer:
    """float32 elements 0, 1, 2, ...; before= is the number of elements in front of the tensor."""

    def __init__(self, *shape, before=0, device=1, only_versioned=False):
        self.count = 1
        for extent in shape:
            self.count *= extent
        values = [100.0] * before + [float(i) for i in range(self.count)]
        self.memory = (ctypes.c_float * max(len(values), 1))(*values)
        self.shape = (c_int64 * max(len(shape), 1))(*shape)
        self.ndim, self.before, self.device = len(shape), before, device
        self.only_versioned = only_versioned
        self.exported = self.freed = 0
        self.structs = []

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, *, max_version=None, **_):
        versioned = max_version is not None and max_version >= (1, 0)
        if self.only_versioned and not versioned:
            raise BufferError("only versioned capsules are supported")
        managed = Versioned(major=1, minor=0) if versioned else Legacy()
        managed.deleter = Deleter(self.free)
        self.structs.append(managed)
        t = managed.tensor
        t.data = ctypes.addressof(self.memory)
        t.device_type, t.ndim, t.code, t.bits, t.lanes = self.device, self.ndim, 2, 32, 1
        t.shape = self.shape  # strides stay null: row-major
        t.byte_offset = 4 * self.before
        self.exported += 1
        name = b"dltensor_versioned" if versioned else b"dltensor"
        return new_capsule(ctypes.addressof(managed), name, None)

    def free(self, _):
        self.freed += 1

    @property
    def alive(self):
        return self.exported - self.freed

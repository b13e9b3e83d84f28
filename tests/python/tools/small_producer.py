"""The small library's array: a correct producer, with at most one planted defect."""

from __future__ import annotations

import ctypes as C
import itertools
import math
import struct
from typing import Any

from mutants import planted
from small_memory import (
    LEGACY,
    STRUCTS,
    VERSIONED,
    Deleter,
    Memory,
    address_of,
    malloc,
    native,
    new_capsule,
)

from dlbridge.tools.structs import IS_COPIED, READ_ONLY, DataType, Device, Version

VERSION = (1, 3)
CPU = (1, 0)
# By name: DLPack's code and bits, and the format of struct for one number.
DTYPES = {
    "bool": (6, 8, "?"),
    "int8": (0, 8, "b"),
    "int16": (0, 16, "h"),
    "int32": (0, 32, "i"),
    "int64": (0, 64, "q"),
    "uint8": (1, 8, "B"),
    "uint16": (1, 16, "H"),
    "uint32": (1, 32, "I"),
    "uint64": (1, 64, "Q"),
    "float16": (2, 16, "e"),
    "float32": (2, 32, "f"),
    "float64": (2, 64, "d"),
    "complex64": (5, 64, "ff"),
    "complex128": (5, 128, "dd"),
}
_TYPESTR = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


class Array:
    """Numbers in memory, with strides that count elements."""

    def __init__(
        self,
        memory: Memory,
        data: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: str,
        readonly: bool = False,
    ) -> None:
        self.memory, self.data, self.shape, self.strides = memory, data, shape, strides
        self.dtype, self.readonly = dtype, readonly

    @property
    def itemsize(self) -> int:
        return struct.calcsize("=" + DTYPES[self.dtype][2])

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def _address(self, index: tuple[int, ...]) -> int:
        return self.data + self.itemsize * sum(i * s for i, s in zip(index, self.strides))

    def __getitem__(self, index: tuple[int, ...]) -> Any:
        parts = struct.unpack(
            "=" + DTYPES[self.dtype][2], C.string_at(self._address(index), self.itemsize)
        )
        return parts[0] if len(parts) == 1 else complex(*parts)

    def __setitem__(self, index: tuple[int, ...], value: Any) -> None:
        if self.readonly:
            raise ValueError("the array is read-only")
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        C.memmove(
            self._address(index), struct.pack("=" + DTYPES[self.dtype][2], *parts), self.itemsize
        )

    def tolist(self) -> Any:
        def part(index: tuple[int, ...]) -> Any:
            if len(index) == len(self.shape):
                return self[index]
            return [part((*index, i)) for i in range(self.shape[len(index)])]

        return part(())

    def copy(self) -> Array:
        """The same numbers in new memory, writable and row-major."""
        indices = itertools.product(*map(range, self.shape))
        content = b"".join(C.string_at(self._address(index), self.itemsize) for index in indices)
        memory, data = Memory.of(content)
        return Array(memory, data, self.shape, row_major(self.shape), self.dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        code = _TYPESTR[DTYPES[self.dtype][0]]
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": ("|" if self.itemsize == 1 else "<") + f"{code}{self.itemsize}",
            "data": (self.data, self.readonly),
            "strides": tuple(s * self.itemsize for s in self.strides),
        }

    def __reduce_ex__(self, protocol: object) -> Any:
        if planted("pickles_addresses"):
            return _revived, (self.data, self.shape, self.strides, self.dtype)
        raise TypeError("an Array cannot be pickled")

    def __del__(self) -> None:
        if planted("source_not_kept") and self.size:  # what a reuse of freed memory looks like
            C.memset(self.data, 0xEE, self.size * self.itemsize)

    # The protocol ------------------------------------------------------------------------------

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if stream not in (None, -1):
            raise ValueError(f"expected stream None or -1 on the CPU; got {stream!r}")
        versioned = _is_versioned(max_version)
        self._check_device(dl_device)
        if copy is not None and not isinstance(copy, bool) and not planted("copy_by_truth"):
            raise TypeError(f"expected copy True, False or None; got {copy!r}")
        if self.readonly and not versioned and not copy and not planted("read_only_dropped"):
            raise (TypeError if planted("type_error") else BufferError)(
                "a legacy capsule cannot say that memory is read-only; ask for max_version"
            )
        if planted("size_0_raises"):
            _ = 64 // self.size
        if (copy and not planted("copy_true_shares")) or (
            copy is False and planted("copy_false_copies")
        ):
            return _export(self.copy(), versioned, IS_COPIED, max_version)
        return _export(self, versioned, IS_COPIED if copy else 0, max_version)

    def _check_device(self, wanted: Any) -> None:
        if wanted is None or planted("device_ignored"):
            return
        if not isinstance(wanted, tuple) or [type(part) for part in wanted] != [int, int]:
            raise TypeError(f"expected dl_device as (device type, device id); got {wanted!r}")
        if wanted != CPU:
            raise BufferError(f"expected dl_device {CPU}, as this memory stays; got {wanted}")


def _is_versioned(wanted: Any) -> bool:
    if wanted is None:
        if planted("versioned_only"):
            raise BufferError("expected max_version (1, 0) or newer; got none")
        return planted("versioned_to_bare")
    if planted("legacy_only"):
        return False
    if not isinstance(wanted, tuple) or [type(part) for part in wanted] != [int, int]:
        if planted("any_max_version"):
            return True
        raise TypeError(f"expected max_version as (major, minor); got {wanted!r}")
    return bool(wanted[0] >= 1)


# The content of a capsule ----------------------------------------------------------------------

_last: dict[Any, Any] = {}  # of one_capsule


def _export(array: Array, versioned: bool, flags: int, wanted: Any) -> Any:
    request = (array, versioned, flags)
    if planted("one_capsule") and request in _last:
        return _last[request]
    name = VERSIONED if versioned else LEGACY
    kind = STRUCTS[name]
    block = malloc(C.sizeof(kind) + 16 * len(array.shape) + 16)  # the extents lie behind the struct
    managed = kind.from_address(block)
    if versioned:
        managed.version = Version(*VERSION)
        if planted("major_of_request"):
            managed.version.major = wanted[0]
        managed.flags = flags & ~IS_COPIED if planted("is_copied_missing") else flags
        if array.readonly and not flags & IS_COPIED and not planted("read_only_dropped"):
            managed.flags |= READ_ONLY
    managed.manager_ctx = array.memory.share()
    managed.deleter = _deleter(name)
    _fill(managed.tensor, array, block + C.sizeof(kind))
    _spoil(managed, array, versioned)
    name = b"dltensor_v1" if planted("wrong_name") and versioned else name
    capsule = new_capsule(block, name, _destructor())
    if planted("one_capsule"):
        _last.clear()
        _last[request] = capsule
    return capsule


def _fill(tensor: Any, array: Array, extents: int) -> None:
    code, bits, _ = DTYPES[array.dtype]
    tensor.data, tensor.byte_offset = array.data if array.size else None, 0
    tensor.device = Device(*CPU)
    tensor.dtype = DataType(code, bits, 1)
    tensor.ndim = len(array.shape)
    tensor.shape, tensor.strides = extents, extents + 8 * len(array.shape)
    both = (*array.shape, *array.strides)
    C.memmove(extents, (C.c_int64 * len(both))(*both), 8 * len(both))


def _spoil(managed: Any, array: Array, versioned: bool) -> None:
    """Plants the defects that are wrong fields."""
    tensor, rank = managed.tensor, len(array.shape)
    if planted("other_device"):
        tensor.device.type = 2
    if planted("shape_freed_early"):
        C.memset(tensor.shape, 0xDD, 8 * rank)
    if planted("null_strides") and versioned:
        tensor.strides = None
    if planted("strides_in_bytes"):
        in_bytes = [s * array.itemsize for s in array.strides]
        C.memmove(tensor.strides, (C.c_int64 * rank)(*in_bytes), 8 * rank)
    if planted("odd_offset") and array.size:
        tensor.data, tensor.byte_offset = array.data - 1, 1
    if planted("no_bits"):
        tensor.dtype.bits = 0
    if planted("half_complex") and tensor.dtype.code == 5:
        tensor.dtype.bits //= 2
    if planted("bool_as_uint8") and tensor.dtype.code == 6:
        tensor.dtype.code = 1
    if planted("rank_0_as_vector") and not rank:
        tensor.ndim = 1
        tensor.strides = tensor.shape + 8
        C.memmove(tensor.shape, (C.c_int64 * 2)(1, 1), 16)
    if planted("leaks"):
        C.memset(malloc(1 << 16), 1, 1 << 16)


# Deleters --------------------------------------------------------------------------------------

_DELETE = {LEGACY: native.delete_legacy, VERSIONED: native.delete_versioned}
_DELETE_WITH_GIL = {
    LEGACY: native.delete_legacy_with_gil,
    VERSIONED: native.delete_versioned_with_gil,
}
for _function in _DELETE.values():
    _function.argtypes = [C.c_void_p]
_DELETE_IN_PYTHON = {
    LEGACY: Deleter(lambda managed: native.delete_legacy(managed)),
    VERSIONED: Deleter(lambda managed: native.delete_versioned(managed)),
}


def _deleter(name: bytes) -> int:
    if planted("deleter_needs_gil"):
        return address_of(_DELETE_WITH_GIL[name])
    if planted("deleter_needs_python"):
        return address_of(_DELETE_IN_PYTHON[name])
    if planted("destructor_frees_twice") or planted("destructor_blind"):
        return address_of(native.delete_nothing)  # a second call is recorded, and harmless
    return address_of(_DELETE[name])


def _destructor() -> int | None:
    if planted("destructor_leaks"):
        return None
    if planted("destructor_frees_twice"):
        return address_of(native.destroy_twice)
    if planted("destructor_blind"):
        return address_of(native.destroy_blindly)
    if planted("destructor_clobbers"):
        return address_of(native.destroy_and_clear)
    return address_of(native.destroy_capsule)


# Defects of the methods themselves -------------------------------------------------------------


def _revived(data: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Array:
    return Array(Memory(0, 0), data, shape, strides, dtype)


if planted("no_device_method"):
    del Array.__dlpack_device__
if planted("device_is_a_number"):
    Array.__dlpack_device__ = lambda self: 1  # type: ignore[method-assign,assignment,return-value]

_export_method = Array.__dlpack__
if planted("positional_stream"):
    Array.__dlpack__ = (  # type: ignore[method-assign]
        lambda self, *swallowed, **words: _export_method(self, **words)
    )
if planted("unknown_keywords"):
    Array.__dlpack__ = lambda self, **words: _export_method(  # type: ignore[method-assign]
        self,
        **{k: v for k, v in words.items() if k in ("stream", "max_version", "dl_device", "copy")},
    )
if planted("stream_none_refused"):

    def _without_none(self: Array, **words: Any) -> Any:
        if "stream" in words and words["stream"] is None:
            raise ValueError("expected a stream; got None")
        return _export_method(self, **words)

    Array.__dlpack__ = _without_none  # type: ignore[method-assign]

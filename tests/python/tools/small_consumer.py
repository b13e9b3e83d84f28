"""The small library's from_dlpack: a correct consumer, with at most one planted defect."""

from __future__ import annotations

import ctypes as C
import time
from typing import Any

from mutants import planted
from small_memory import (
    LEGACY,
    STRUCTS,
    USED,
    VERSIONED,
    Deleter,
    Memory,
    capsule_name,
    capsule_pointer,
    capsule_type,
    rename_capsule,
    use_capsule,
)
from small_producer import CPU, DTYPES, VERSION, Array, row_major

from dlbridge.tools.structs import READ_ONLY

MOST_DIMENSIONS = 64
MOST_BYTES = 2**63 - 1
NAMES = {(code, bits): name for name, (code, bits, _) in DTYPES.items()}


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """An Array over the memory of any producer on the CPU.

    Raises BufferError for a tensor that cannot be read, and what the producer raises.
    """
    if device not in (None, "cpu"):
        raise ValueError(f"expected device 'cpu' or None; got {device!r}")
    return _take(*_call_dlpack(x, None if device is None else CPU, copy))


def _call_dlpack(x: Any, device: tuple[int, int] | None, copy: bool | None) -> tuple[Any, bool]:
    """Returns the capsule of x, and whether a versioned one was requested."""
    words: dict[str, Any] = {} if planted("never_asks_version") else {"max_version": VERSION}
    if device is not None:
        words["dl_device"] = device
    if copy is not None:
        words["copy"] = copy
    if planted("stream_sent"):
        words["stream"] = -1
    old = (TypeError, BufferError) if planted("any_error_retries") else TypeError
    try:
        return x.__dlpack__(**words), "max_version" in words
    except old:  # a producer without max_version, or without keywords
        dropped = copy is False and planted("copy_dropped")
        if (copy is not None and not dropped) or device is not None:
            raise
        return x.__dlpack__(), False


def _take(capsule: Any, requests_versioned: bool) -> Array:
    if not isinstance(capsule, capsule_type):
        if planted("non_capsule_read"):  # the offset of a capsule's pointer
            return _own(capsule, LEGACY, C.c_size_t.from_address(id(capsule) + 16).value, LEGACY)
        raise TypeError(f"expected a capsule from __dlpack__; got {type(capsule).__name__}")
    own_name = name = capsule_name(capsule)
    if planted("used_accepted") and name:
        name = name.replace(b"used_", b"")
    if planted("name_unread") and name == LEGACY and requests_versioned:
        name = VERSIONED
    if name not in STRUCTS or name in _refused() or not _use(capsule, own_name, name):
        raise BufferError(f"expected a fresh capsule of a tensor; its name was {own_name!r}")
    address = int(capsule_pointer(capsule, USED[name]))
    return _own(capsule, own_name, address, name)


def _use(capsule: Any, own_name: bytes, name: bytes) -> bool:
    if planted("racing"):
        time.sleep(0.005)  # time for other threads to read the same name
        return bool(rename_capsule(capsule, USED[name]) == 0)
    return bool(use_capsule(capsule, own_name, USED[name]))


def _own(capsule: Any, own_name: bytes, address: int, name: bytes) -> Array:
    """Takes ownership: frees a tensor that cannot be read, once."""
    managed = STRUCTS[name].from_address(address)
    memory = None if planted("renamed_early") else _memory(managed, address)
    try:
        read = _read(managed, name)
    except BaseException:
        if memory and planted("major_leaks") and _major(managed, name) != 1:
            memory.share()
        del memory
        raise
    if planted("not_renamed"):
        rename_capsule(capsule, own_name)
    return Array(memory or _memory(managed, address), *read)


def _refused() -> tuple[bytes, ...]:
    if planted("no_legacy"):
        return (LEGACY,)
    return (VERSIONED,) if planted("no_versioned") else ()


def _major(managed: Any, name: bytes) -> int:
    return int(managed.version.major) if name == VERSIONED else 1


def _read(managed: Any, name: bytes) -> tuple[int, tuple[int, ...], tuple[int, ...], str, bool]:
    """Returns the address, shape, strides, dtype and read-only flag, all validated."""
    readonly = False
    if name == VERSIONED:
        version = (managed.version.major, managed.version.minor)
        if version[0] != 1 and not planted("major_ignored"):
            raise BufferError(f"expected DLPack 1; got {version[0]}.{version[1]}")
        if planted("minor_refused") and version > VERSION:
            raise BufferError(f"expected DLPack {VERSION} at most; got {version}")
        if planted("flags_refused") and managed.flags > 7:
            raise BufferError(f"unknown flags in {managed.flags:#x}")
        readonly = bool(managed.flags & READ_ONLY) and not planted("read_only_ignored")
    tensor = managed.tensor
    _check_device(tensor)
    dtype = _dtype(tensor)
    shape = _extents(tensor, tensor.shape, "shape")
    strides = row_major(shape)
    if tensor.strides or planted("null_strides_read"):
        strides = _strides(tensor)
    return _data(tensor, shape, DTYPES[dtype][1] // 8), shape, strides, dtype, readonly


def _check_device(tensor: Any) -> None:
    if tensor.device.type != CPU[0] and not planted("device_ignored_on_import"):
        raise BufferError(f"expected memory of the CPU; got device type {tensor.device.type}")


def _dtype(tensor: Any) -> str:
    code, bits = int(tensor.dtype.code), int(tensor.dtype.bits)
    if planted("code_ignored") and (code, bits) not in NAMES:
        code, bits = 2, 32
    if tensor.dtype.lanes != 1 and not planted("lanes_ignored"):
        raise BufferError(f"expected one lane; got {tensor.dtype.lanes}")
    if (code, bits) not in NAMES:
        raise BufferError(f"no dtype has code {code} and {bits} bits")
    return NAMES[code, bits]


def _extents(tensor: Any, address: int | None, what: str) -> tuple[int, ...]:
    count = int(tensor.ndim)
    if planted("ndim_unchecked"):  # an unsigned number; the last extent is read first
        count %= 1 << 32
        if count and address:
            _ = C.c_int64.from_address(address + 8 * (count - 1)).value
    elif not 0 <= count <= MOST_DIMENSIONS:
        raise BufferError(f"expected 0 to {MOST_DIMENSIONS} dimensions; got {count}")
    if count and not address:
        raise BufferError(f"{count} dimensions, but {what} is NULL")
    extents = tuple((C.c_int64 * count).from_address(address or 1)) if count else ()
    if what == "shape" and not planted("extents_unchecked") and min(extents, default=0) < 0:
        raise BufferError(f"a negative extent in {extents}")
    return extents


def _strides(tensor: Any) -> tuple[int, ...]:
    count = int(tensor.ndim)
    strides = tuple((C.c_int64 * count).from_address(tensor.strides or 8)) if count else ()
    if planted("negative_as_positive"):
        strides = tuple(map(abs, strides))
    if planted("zero_as_one"):
        strides = tuple(s or 1 for s in strides)
    return strides


def _data(tensor: Any, shape: tuple[int, ...], itemsize: int) -> int:
    size = 1
    for extent in shape:
        size *= extent
    if size * itemsize > MOST_BYTES and not planted("overflow_unchecked"):
        raise BufferError(f"the shape {shape} has too many elements")
    if not tensor.data and (size or planted("null_refused")):
        raise BufferError("the data is NULL")
    offset = int(tensor.byte_offset)
    if planted("offset_ignored"):
        offset = 0
    if planted("offset_in_elements"):
        offset *= itemsize
    address = int(tensor.data or 0) + offset
    return address // itemsize * itemsize if planted("rounds_down") else address


def _memory(managed: Any, address: int) -> Memory:
    """Owns the tensor: the last reference calls its deleter."""
    release = managed.deleter or 0
    if planted("never_freed"):
        release = 0
    if planted("null_deleter_called") and not release:
        return Memory(address, 8)
    if planted("freed_early") and release:
        Deleter(release)(address)
        release = 0
    return Memory(address, release)

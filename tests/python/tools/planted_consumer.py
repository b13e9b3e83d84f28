"""A consumer in plain Python, with at most one planted defect, and the arrays that it returns."""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from types import SimpleNamespace
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.helpers import samples

# The dtypes that it supports: struct's format of an element; None: only its bytes.
FORMATS: dict[tuple[int, int, int], str | None] = {
    (0, 8, 1): "b",
    (0, 32, 1): "i",
    (0, 64, 1): "q",
    (1, 8, 1): "B",
    (1, 16, 1): "H",
    (2, 16, 1): "e",
    (2, 32, 1): "f",
    (2, 64, 1): "d",
    (4, 16, 1): None,
    (5, 64, 1): "ff",
    (5, 128, 1): "dd",
    (6, 8, 1): "?",
    (10, 8, 1): None,
}
# Defects that take one dtype for another.
MISTAKEN = {
    "bf16_as_f16": ((4, 16, 1), (2, 16, 1)),
    "f64_as_f32": ((2, 64, 1), (2, 32, 1)),
    "u8_as_i8": ((1, 8, 1), (0, 8, 1)),
    "bool_as_u8": ((6, 8, 1), (1, 8, 1)),
    "complex64_as_f64": ((5, 64, 1), (2, 64, 1)),
    "e4m3fn_as_i8": ((10, 8, 1), (0, 8, 1)),
    "unknown_as_float": ((200, 32, 1), (2, 32, 1)),
    "small_float_of_any_size": ((17, 8, 1), (1, 8, 1)),
    "odd_bits_as_float": ((2, 33, 1), (2, 32, 1)),
}
_lock = threading.Lock()


class Owner:
    """Calls the deleter of a managed tensor when the last array over its memory is dropped."""

    def __init__(self, managed: Any, defect: str) -> None:
        self.managed, self.defect = managed, defect
        if defect == "freed_early":
            self.free()

    def free(self) -> None:
        managed, self.managed = self.managed, None
        if managed is not None and managed.deleter:
            abi.Deleter(managed.deleter)(ctypes.addressof(managed))
            if self.defect == "freed_twice":
                abi.Deleter(managed.deleter)(ctypes.addressof(managed))

    def __del__(self) -> None:
        if self.defect == "never_freed":
            return
        if self.defect == "bare_not_freed" and self.managed and not self.managed.manager_ctx:
            return
        self.free()


class Array:
    """A strided array, which shares the memory of its owner."""

    def __init__(
        self,
        owner: Any,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        triple: tuple[int, int, int],
        readonly: bool = False,
        defect: str = "",
    ) -> None:
        self.owner, self.address, self.shape, self.strides = owner, address, shape, strides
        self.triple, self.readonly, self.defect = triple, readonly, defect

    @property
    def dtype(self) -> str:
        return samples.READABLE[self.triple]

    @property
    def flags(self) -> SimpleNamespace:
        return SimpleNamespace(writeable=not self.readonly)

    def _view(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        owner = None if self.defect == "views_own_nothing" else self.owner
        readonly = self.readonly and self.defect != "views_writable"
        return Array(owner, address, shape, strides, self.triple, readonly, self.defect)

    def __getitem__(self, key: Any) -> Array:
        keys = key if isinstance(key, tuple) else (key,)
        keys = () if keys == (Ellipsis,) else keys
        address, shape, strides = self.address, [], []
        for i, (n, step) in enumerate(zip(self.shape, self.strides)):
            each: Any = keys[i] if i < len(keys) else slice(None)
            if isinstance(each, int):
                address += each * step * samples.itemsize(self.triple)
                continue
            start, stop, by = each.indices(n)
            address += start * step * samples.itemsize(self.triple)
            shape.append(len(range(start, stop, by)))
            strides.append(step * by)
        return self._view(address, tuple(shape), tuple(strides))

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    @property
    def T(self) -> Array:
        return self._view(self.address, self.shape[::-1], self.strides[::-1])

    def __add__(self, other: Array) -> Any:
        pairs = zip(self.tolist(), other.tolist())
        return SimpleNamespace(tolist=lambda: [a + b for a, b in pairs])

    def tolist(self) -> Any:
        if self.shape:
            return [each.tolist() for each in self]
        content = ctypes.string_at(self.address, samples.itemsize(self.triple))
        form = FORMATS.get(self.triple)
        if form is None:
            return samples.decode(content, self.triple)
        parts = struct.unpack(f"={form}", content)
        return complex(*parts) if len(parts) == 2 else parts[0]

    # As a producer

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if copy:
            raise BufferError("this array cannot be copied")
        versioned = max_version is not None and max_version[0] >= 1
        if self.readonly and not versioned:
            raise BufferError("read-only memory needs a versioned capsule")
        shift = 4 if self.defect == "exports_the_next_element" else 0
        tensor = abi.make(
            data=self.address + shift,
            shape=self.shape,
            strides=self.strides,
            dtype=(1, 8, 1) if self.defect == "exports_bytes" else self.triple,
            version=(1, 0) if versioned else None,
            flags=abi.READ_ONLY if self.readonly else 0,
        )
        kept = [None if self.defect == "exports_own_nothing" else self.owner]
        tensor.on_delete = kept.clear
        return tensor.capsule()


class Consumer:
    """The function from_dlpack. `defect` names its incorrect behaviour."""

    def __init__(self, defect: str = "") -> None:
        self.defect = defect
        self.kept: list[Any] = []  # what a defect leaks
        self.by_pointer: dict[int, Any] = {}
        self.by_type: dict[type, Any] = {}
        self.by_producer: dict[int, Any] = {}

    def __call__(self, x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
        if device not in (None, "cpu"):
            raise ValueError(f"no device {device}")
        if self.defect == "any_object" and not hasattr(x, "__dlpack__"):
            return Array(None, 0, (0,), (1,), (2, 32, 1))
        if self.defect == "keeps_the_producer":
            self.kept.append(x)
        try:
            return self._import(x, device, copy)
        except Exception as error:
            if self.defect == "keeps_the_exception":
                self.kept.append(error)
            if self.defect == "wraps_exceptions":
                raise RuntimeError("the import failed") from error
            raise

    def _call(self, x: Any, words: dict[str, Any]) -> Any:
        if self.defect == "remembers_methods":
            return self.by_type.setdefault(type(x).__mro__[-2], type(x).__dlpack__)(x, **words)
        return x.__dlpack__(**words)

    def _ask(self, x: Any, device: str | None, copy: bool | None) -> Any:
        words: dict[str, Any] = {} if self.defect == "no_max_version" else {"max_version": (1, 0)}
        if device is not None:
            words["dl_device"] = "cpu" if self.defect == "device_is_no_pair" else abi.CPU
        if copy is not None and self.defect != "copy_not_sent":
            words["copy"] = copy
        retried: Any = (TypeError, BufferError) if self.defect == "any_error_retries" else TypeError
        try:
            return self._call(x, words)
        except retried:
            if self.defect == "no_retry":
                raise
            if self.defect == "wrong_class" and copy is False:
                raise OSError("copied") from None
            if copy and self.defect != "old_producers_share":
                raise BufferError("a producer without copy") from None
            return self._call(x, {})
        except BufferError:
            if self.defect == "wrong_class":
                raise OSError("it must be copied") from None
            raise

    def _import(self, x: Any, device: str | None, copy: bool | None) -> Any:
        device_type = x.__dlpack_device__()[0]
        if device_type != 1:
            raise (RuntimeError if self.defect == "wrong_error" else BufferError)("no such device")
        capsule = self._ask(x, device, copy)
        if not abi.is_capsule(capsule):
            raise TypeError("no capsule")
        with _lock:
            name = abi.name_of(capsule) or ""
            if self.defect == "used_accepted":
                name = name.replace("used_", "")
            if name not in abi.STRUCTS:
                raise BufferError(f"a capsule named {name!r}")
            if (name, self.defect) in (("dltensor", "no_legacy"), (abi.VERSIONED, "no_versioned")):
                raise BufferError(f"{name} is not supported")
            managed = abi.STRUCTS[name].from_address(abi.pointer_of(capsule))
            if self.defect in ("renamed_early", "frees_what_it_refuses"):
                try:
                    fields = self._read(managed, name)
                except Exception:
                    if self.defect == "renamed_early":
                        abi.rename(capsule, abi.USED[name])
                    else:
                        abi.Deleter(managed.deleter)(ctypes.addressof(managed))
                    raise
            else:
                fields = self._read(managed, name)
            if self.defect != "not_renamed":
                abi.rename(capsule, abi.USED[name])
        array = Array(Owner(managed, self.defect), *fields)
        array.defect = self.defect
        if self.defect == "copies_when_unaligned" and array.address % 64:
            return self._copied(array)
        if self.defect == "remembers_addresses":
            return self.by_pointer.setdefault(array.address, array)
        if self.defect == "remembers_producers":
            kept = self.by_producer.setdefault(id(x), (x, array))
            return kept[1]
        return array

    def _copied(self, array: Array) -> Array:
        size = samples.itemsize(array.triple) * math.prod(array.shape)
        strides = tuple(math.prod(array.shape[i + 1 :]) for i in range(len(array.shape)))
        block = ctypes.create_string_buffer(max(1, size))
        ctypes.memmove(block, array.address, size)
        return Array(block, ctypes.addressof(block), array.shape, strides, array.triple)

    def _read(self, managed: Any, name: str) -> tuple[Any, ...]:
        defect, is_legacy = self.defect, name == abi.LEGACY
        readonly = False
        if not is_legacy:
            if managed.version.major != 1 and defect != "major_ignored":
                raise BufferError("expected major version 1")
            if managed.version.minor > 3 and defect == "minor_refused":
                raise BufferError("a newer minor version")
            if managed.flags > 7 and defect == "flags_refused":
                raise BufferError("unknown flags")
            readonly = bool(managed.flags & abi.READ_ONLY) and defect != "read_only_ignored"
        tensor = managed.tensor
        if tensor.device.type != 1 and defect != "devices_read":
            raise BufferError("expected memory of the CPU")
        if not managed.deleter and defect == "no_deleter_refused":
            raise BufferError("a tensor without deleter")
        triple = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        if triple == MISTAKEN.get(defect, (None,))[0]:
            triple = MISTAKEN[defect][1]
        if defect == "lanes_ignored":
            triple = (*triple[:2], 1)
        if triple not in FORMATS or (triple[0] == 6 and defect == "bool_refused"):
            raise BufferError(f"no dtype {triple}")
        shape, strides = self._layout(tensor, is_legacy)
        return (
            self._address(tensor, shape, strides, triple, is_legacy),
            shape,
            strides,
            triple,
            readonly,
        )

    def _layout(self, tensor: Any, is_legacy: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        defect, ndim = self.defect, tensor.ndim
        if defect == "ndim_unchecked" and ndim < 0:
            ndim = 0
        if not 0 <= ndim <= 64 or (ndim and not tensor.shape):
            raise BufferError(f"{ndim} dimensions")
        if ndim == 0 and defect == "scalars_refused":
            raise BufferError("no dimensions")
        shape: tuple[int, ...] = ()
        if ndim:
            shape = tuple((ctypes.c_int64 * ndim).from_address(tensor.shape))
        if min(shape, default=0) < 0 or math.prod(shape) > 2**60:
            raise BufferError(f"the shape {shape}")
        compact = tuple(math.prod(shape[i + 1 :]) for i in range(ndim))
        if not ndim:
            return (), ()
        if not tensor.strides:
            if defect == "null_strides_refused":
                raise BufferError("NULL strides")
            if defect == "null_is_column_major" and is_legacy:
                return shape, tuple(math.prod(shape[:i]) for i in range(ndim))
            return shape, compact
        strides = tuple((ctypes.c_int64 * ndim).from_address(tensor.strides))
        if defect == "backwards_as_forwards" and not is_legacy:
            strides = tuple(map(abs, strides))
        if defect == "zero_as_one":
            strides = tuple(step or 1 for step in strides)
        if defect == "rank_3_is_compact" and ndim == 3:
            strides = compact
        if defect == "rank_4_is_compact" and ndim >= 4:
            strides = compact
        if defect == "extents_of_1_count" and 1 in shape:
            strides = tuple(reversed(strides))
        return shape, strides

    def _address(
        self,
        tensor: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        triple: Any,
        is_legacy: bool,
    ) -> int:
        defect, offset = self.defect, tensor.byte_offset
        size = math.prod(shape)
        if not tensor.data and (size or defect == "null_refused"):
            raise BufferError("the data is NULL")
        if offset and defect == "offset_refused":
            raise BufferError("an offset")
        if (
            (defect == "offset_ignored_in_legacy" and is_legacy)
            or (defect == "offset_ignored_in_versioned" and not is_legacy)
            or (defect == "offset_of_strided_ignored" and strides and strides[-1] != 1)
        ):
            offset = 0
        address = int(tensor.data or 0) + int(offset)
        if defect == "next_element":
            address += samples.itemsize(triple)
        if defect == "rounds_down":
            address = address // 16 * 16
        if defect == "rounds_down_to_elements":
            each = samples.itemsize(triple)
            address = address // each * each
        return address


def make(shape: tuple[int, ...] = (2, 3), dtype: str = "float32", readonly: bool = False) -> Array:
    """Returns new memory with the values 0, 1, 2, ..."""
    triple = next(it for it, name in samples.READABLE.items() if name == dtype)
    form = FORMATS[triple]
    if form is None:
        raise KeyError(dtype)
    size = math.prod(shape)
    numbers: Any = (bool(i) if form == "?" else i for i in range(size))
    content = b"".join(struct.pack(f"={form}", *(number, 0)[: len(form)]) for number in numbers)
    block = ctypes.create_string_buffer(content, max(1, len(content)))
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return Array(block, ctypes.addressof(block), shape, strides, triple, readonly)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    return Consumer()(x, device=device, copy=copy)

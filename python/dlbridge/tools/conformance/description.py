"""The probes of what a capsule says: device, shape, strides, offset, dtype, P-10 to P-21."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Callable

from dlbridge.tools import abi
from dlbridge.tools.buffers import buffer_of
from dlbridge.tools.conformance.exports import (
    ON_HOST,
    best,
    compact_strides,
    device_of,
    element_bytes,
    every_kind,
    export,
    make,
    reach,
    size,
    steps,
)
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import Target

SHAPES: tuple[tuple[int, ...], ...] = ((2, 3), (4, 1), (1, 4), (2, 0, 4), (3,), ())

# What each dtype is in a capsule, by its name in NumPy, PyTorch and JAX (dlpack.h, DLDataType).
DTYPES = {
    "int8": (0, 8, 1),
    "int16": (0, 16, 1),
    "int32": (0, 32, 1),
    "int64": (0, 64, 1),
    "uint8": (1, 8, 1),
    "uint16": (1, 16, 1),
    "uint32": (1, 32, 1),
    "uint64": (1, 64, 1),
    "float16": (2, 16, 1),
    "float32": (2, 32, 1),
    "float64": (2, 64, 1),
    "bfloat16": (4, 16, 1),
    "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
}
BELOW_A_BYTE = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float4_e2m1fn_x2")
# Widths that a code allows; those of codes beyond are 8 bits (7 to 14), 6 (15, 16) and 4 (17).
WIDTHS = {
    0: {1, 2, 4, 8, 16, 32, 64, 128},
    1: {1, 2, 4, 8, 16, 32, 64, 128},
    2: {16, 32, 64, 80, 96, 128},
    3: None,
    4: {16},
    5: {32, 64, 128, 160, 192, 256},
    6: {8},
    **{code: {8} for code in range(7, 15)},
    15: {6},
    16: {6},
    17: {4},
    18: {32},
}


def _views(target: Target) -> Iterator[tuple[str, Any]]:
    """The usual object, and views of it where it can be indexed and transposed."""
    x = make(target)
    yield "the array", x
    views: dict[str, Callable[[], Any]] = {
        "x[1:]": lambda: x[1:],
        "x[:, 1:]": lambda: x[:, 1:],
        "x[:, ::2]": lambda: x[:, ::2],
        "x.T": lambda: x.T,
    }
    for words, view in views.items():
        try:
            found = view()
            if callable(getattr(found, "__dlpack__", None)):
                export(found)
                yield words, found
        except (Skip, Exception):  # it has no such view, or does not export it
            continue


@probe("P-10")
def one_device(target: Target) -> None:
    x = make(target)
    said = device_of(x)
    for found in every_kind(x):
        there = found.contents.device
        if there != said:
            both_on_host = {there[0], said[0]} <= ON_HOST
            raise Broken(
                f"__dlpack_device__() is {said}, the capsule {found.contents.name!r} says {there}",
                severity="W" if both_on_host else None,
            )


@probe("P-11")
def shapes(target: Target) -> None:
    wanted = SHAPES if "shape" in target.accepts else (None,)
    for shape in wanted:
        try:
            x = make(target) if shape is None else make(target, shape=shape)
            exports = every_kind(x)
        except (Skip, BufferError):
            if shape in (None, (2, 3)):
                raise
            continue
        for found in exports:
            it = found.contents
            if it.ndim < 0:
                raise Broken(f"ndim is {it.ndim}")
            if it.ndim > abi.MAX_NDIM:
                raise Broken(f"ndim is {it.ndim}, which no library takes")
            if it.ndim > 0 and it.shape is None:
                what = "NULL" if it.shape_is_null else "a pointer that leads nowhere"
                raise Broken(f"ndim is {it.ndim}, and shape is {what}")
            assert it.shape is not None
            if any(extent < 0 for extent in it.shape):
                raise Broken(f"the shape is {it.shape}")
            if shape == (2, 3) and it.shape != shape:
                raise Broken(f"the array of shape {shape} has shape {it.shape} in its capsule")


@probe("P-12")
def strides_are_there(target: Target) -> None:
    for words, x in _views(target):
        for found in every_kind(x):
            it = found.contents
            if it.ndim <= 0 or it.strides is not None:
                continue
            if not it.strides_is_null:
                raise Broken(f"{words}: strides is a pointer that leads nowhere")
            if it.version is not None:
                raise Broken(
                    f"{words}: strides is NULL in a capsule of version {_dotted(it.version)}",
                    severity=None if it.version >= (1, 2) else "W",
                )


@probe("P-12")
def null_strides_are_row_major(target: Target) -> None:
    for words, x in _views(target):
        for found in every_kind(x):
            it = found.contents
            if not it.strides_is_null or it.ndim <= 0 or size(it) == 0:
                continue
            real = _real_strides(x, it)
            if real is not None and not _same_order(it.shape or (), real):
                raise Broken(
                    f"{words}: strides is NULL in {it.name!r}, and the array has {real}: "
                    "who reads it as row-major reads other elements",
                )


def _real_strides(x: Any, contents: abi.Contents) -> tuple[int, ...] | None:
    """An array's strides in elements, as anything but this capsule tells them."""
    buffer = buffer_of(x)
    if buffer is not None and buffer.itemsize > 0 and buffer.shape == contents.shape:
        return tuple(step // buffer.itemsize for step in buffer.strides)
    for other in every_kind(x):
        if other.contents.strides is not None:
            return other.contents.strides
    return None


def _same_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides are row-major; those of extents of 1 mean nothing."""
    rows = zip(shape, strides, compact_strides(shape))
    return all(extent == 1 or step == compact for extent, step, compact in rows)


@probe("P-13")
def within_its_memory(target: Target) -> str | None:
    known = False
    for words, x in _views(target):
        for found in every_kind(x):
            it = found.contents
            if it.shape is None or size(it) == 0 or element_bytes(it) == 0:
                continue
            low, high = reach(it)
            buffer = buffer_of(x) if it.device[0] in ON_HOST else None
            if buffer is not None:
                known = True
                if low < buffer.reach[0] or high > buffer.reach[1]:
                    raise Broken(
                        f"{words}: shape {it.shape} and strides {steps(it)} span "
                        f"{high - low} bytes from {low:#x}; the array's buffer has "
                        f"{buffer.reach[1] - buffer.reach[0]} bytes from {buffer.reach[0]:#x}"
                    )
                continue
            each = element_bytes(it)
            in_bytes = tuple(step * each for step in compact_strides(it.shape))
            if each > 1 and words == "the array" and it.strides == in_bytes:
                raise Broken(
                    f"strides of {it.strides} for shape {it.shape} and elements of {each} bytes: "
                    "they seem to be counted in bytes"
                )
            if it.device[0] in ON_HOST and abi.read_memory(low, high - low) is None:
                raise Broken(f"{words}: {high - low} bytes from {low:#x} cannot be read")
    return None if known else "the array has no buffer protocol: its bounds are not known"


@probe("P-14")
def byte_offsets(target: Target) -> None:
    for words, x in _views(target):
        for found in every_kind(x):
            it = found.contents
            if it.byte_offset == 0:
                continue
            if element_bytes(it) and it.byte_offset % element_bytes(it):
                raise Broken(
                    f"{words}: byte_offset is {it.byte_offset}, with elements of "
                    f"{element_bytes(it)} bytes"
                )
            if it.device[0] in ON_HOST | {2, 10}:
                raise Broken(f"{words}: byte_offset is {it.byte_offset}", severity="W")


@probe("P-15")
def idle_strides(target: Target) -> None:
    if "shape" not in target.accepts:
        raise Skip("the factory takes no `shape`, so no array with an extent of 1 or 0")
    examined = 0
    for shape in ((4, 1), (1, 4), (2, 0, 4), (1, 1, 1)):
        try:
            exports = every_kind(make(target, shape=shape))
        except (Skip, BufferError):
            continue
        for found in exports:
            it = found.contents
            if it.strides is None or it.shape is None:
                continue
            examined += 1
            most = 1
            for extent in it.shape:
                most *= max(1, extent)
            for extent, step in zip(it.shape, it.strides):
                if (extent == 1 or size(it) == 0) and not 0 <= step <= most:
                    raise Broken(f"shape {it.shape} has strides {it.strides}")
    if examined == 0:
        raise Skip("none of the arrays with an extent of 1 or 0 has strides")


@probe("P-16")
def legal_dtypes(target: Target) -> str | None:
    names = [None, *DTYPES] if "dtype" in target.accepts else [None]
    seen = []
    for name in names:
        try:
            x = make(target) if name is None else make(target, dtype=name)
            it = best(x).contents
        except (Skip, BufferError):
            continue
        seen.append(_name_of(it.dtype))
        why = _illegal(it.dtype)
        if why is not None:
            raise Broken(f"{name or 'the array'} is {it.dtype}: {why}")
        wanted = it.dtype if name is None else DTYPES[name]
        if it.dtype == wanted or (name is not None and _is_another(x, name)):
            continue
        raise Broken(f"{name} is {it.dtype}", expected=f"{name} is {wanted}: code, bits, lanes.")
    if not seen:
        raise Skip("the producer gives no capsule that can be read")
    return f"seen: {', '.join(dict.fromkeys(seen))}"


def _illegal(dtype: tuple[int, int, int]) -> str | None:
    """What is wrong with a dtype, None where nothing is."""
    code, bits, lanes = dtype
    if lanes < 1:
        return "lanes must be at least 1"
    if bits < 1:
        return "bits must be above 0"
    if code not in WIDTHS:
        return f"{code} is none of DLDataTypeCode"
    widths = WIDTHS[code]
    if code == 1 and bits == 1:
        return None  # a bool, of which P-17 tells
    return None if widths is None or bits in widths else f"code {code} has no width of {bits} bits"


def _name_of(dtype: tuple[int, int, int]) -> str:
    return next((name for name, known in DTYPES.items() if known == dtype), str(dtype))


def _is_another(x: Any, name: str) -> bool:
    """Whether the array says itself that it is of another dtype than was asked for.

    JAX narrows to 32 bits, and Paddle's uint16 is a bfloat16: neither is a matter of DLPack.
    """
    own = getattr(x, "dtype", None)
    return own is not None and name not in re.split(r"\W+", str(own))


@probe("P-17")
def booleans(target: Target) -> None:
    it = best(make(target, dtype="bool")).contents
    if it.dtype != (6, 8, 1):
        raise Broken(f"bool is {it.dtype}")


@probe("P-18")
def below_a_byte(target: Target) -> str:
    best(make(target))
    if "dtype" not in target.accepts:
        return "the factory takes no `dtype`, so nothing below a byte"
    notes = []
    for name in BELOW_A_BYTE:
        try:
            it = best(make(target, dtype=name)).contents
        except (Skip, Exception):  # it has no such dtype, or does not export it
            continue
        padded = bool(it.flags & abi.SUBBYTE_PADDED)
        whole = it.dtype[1] * it.dtype[2] % 8 == 0
        if padded and it.version is not None and it.version < (1, 1):
            raise Broken(f"{name} is marked as padded in version {_dotted(it.version)}")
        how = "whole bytes" if whole else "padded" if padded else "packed"
        notes.append(f"{name} is {it.dtype}, {how}")
    return "; ".join(notes) or "it has no dtype below a byte"


@probe("P-19")
def size_zero(target: Target) -> str:
    x = make(target, shape=(2, 0, 4))
    notes = []
    try:
        found = every_kind(x)
    except BufferError as refused:
        raise Broken(f"an array of shape (2, 0, 4) is refused: {refused}") from None
    for it in (each.contents for each in found):
        if it.shape is None or size(it) != 0:
            raise Broken(f"the array of shape (2, 0, 4) has shape {it.shape} in its capsule")
        if it.data == 0:
            notes.append(f"{it.name}: data is NULL")
            continue
        notes.append(f"{it.name}: data is a pointer")
        if it.device[0] in ON_HOST and abi.read_memory(it.first, 1) is None:
            raise Broken(f"data is {it.data:#x}, where nothing can be read", severity="W")
    return ", ".join(notes)


@probe("P-20")
def no_dimensions(target: Target) -> None:
    x = make(target, shape=())
    try:
        found = every_kind(x)
    except BufferError as refused:
        raise Broken(f"an array of no dimensions is refused: {refused}") from None
    for it in (each.contents for each in found):
        if it.ndim != 0:
            raise Broken(f"the array of shape () has shape {it.shape} in its capsule")
        if it.data == 0:
            raise Broken("data is NULL, and there is one element")
        if it.device[0] in ON_HOST and abi.read_memory(it.first, element_bytes(it)) is None:
            raise Broken(f"the element at {it.first:#x} cannot be read")


@probe("P-21")
def alignment(target: Target) -> str:
    it = best(make(target)).contents
    if it.first == 0:
        return "data is NULL"
    found = max(power for power in (1 << i for i in range(9)) if it.first % power == 0)
    return f"the first element is aligned to {found} bytes" + (" or more" if found == 256 else "")


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"

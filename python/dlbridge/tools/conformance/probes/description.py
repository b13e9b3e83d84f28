"""The probes of a capsule's fields: device, shape, strides, offset, dtype, P-10 to P-21."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Callable

from dlbridge.tools import abi, devices, dtypes
from dlbridge.tools.buffers import buffer_of
from dlbridge.tools.conformance.helpers.exports import (
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
from dlbridge.tools.conformance.outcomes import Broken, Skip
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

SHAPES: tuple[tuple[int, ...], ...] = ((2, 3), (4, 1), (1, 4), (2, 0, 4), (3,), ())

DTYPES = {name: triple for name, (triple, _) in dtypes.ENCODABLE.items() if name != "bool"}
BELOW_A_BYTE = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float4_e2m1fn_x2")


def _views(target: Target) -> Iterator[tuple[str, Any]]:
    """Yields the default object, and views of it where it supports indexing and transposing."""
    x = make(target)
    yield "the array", x
    views: dict[str, Callable[[], Any]] = {
        "x[1:]": lambda: x[1:],
        "x[:, 1:]": lambda: x[:, 1:],
        "x[:, ::2]": lambda: x[:, ::2],
        "x.T": lambda: x.T,
    }
    for label, view in views.items():
        try:
            item = view()
            if callable(getattr(item, "__dlpack__", None)):
                export(item)
                yield label, item
        except (Skip, Exception):  # it has no such view, or does not export it
            continue


@probe("P-10")
def one_device(target: Target) -> None:
    x = make(target)
    reported = device_of(x)
    for item in every_kind(x):
        actual = item.contents.device
        if actual != reported:
            both_on_host = {actual[0], reported[0]} <= devices.HOST_ACCESSIBLE
            raise Broken(
                f"__dlpack_device__() is {reported}; {item.contents.name!r} has {actual}",
                severity="W" if both_on_host else None,
            )


@probe("P-11")
def shapes(target: Target) -> None:
    requests = SHAPES if "shape" in target.accepts else (None,)
    for shape in requests:
        try:
            x = make(target) if shape is None else make(target, shape=shape)
            exports = every_kind(x)
        except (Skip, BufferError):
            if shape in (None, (2, 3)):
                raise
            continue
        for item in exports:
            tensor = item.contents
            if tensor.ndim < 0:
                raise Broken(f"ndim is {tensor.ndim}")
            if tensor.ndim > abi.MAX_NDIM:
                raise Broken(f"ndim is {tensor.ndim}, which no library supports")
            if tensor.ndim > 0 and tensor.shape is None:
                what = "NULL" if tensor.shape_is_null else "a pointer that is not readable"
                raise Broken(f"ndim is {tensor.ndim}, and shape is {what}")
            assert tensor.shape is not None
            if any(extent < 0 for extent in tensor.shape):
                raise Broken(f"the shape is {tensor.shape}")
            if shape == (2, 3) and tensor.shape != shape:
                raise Broken(f"the array of shape {shape} has shape {tensor.shape} in its capsule")


@probe("P-12")
def strides_are_there(target: Target) -> None:
    for label, x in _views(target):
        for item in every_kind(x):
            tensor = item.contents
            if tensor.ndim <= 0 or tensor.strides is not None:
                continue
            if not tensor.strides_is_null:
                raise Broken(f"{label}: strides is a pointer that is not readable")
            if tensor.version is not None:
                raise Broken(
                    f"{label}: strides is NULL in a capsule of version {_dotted(tensor.version)}",
                    severity=None if tensor.version >= (1, 2) else "W",
                )


@probe("P-12")
def null_strides_are_row_major(target: Target) -> None:
    for label, x in _views(target):
        for item in every_kind(x):
            tensor = item.contents
            if not tensor.strides_is_null or tensor.ndim <= 0 or size(tensor) == 0:
                continue
            strides = _real_strides(x, tensor)
            if strides is not None and not _same_order(tensor.shape or (), strides):
                raise Broken(
                    f"{label}: strides is NULL in {tensor.name!r}, and the array has {strides}: "
                    "a consumer that assumes row-major order reads other elements",
                )


def _real_strides(x: Any, contents: abi.Contents) -> tuple[int, ...] | None:
    """Returns an array's strides in elements, from any source but this capsule."""
    buffer = buffer_of(x)
    if buffer is not None and buffer.itemsize > 0 and buffer.shape == contents.shape:
        return tuple(step // buffer.itemsize for step in buffer.strides)
    for other in every_kind(x):
        if other.contents.strides is not None:
            return other.contents.strides
    return None


def _same_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides are row-major; strides of extents of 1 are ignored."""
    rows = zip(shape, strides, compact_strides(shape))
    return all(extent == 1 or step == compact for extent, step, compact in rows)


@probe("P-13")
def within_its_memory(target: Target) -> str | None:
    is_bounded = False
    for label, x in _views(target):
        for item in every_kind(x):
            tensor = item.contents
            if tensor.shape is None or size(tensor) == 0 or element_bytes(tensor) == 0:
                continue
            low, high = reach(tensor)
            buffer = buffer_of(x) if tensor.device[0] in devices.HOST_ACCESSIBLE else None
            if buffer is not None:
                is_bounded = True
                if low < buffer.reach[0] or high > buffer.reach[1]:
                    raise Broken(
                        f"{label}: shape {tensor.shape} and strides {steps(tensor)} span "
                        f"{high - low} bytes from {low:#x}; the array's buffer has "
                        f"{buffer.reach[1] - buffer.reach[0]} bytes from {buffer.reach[0]:#x}"
                    )
                continue
            itemsize = element_bytes(tensor)
            in_bytes = tuple(step * itemsize for step in compact_strides(tensor.shape))
            if itemsize > 1 and label == "the array" and tensor.strides == in_bytes:
                raise Broken(
                    f"strides of {tensor.strides} for shape {tensor.shape} and elements of "
                    f"{itemsize} bytes: they seem to count bytes"
                )
            if (
                tensor.device[0] in devices.HOST_ACCESSIBLE
                and abi.read_memory(low, high - low) is None
            ):
                raise Broken(f"{label}: {high - low} bytes from {low:#x} are not readable")
    return None if is_bounded else "the array has no buffer protocol: its bounds are unknown"


@probe("P-14")
def byte_offsets(target: Target) -> None:
    for label, x in _views(target):
        for item in every_kind(x):
            tensor = item.contents
            if tensor.byte_offset == 0:
                continue
            if element_bytes(tensor) and tensor.byte_offset % element_bytes(tensor):
                raise Broken(
                    f"{label}: byte_offset is {tensor.byte_offset}, with elements of "
                    f"{element_bytes(tensor)} bytes"
                )
            if tensor.device[0] in devices.HOST_ACCESSIBLE | {devices.CUDA, devices.ROCM}:
                raise Broken(f"{label}: byte_offset is {tensor.byte_offset}", severity="W")


@probe("P-15")
def idle_strides(target: Target) -> None:
    if "shape" not in target.accepts:
        raise Skip("the factory has no parameter `shape`; extents of 1 and 0 are needed")
    examined = 0
    for shape in ((4, 1), (1, 4), (2, 0, 4), (1, 1, 1)):
        try:
            exports = every_kind(make(target, shape=shape))
        except (Skip, BufferError):
            continue
        for item in exports:
            tensor = item.contents
            if tensor.strides is None or tensor.shape is None:
                continue
            examined += 1
            most = 1
            for extent in tensor.shape:
                most *= max(1, extent)
            for extent, step in zip(tensor.shape, tensor.strides):
                if (extent == 1 or size(tensor) == 0) and not 0 <= step <= most:
                    raise Broken(f"shape {tensor.shape} has strides {tensor.strides}")
    if examined == 0:
        raise Skip("none of the arrays with an extent of 1 or 0 has strides")


@probe("P-16")
def legal_dtypes(target: Target) -> str | None:
    requests = [None, *DTYPES] if "dtype" in target.accepts else [None]
    names = []
    for name in requests:
        try:
            x = make(target) if name is None else make(target, dtype=name)
            tensor = best(x).contents
        except (Skip, BufferError):
            continue
        names.append(_name_of(tensor.dtype))
        reason = _illegal(tensor.dtype)
        if reason is not None:
            raise Broken(f"{name or 'the array'} is {tensor.dtype}: {reason}")
        expected = tensor.dtype if name is None else DTYPES[name]
        if tensor.dtype == expected or (name is not None and _is_another(x, name)):
            continue
        raise Broken(
            f"{name} is {tensor.dtype}", expected=f"{name} is {expected}: code, bits, lanes."
        )
    if not names:
        raise Skip("the producer returns no capsule that can be read")
    return f"exported: {', '.join(dict.fromkeys(names))}"


def _illegal(dtype: tuple[int, int, int]) -> str | None:
    """Returns what is wrong with a dtype, None for a valid one."""
    code, bits, lanes = dtype
    if lanes < 1:
        return "lanes must be at least 1"
    if bits < 1:
        return "bits must be above 0"
    if code not in dtypes.CODES:
        return f"{code} is none of DLDataTypeCode"
    widths = dtypes.CODES[code].widths
    if code == dtypes.UINT and bits == 1:
        return None  # a bool; P-17 reports it
    return None if widths is None or bits in widths else f"code {code} has no width of {bits} bits"


def _name_of(dtype: tuple[int, int, int]) -> str:
    return next((name for name, is_bounded in DTYPES.items() if is_bounded == dtype), str(dtype))


def _is_another(x: Any, name: str) -> bool:
    """Whether the array reports another dtype than the requested one.

    JAX narrows to 32 bits, and Paddle's uint16 is a bfloat16: neither is an error of the export.
    """
    own = getattr(x, "dtype", None)
    return own is not None and name not in re.split(r"\W+", str(own))


@probe("P-17")
def booleans(target: Target) -> None:
    tensor = best(make(target, dtype="bool")).contents
    if tensor.dtype != (dtypes.BOOL, 8, 1):
        raise Broken(f"bool is {tensor.dtype}")


@probe("P-18")
def below_a_byte(target: Target) -> str:
    best(make(target))
    if "dtype" not in target.accepts:
        return "the factory has no parameter `dtype`; dtypes smaller than a byte are needed"
    notes = []
    for name in BELOW_A_BYTE:
        try:
            tensor = best(make(target, dtype=name)).contents
        except (Skip, Exception):  # it has no such dtype, or does not export it
            continue
        padded = bool(tensor.flags & abi.SUBBYTE_PADDED)
        whole = tensor.dtype[1] * tensor.dtype[2] % 8 == 0
        if padded and tensor.version is not None and tensor.version < (1, 1):
            raise Broken(f"{name} is marked as padded in version {_dotted(tensor.version)}")
        how = "whole bytes" if whole else "padded" if padded else "packed"
        notes.append(f"{name} is {tensor.dtype}, {how}")
    return "; ".join(notes) or "the library has no dtype smaller than a byte"


@probe("P-19")
def size_zero(target: Target) -> str:
    x = make(target, shape=(2, 0, 4))
    notes = []
    try:
        item = every_kind(x)
    except BufferError as error:
        raise Broken(f"an array of shape (2, 0, 4) is refused: {error}") from None
    for tensor in (itemsize.contents for itemsize in item):
        if tensor.shape is None or size(tensor) != 0:
            raise Broken(f"the array of shape (2, 0, 4) has shape {tensor.shape} in its capsule")
        if tensor.data == 0:
            notes.append(f"{tensor.name}: data is NULL")
            continue
        notes.append(f"{tensor.name}: data is a pointer")
        if tensor.device[0] in devices.HOST_ACCESSIBLE and abi.read_memory(tensor.first, 1) is None:
            raise Broken(f"data is {tensor.data:#x}, which is not readable", severity="W")
    return ", ".join(notes)


@probe("P-20")
def no_dimensions(target: Target) -> None:
    x = make(target, shape=())
    try:
        item = every_kind(x)
    except BufferError as error:
        raise Broken(f"an array without dimensions is refused: {error}") from None
    for tensor in (itemsize.contents for itemsize in item):
        if tensor.ndim != 0:
            raise Broken(f"the array of shape () has shape {tensor.shape} in its capsule")
        if tensor.data == 0:
            raise Broken("data is NULL, although there is one element")
        if (
            tensor.device[0] in devices.HOST_ACCESSIBLE
            and abi.read_memory(tensor.first, element_bytes(tensor)) is None
        ):
            raise Broken(f"the element at {tensor.first:#x} is not readable")


@probe("P-21")
def alignment(target: Target) -> str:
    tensor = best(make(target)).contents
    if tensor.first == 0:
        return "data is NULL"
    item = max(power for power in (1 << i for i in range(9)) if tensor.first % power == 0)
    return f"the first element is aligned to {item} bytes" + (" or more" if item == 256 else "")


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"

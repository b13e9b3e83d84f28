# SPDX-License-Identifier: BSD-3-Clause
"""What an array tells of itself without DLPack: its numbers, its shape, and its memory."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable, Optional, TypeVar

from ... import abi, buffers, dtypes, elements
from .. import journal
from ..outcomes import name_error

MOST_ITEMS = 64  # arrays with more elements are not read one by one
MOST_LISTED = 4096  # elements of which all are read, where only some are asked for
MOST_CONVERTED = 1 << 22  # elements for which a conversion to NumPy is called
MASKED = "it has masked elements"
OURS = ("__dlpack__", "from_dlpack", "to_dlpack")
Result = TypeVar("Result")


class UsesDlpack(Exception):
    """A way that leads through DLPack, and tells nothing of its own."""


@dataclass(frozen=True)
class Reading:
    """Numbers in row-major order, and how they were read."""

    way: str  # "tolist()"
    numbers: tuple[Any, ...]


class Masked(Exception):
    """An array has masked elements, in place of which NumPy lists None."""


Shape = tuple[int, ...]
Places = Optional[Sequence[int]]  # the numbers of elements in row-major order; None: of all
Way = Callable[[Any, Shape, int, Places], tuple[Any, ...]]


def reading_of(x: Any, shape: Shape, code: int, places: Places = None) -> Reading | None:
    """Reads an array by the first way that it has and that does not use DLPack itself.

    `code` is that of the dtype, for the conversion of single elements.
    """
    return try_ways(x, shape, code, places)[0]


def try_ways(x: Any, shape: Shape, code: int, places: Places = None) -> tuple[Reading | None, str]:
    """As reading_of(), with the reason why there is no reading."""
    reason = "the object has no other way to read its elements"
    for name, (is_offered, way) in WAYS.items():
        try:
            if not is_offered(x):
                continue
            with journal.entry(journal.Call("view", name)):
                numbers = without_dlpack(lambda way=way: way(x, shape, code, places))  # type: ignore[misc]
            count = math.prod(shape) if places is None else len(places)
            if len(numbers) == count and not _are_bits(x, numbers):
                return Reading(name, numbers), ""
        except Masked:
            return None, MASKED
        except (UsesDlpack, journal.Excluded):
            continue
        except Exception as error:  # the way fails for this dtype, or this array
            reason = f"{name} raises {name_error(error)}"
    return None, reason


def _are_bits(x: Any, numbers: tuple[Any, ...]) -> bool:
    """Whether a way shows bfloat16 as integers, as NumPy and Python have no such dtype."""
    return "bfloat" in (dtype_of(x) or "") and any(type(each) is int for each in numbers)


def without_dlpack(function: Callable[[], Result]) -> Result:
    """Calls a function. Raises UsesDlpack where a function of DLPack was called meanwhile."""
    seen = False

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        if event == "call":
            seen = seen or frame.f_code.co_name in OURS
        elif event == "c_call":
            seen = seen or getattr(argument, "__name__", "") in OURS

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        result = function()
    finally:
        sys.setprofile(before)
    if seen:
        raise UsesDlpack
    return result


def _some(values: Sequence[Any], places: Places) -> Iterable[Any]:
    return values if places is None else (values[each] for each in places)


def _is_little(shape: Shape, places: Places) -> None:
    """Raises ValueError where so few of so many elements are asked for that not all are read."""
    if places is not None and math.prod(shape) > MOST_LISTED:
        raise ValueError(f"more than {MOST_LISTED} elements are not listed")


def _by_tolist(x: Any, shape: Shape, code: int, places: Places) -> tuple[Any, ...]:
    _is_little(shape, places)
    nested = x.tolist()
    if math.prod(shape) and elements.shape_of(nested) != shape:
        raise ValueError("a flat list, in an order that is not known")
    return _numbers(_some(elements.flat(nested), places), code)


def _by_buffer(x: Any, shape: Shape, code: int, places: Places) -> tuple[Any, ...]:
    return _by_tolist(memoryview(x), shape, code, places)


def _by_interface(x: Any, shape: Shape, code: int, places: Places) -> tuple[Any, ...]:
    _is_little(shape, places)
    interface = x.__array_interface__
    kind, nbytes = interface["typestr"][1], int(interface["typestr"][2:])
    own_code = dtypes.code_of_kind(kind)
    assert own_code is not None
    strides = interface.get("strides")
    if strides is None:
        strides = [step * nbytes for step in elements.row_major(shape)]
    low, end = _bounds_in(interface) or (0, 0)
    memory = abi.read_memory(low, end - low) if low < end else b""
    assert memory is not None
    first = interface["data"][0] - low
    starts = [first + offset for offset in elements.offsets(shape, strides)]
    raw = b"".join(memory[start : start + nbytes] for start in _some(starts, places))
    numbers = decode(raw, (own_code, 8 * nbytes, 1))
    assert numbers is not None
    return numbers


def _by_items(x: Any, shape: Shape, code: int, places: Places) -> tuple[Any, ...]:
    if places is None and math.prod(shape) > MOST_ITEMS:
        raise ValueError(f"more than {MOST_ITEMS} items are not read one by one")
    indices = (elements.index_at(shape, each) for each in places or range(math.prod(shape)))
    return _numbers((x[index[0] if len(index) == 1 else index] for index in indices), code)


def _by_conversion(method: str) -> tuple[Callable[[Any], bool], Way]:
    """Returns how NumPy's array is read to which a method converts."""

    def way(x: Any, shape: Shape, code: int, places: Places) -> tuple[Any, ...]:
        if math.prod(shape) > MOST_CONVERTED:
            raise ValueError(f"more than {MOST_CONVERTED} elements are not converted")
        array = getattr(x, method)()
        if tuple(array.shape) != shape:
            raise ValueError(f"it has the shape {tuple(array.shape)}")
        return _by_items(array, shape, code, range(math.prod(shape)) if places is None else places)

    return lambda x: hasattr(type(x), method), way


# Whether an array has a way, and the way.
WAYS: dict[str, tuple[Callable[[Any], bool], Way]] = {
    "tolist()": (lambda x: callable(getattr(x, "tolist", None)), _by_tolist),
    "the buffer protocol": (buffers.offered, _by_buffer),
    "__array_interface__": (lambda x: hasattr(x, "__array_interface__"), _by_interface),
    "its items": (lambda x: hasattr(type(x), "__getitem__"), _by_items),
    "__array__()": _by_conversion("__array__"),
    "numpy()": _by_conversion("numpy"),
}
CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    dtypes.INT: int,
    dtypes.UINT: int,
    dtypes.BOOL: bool,
    dtypes.COMPLEX: complex,
}


def _numbers(values: Iterable[Any], code: int) -> tuple[Any, ...]:
    return tuple(_number(each, code) for each in values)


def _number(value: Any, code: int) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        return value
    if value is None:
        raise Masked
    if isinstance(value, (str, bytes)):
        raise TypeError(f"an element is {value!r:.20}")
    return CONVERSIONS.get(code, float)(value)


# The elements of a tensor ----------------------------------------------------------------------


def decode(raw: bytes, dtype: tuple[int, int, int]) -> tuple[Any, ...] | None:
    """Returns the numbers in memory; None for a dtype that Python cannot read.

    >>> decode(bytes([0, 0, 128, 63]), (2, 32, 1)), decode(bytes([128, 63]), (4, 16, 1))
    ((1.0,), (1.0,))
    """
    code, bits, lanes = dtype
    format_ = dtypes.element_format(code, bits)
    if format_ is None or lanes != 1:
        return None
    if format_ == dtypes.BFLOAT16:  # the upper half of a float32
        pairs = (raw[i : i + 2] for i in range(0, len(raw), 2))
        return tuple(struct.unpack("<f", b"\0\0" + pair)[0] for pair in pairs)
    parts = tuple(struct.iter_unpack(f"={format_}", raw))
    return tuple(complex(*each) if len(each) == 2 else each[0] for each in parts)


def same(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Whether as many numbers are the same, by elements.same()."""
    pairs = itertools.zip_longest(one, other, fillvalue="none")
    return all(elements.same(a, b) for a, b in pairs)


# The memory of an array ------------------------------------------------------------------------


def shape_of(x: Any) -> tuple[int, ...] | None:
    """Returns the attribute `shape`, None where it is no sequence of integers."""
    try:
        return tuple(operator.index(extent) for extent in x.shape)
    except Exception:
        return None


def dtype_of(x: Any) -> str | None:
    """Returns the text of the attribute `dtype` or `type`, None where there is neither."""
    for name in ("dtype", "type"):
        try:
            value = getattr(x, name)
        except Exception:
            continue
        if not inspect.isroutine(value):
            return str(value)
    return None


def bounds_of(x: Any) -> tuple[int, int] | None:
    """Returns the addresses of an array's elements, the end excluded; None where it tells none."""
    for way in (_bounds_by_buffer, _bounds_by_interface, _bounds_by_cuda_interface):
        try:
            bounds = way(x)
        except Exception:
            continue
        if bounds is not None and bounds[0] < bounds[1]:
            return bounds
    return None


def _bounds_by_buffer(x: Any) -> tuple[int, int] | None:
    """The bounds of the buffer; None for an exporter that copies, as its addresses show."""
    held = buffers.get(x)
    try:
        buffer = buffers.buffer_of(x)
    finally:
        buffers.release(held)
    is_same = buffer is not None and buffer.address == held.buf
    return buffer.reach if buffer is not None and is_same else None


def _bounds_by_interface(x: Any) -> tuple[int, int] | None:
    return _bounds_in(x.__array_interface__)


def _bounds_by_cuda_interface(x: Any) -> tuple[int, int] | None:
    return _bounds_in(x.__cuda_array_interface__)


def _bounds_in(interface: dict[str, Any]) -> tuple[int, int] | None:
    address, nbytes = interface["data"][0], int(interface["typestr"][2:])
    shape, strides = interface["shape"], interface.get("strides")
    if 0 in shape:
        return None
    if strides is None:
        return address, address + math.prod(shape) * nbytes
    lowest, highest = elements.span(shape, strides)
    return address + lowest, address + highest + nbytes

"""Helpers for probes of producers: exports a capsule, and reads the memory of its tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.helpers import device_memory
from dlbridge.tools.conformance.outcomes import Skip, name_error
from dlbridge.tools.conformance.target import Target

NEWEST = (1, 3)  # sent as max_version
MOST_ELEMENTS = 1 << 20  # arrays with more elements are not compared


@dataclass(frozen=True)
class Export:
    """A fresh capsule and its contents. Dropping the capsule frees the tensor."""

    capsule: Any
    contents: abi.Contents


def make(target: Target, **arguments: Any) -> Any:
    """Calls the factory. Raises Skip where the object has no __dlpack__."""
    x = target.make(**arguments)
    if not callable(getattr(x, "__dlpack__", None)):
        raise Skip(f"{type(x).__name__} has no __dlpack__")
    return x


def export(x: Any, **keywords: Any) -> Export:
    """Calls x.__dlpack__(**keywords), and passes its exceptions on.

    Raises Skip where the result is no readable tensor: P-03 and P-04 report that.
    """
    capsule = x.__dlpack__(**keywords)
    try:
        return Export(capsule, abi.read(capsule))
    except (TypeError, abi.Unreadable) as unreadable:
        raise Skip(f"its capsule cannot be read: {unreadable}") from None


def accepts_keyword(x: Any, keyword: str) -> bool:
    """Whether __dlpack__ accepts a keyword: an older producer raises TypeError."""
    try:
        x.__dlpack__(**{keyword: None})
    except TypeError:
        return False
    except Exception:  # it accepts the keyword and refuses the value
        return True
    return True


def versioned(x: Any, **keywords: Any) -> Export:
    """As export(), with max_version. Raises Skip where the capsule is legacy."""
    if not accepts_keyword(x, "max_version"):
        raise Skip("__dlpack__ has no keyword max_version")
    result = export(x, max_version=NEWEST, **keywords)
    if result.contents.version is None:
        raise Skip("the producer returns legacy capsules only")
    return result


def best(x: Any, **keywords: Any) -> Export:
    """As export(), with max_version where the producer accepts it."""
    return export(
        x, **({"max_version": NEWEST} if accepts_keyword(x, "max_version") else {}), **keywords
    )


def every_kind(x: Any) -> list[Export]:
    """Returns a legacy export and a versioned one, as far as the producer supports them."""
    result = []
    for attempt in (export, versioned):
        try:
            result.append(attempt(x))
        except (Skip, BufferError):
            continue
    if not result:
        raise Skip("the producer returns no capsule that can be read")
    return result


def device_of(x: Any) -> tuple[int, int]:
    """Calls __dlpack_device__. Raises Skip where the result is no pair of integers."""
    try:
        type_, index = x.__dlpack_device__()
        return int(type_), int(index)
    except Exception as error:
        raise Skip(f"__dlpack_device__ fails: {name_error(error)}") from None


# The memory of a tensor -------------------------------------------------------------------------


def element_bytes(contents: abi.Contents) -> int:
    _, bits, lanes = contents.dtype
    return (bits * lanes + 7) // 8


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements.

    >>> compact_strides((2, 3, 4)), compact_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    result = [1]
    for extent in shape[:0:-1]:
        result.insert(0, result[0] * max(1, extent))
    return tuple(result[: len(shape)])


def steps(contents: abi.Contents) -> tuple[int, ...]:
    """Returns the strides, those of a row-major array where the pointer is NULL."""
    if contents.strides is not None:
        return contents.strides
    return compact_strides(contents.shape or ())


def size(contents: abi.Contents) -> int:
    count = 1
    for extent in contents.shape or ():
        count *= extent
    return count


def reach(contents: abi.Contents) -> tuple[int, int]:
    """Returns the addresses that the elements span, the end excluded; equal for an empty tensor."""
    if size(contents) == 0:
        return contents.first, contents.first
    ends = [(n - 1) * step for n, step in zip(contents.shape or (), steps(contents))]
    each = element_bytes(contents)
    lowest = contents.first + each * sum(end for end in ends if end < 0)
    highest = contents.first + each * sum(end for end in ends if end > 0)
    return lowest, highest + each


def content(contents: abi.Contents) -> bytes | None:
    """Returns the elements in row-major order; None for unreadable memory or too many elements."""
    if not 0 < size(contents) <= MOST_ELEMENTS:
        return None
    lowest, end = reach(contents)
    memory = device_memory.read(lowest, end - lowest, contents.device)
    if memory is None:
        return None
    each = element_bytes(contents)
    if steps(contents) == compact_strides(contents.shape or ()):
        return memory
    parts = [contents.first - lowest]
    for extent, step in zip(contents.shape or (), steps(contents)):
        parts = [start + i * step * each for start in parts for i in range(extent)]
    return b"".join(memory[start : start + each] for start in parts)

"""What probes of producers need: a capsule that was asked for, and what its memory holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.probes import Skip
from dlbridge.tools.conformance.target import Target, name_error

ON_HOST = {1, 3, 11, 13}  # kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged
NEWEST = (1, 3)  # sent as max_version
MOST_ELEMENTS = 1 << 20  # of which the content is compared


@dataclass(frozen=True)
class Export:
    """A fresh capsule, and what is in it. Dropping it drops the tensor."""

    capsule: Any
    contents: abi.Contents


def make(target: Target, **wanted: Any) -> Any:
    """An object of the factory that can export. Raises Skip where there is none."""
    made = target.make(**wanted)
    if not callable(getattr(made, "__dlpack__", None)):
        raise Skip(f"{type(made).__name__} has no __dlpack__")
    return made


def export(x: Any, **keywords: Any) -> Export:
    """What x.__dlpack__(**keywords) gives; what it raises comes through.

    Raises Skip where what comes is no tensor that can be read: P-03 and P-04 tell of that.
    """
    capsule = x.__dlpack__(**keywords)
    try:
        return Export(capsule, abi.read(capsule))
    except (TypeError, abi.Unreadable) as unreadable:
        raise Skip(f"its capsule cannot be read: {unreadable}") from None


def knows(x: Any, keyword: str) -> bool:
    """Whether __dlpack__ has a keyword: an older protocol has not, and says so by a TypeError."""
    try:
        x.__dlpack__(**{keyword: None})
    except TypeError:
        return False
    except Exception:  # it knows it, and dislikes the value
        return True
    return True


def versioned(x: Any, **keywords: Any) -> Export:
    """As export(), with max_version. Raises Skip where what comes is legacy."""
    if not knows(x, "max_version"):
        raise Skip("__dlpack__ has no keyword max_version")
    found = export(x, max_version=NEWEST, **keywords)
    if found.contents.version is None:
        raise Skip("the producer gives legacy capsules only")
    return found


def best(x: Any, **keywords: Any) -> Export:
    """As export(), with max_version where the producer knows it."""
    return export(x, **({"max_version": NEWEST} if knows(x, "max_version") else {}), **keywords)


def every_kind(x: Any) -> list[Export]:
    """A legacy export and a versioned one, those of the two that the producer gives."""
    found = []
    for attempt in (export, versioned):
        try:
            found.append(attempt(x))
        except (Skip, BufferError):
            continue
    if not found:
        raise Skip("the producer gives no capsule that can be read")
    return found


def device_of(x: Any) -> tuple[int, int]:
    """What __dlpack_device__ says. Raises Skip where that is no pair of integers."""
    try:
        type_, index = x.__dlpack_device__()
        return int(type_), int(index)
    except Exception as raised:
        raise Skip(f"__dlpack_device__ is no use: {name_error(raised)}") from None


# What a tensor's memory holds --------------------------------------------------------------------


def element_bytes(contents: abi.Contents) -> int:
    _, bits, lanes = contents.dtype
    return (bits * lanes + 7) // 8


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements.

    >>> compact_strides((2, 3, 4)), compact_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    found = [1]
    for extent in shape[:0:-1]:
        found.insert(0, found[0] * max(1, extent))
    return tuple(found[: len(shape)])


def steps(contents: abi.Contents) -> tuple[int, ...]:
    """The strides, those of a row-major array where there are none."""
    if contents.strides is not None:
        return contents.strides
    return compact_strides(contents.shape or ())


def size(contents: abi.Contents) -> int:
    count = 1
    for extent in contents.shape or ():
        count *= extent
    return count


def reach(contents: abi.Contents) -> tuple[int, int]:
    """The addresses that a tensor's elements span, the end excluded; equal where there are none."""
    if size(contents) == 0:
        return contents.first, contents.first
    ends = [(n - 1) * step for n, step in zip(contents.shape or (), steps(contents))]
    each = element_bytes(contents)
    lowest = contents.first + each * sum(end for end in ends if end < 0)
    highest = contents.first + each * sum(end for end in ends if end > 0)
    return lowest, highest + each


def content(contents: abi.Contents) -> bytes | None:
    """The elements in row-major order; None where the host cannot read them, or they are many."""
    if contents.device[0] not in ON_HOST or not 0 < size(contents) <= MOST_ELEMENTS:
        return None
    lowest, end = reach(contents)
    memory = abi.read_memory(lowest, end - lowest)
    if memory is None:
        return None
    each = element_bytes(contents)
    if steps(contents) == compact_strides(contents.shape or ()):
        return memory
    parts = [contents.first - lowest]
    for extent, step in zip(contents.shape or (), steps(contents)):
        parts = [start + i * step * each for start in parts for i in range(extent)]
    return b"".join(memory[start : start + each] for start in parts)

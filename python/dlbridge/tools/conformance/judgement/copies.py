# SPDX-License-Identifier: BSD-3-Clause
"""The rules of copies: copy=True, copy=False, and what IS_COPIED promises."""

from __future__ import annotations

from ... import abi, devices
from ..helpers.exports import has_address, overlap, reach, size
from ..helpers.survey import Sample
from . import memory
from .memory import bounds_if_outside
from .verdict import HOLDS, Verdict


def _is_a_copy(sample: Sample) -> bool:
    """Whether it is a versioned copy, as far as is known: without elements, nothing shows it."""
    if sample.contents.version is None or not size(sample.contents):
        return False
    return sample.is_copy and not sample.shares


def marked(sample: Sample) -> Verdict:
    if not _is_a_copy(sample):
        return None
    if not sample.contents.flags & abi.IS_COPIED:
        return f"the flags of the copy are {sample.contents.flags}: it is not marked IS_COPIED"
    return HOLDS


def writable(sample: Sample) -> Verdict:
    if not _is_a_copy(sample):
        return None
    if sample.contents.flags & abi.READ_ONLY:
        return f"the flags of the copy are {sample.contents.flags}: it is marked READ_ONLY"
    return HOLDS


def only_copies_marked(sample: Sample) -> Verdict:
    tensor = sample.contents
    if tensor.version is None or not tensor.flags & abi.IS_COPIED:
        return None
    if not size(tensor) or not has_address(tensor):
        return None
    if sample.shares:
        return "it is marked IS_COPIED, and shares the memory of another export"
    if sample.bounds is not None:
        low, high = reach(tensor)
        if low < sample.bounds[1] and sample.bounds[0] < high:
            return f"it is marked IS_COPIED, and is at {tensor.first:#x} in the array's own memory"
    return HOLDS


def apart(sample: Sample) -> Verdict:
    tensor = sample.contents
    if not sample.is_copy:
        return None
    if sample.shares:
        return is_own_memory(tensor)
    if sample.raw is None:
        on_host = tensor.device[0] in devices.HOST_ACCESSIBLE
        if size(tensor) and on_host and not sample.is_readable:
            return "it returned memory that is not readable"
        return None
    if sample.uncopied == sample.raw:  # P-38 judges both
        return HOLDS
    found = memory.elements(sample)
    if found:
        return f"in the copy {found}"
    is_known = found is not None or sample.uncopied is None  # else only the other export tells them
    return HOLDS if is_known else "it returned a copy with other bytes than the array"


def is_own_memory(tensor: abi.Contents) -> str:
    """Describes a copy that shares memory with the array."""
    return f"it returned the array's own memory, at {tensor.first:#x}"


# Two exports of one request, which exist together ------------------------------------------------


def are_copies(one: abi.Contents, other: abi.Contents) -> bool:
    """Whether the exports, which exist together, are at different addresses."""
    return one.first != other.first


def uncopied(
    one: abi.Contents, other: abi.Contents, bounds: tuple[int, int] | None = None
) -> Verdict:
    """P-23: judges two exports with copy=False; `bounds` are those of the array's own memory."""
    if one.flags & abi.IS_COPIED:
        return "it returned a capsule that is marked IS_COPIED"
    if are_copies(one, other):
        return f"it returned memory at {one.first:#x}, and then at {other.first:#x}: copies"
    if bounds_if_outside(one, bounds):
        return elsewhere(one, bounds or (0, 0))
    return HOLDS


def elsewhere(tensor: abi.Contents, bounds: tuple[int, int]) -> str:
    """Describes an export that is outside of the array's own memory."""
    return (
        f"it is a copy at {reach(tensor)[0]:#x}; the array has {bounds[1] - bounds[0]} bytes from "
        f"{bounds[0]:#x}"
    )


def share(one: abi.Contents, other: abi.Contents) -> Verdict:
    """P-44: judges two copies, both in use."""
    if one.address != other.address and overlap(one, other):  # P-32 judges equal tensors
        return f"two copies, both in use, share memory at {one.first:#x}"
    return HOLDS


def marked_and_shared(one: abi.Contents, other: abi.Contents) -> Verdict:
    """P-40: judges an export by another one, without copy=True."""
    if one.flags & abi.IS_COPIED and overlap(one, other):
        return "it is marked IS_COPIED, and shares the memory of another export"
    return HOLDS

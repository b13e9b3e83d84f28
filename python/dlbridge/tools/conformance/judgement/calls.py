# SPDX-License-Identifier: BSD-3-Clause
"""The rules of calls: what a request returns, compared with what another one returned."""

from __future__ import annotations

import enum
import operator
from typing import Any

from ... import abi, devices
from .fields import dotted
from .verdict import HOLDS, Verdict

DEFAULTS = ("stream", "max_version", "dl_device", "copy")  # keywords whose default is None
NEWER = ((1, 50), (1, 99), (2, 0), (77, 7))  # versions that no header has
MOST_MINOR = 20  # no minor version beyond it is plausible for years


class DeviceType(enum.IntEnum):
    """The enumeration that a consumer of the array API may pass."""

    CPU = 1
    CUDA = 2
    CPU_PINNED = 3
    ROCM = 10
    CUDA_MANAGED = 13
    ONE_API = 14


def device_pair(result: Any) -> Verdict:
    """P-02: judges the result of __dlpack_device__()."""
    what = f"__dlpack_device__() returned {result!r}"
    if not isinstance(result, tuple):
        return f"{what}: a {type(result).__name__} and no tuple"
    if len(result) != 2:
        return f"{what}: {len(result)} elements and not 2"
    type_, index = result
    number = type_.value if isinstance(type_, enum.Enum) else type_
    if not hasattr(type(number), "__index__"):
        return (
            f"{what}: the device type is of type {type(type_).__name__}; expected an int or an "
            "Enum of ints"
        )
    if not hasattr(type(index), "__index__"):
        return f"{what}: the index is of type {type(index).__name__}; expected an int"
    if operator.index(number) <= 0:
        return f"{what}: {operator.index(number)} is no DLDeviceType, which are positive"
    if operator.index(index) < 0:
        return f"{what}: the index is negative"
    return HOLDS


def other_struct(address: int, name: str) -> Verdict:
    """P-04: whether a capsule holds the struct of the other name, as far as that is certain."""
    other = abi.VERSIONED if name == abi.LEGACY else abi.LEGACY
    if not _is_plausible(address, name) and _is_plausible(address, other):
        return f"it returned a capsule named {name!r}, which holds the struct of {other!r}"
    return HOLDS


def _is_plausible(address: int, name: str) -> bool:
    """Whether the memory at an address may be a tensor in the struct of a name."""
    try:
        contents = abi.read_struct(address, name)
    except abi.Unreadable:
        return False
    is_shaped = contents.shape is not None and all(extent >= 0 for extent in contents.shape)
    return is_shaped and devices.is_known(contents.device)


def version(got: tuple[int, int], asked: tuple[int, int]) -> Verdict:
    """P-06: judges the version of a capsule that was requested with max_version."""
    if got == asked and asked in NEWER:
        return f"it returned version {dotted(got)}: the requested one, which DLPack does not have"
    if got[0] != 1 or got[1] > MOST_MINOR:
        return f"it returned version {dotted(got)}, which DLPack does not have"
    return HOLDS


FIELDS = ("name", "version", "flags", "device", "dtype", "shape", "strides")


def alike(one: abi.Contents, other: abi.Contents, *more: str) -> tuple[str, Any, Any] | None:
    """Returns the first field in which two exports differ, and its values; None for equal ones.

    `more` are further fields, such as the address of the first element.
    """
    for field in (*FIELDS, *more):
        values = getattr(one, field), getattr(other, field)
        if values[0] != values[1]:
            return ("address" if field == "first" else field, *values)
    return None


SAME_CAPSULE = "two calls returned the same capsule"
NO_DESTRUCTOR = "the capsule has no destructor, which would free a tensor that no consumer took"

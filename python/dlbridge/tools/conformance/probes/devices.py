# SPDX-License-Identifier: BSD-3-Clause
"""The probes of devices: memory that the consumer does not support is refused, and never read."""

from __future__ import annotations

import ctypes

from ... import devices
from ..helpers import cuda_driver, device_memory
from ..helpers.consumption import (
    Cases,
    ConsumerCall,
    each_import,
    kinds,
    summed_up,
)
from ..helpers.expectations import NOWHERE, note, wrong_values
from ..helpers.results import CannotRead, device_of
from ..helpers.trials import fatal, survivors
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target, claimed_standard

# The versions of the array API from the time when DLPack recommended TypeError for such devices.
WITH_TYPE_ERROR = ("2021.12", "2022.12")
# The libraries without which a machine has no memory of a device.
DRIVERS = {devices.CUDA: cuda_driver.LIBRARY, devices.ROCM: "libamdhip64.so"}

HOST: Cases = {
    devices.NAMES[number]: {"device": (number, 0)}
    for number in (devices.CUDA_HOST, devices.ROCM_HOST, devices.CUDA_MANAGED)
}


def foreign() -> Cases:
    """Returns the released device types whose memory the CPU cannot read.

    Leaves out the device of the examination, which the consumer supports: it may follow a pointer
    to its memory.
    """
    own, _ = device_memory.selected()
    return {
        name: {"device": (number, 0)}
        for number, name in devices.NAMES.items()
        if number not in {*devices.HOST_ACCESSIBLE, own} and number <= devices.TRN
    }


class _Unknown(Exception):
    """The result does not tell its device."""


def _judge(call: ConsumerCall) -> str | None:
    """Describes memory of a device that became memory of the host; None where it did not."""
    device, own = call.producer.fields["device"], device_of(call.result)
    if own == device or (own is None and _is_named(call.result, device)):
        return None
    if own is None:
        raise _Unknown("the result does not say on which device it is")
    if own[0] in devices.HOST_ACCESSIBLE:
        return f"became an array on device {own}"
    raise _Unknown(f"it became an array on device {own}")


def _is_named(x: object, device: tuple[int, int]) -> bool:
    """Whether the attribute device names it: some libraries cannot export what they accept."""
    return devices.NAMES[device[0]] in str(getattr(x, "device", "")).lower()


def _skip_without_drivers(taken: set[int]) -> None:
    """Raises Skip where only memory is taken that cannot exist on this machine.

    A consumer that supports CUDA asks the driver for such memory, and so cannot tell that this
    label is wrong. One that takes devices which have no driver here does not look at the device.
    """
    if not taken <= DRIVERS.keys():
        return
    missing = {devices.NAMES[each]: DRIVERS[each] for each in taken if not _loads(DRIVERS[each])}
    if len(missing) == len(taken):
        raise Skip(f"it takes memory of {' and '.join(missing)}, which cannot exist here: there is "
                   f"no {' and no '.join(missing.values())}; run it where there is")  # fmt: skip


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


@probe("C-14", hostile=True)
def memory_of_devices_is_not_read(target: Target) -> str:
    """The host's memory is behind the pointer, so that reading it shows values and no crash."""
    wrong: list[str] = []
    refused: list[str] = []
    kept: list[str] = []
    unknown: list[str] = []
    ended = fatal(target, foreign())
    taken = {foreign()[name]["device"][0] for name in ended}
    wrong += [f"memory of {name}: the import ends the process: {it}" for name, it in ended.items()]
    for title, call in each_import(target, survivors(target, foreign())):
        if call.refusal is not None:
            refused.append(f"{title}: {call.error_text}")
            continue
        try:
            how = _judge(call)
        except _Unknown as why:
            unknown.append(f"{title}: {why}")
            continue
        (wrong if how else kept).append(f"{title}: memory of the device {how}")
        if how:
            taken.add(call.producer.fields["device"][0])
    if wrong:
        _skip_without_drivers(taken)
        raise Broken(summed_up(wrong))
    if unknown and not kept and not refused:
        raise Skip(f"accepted; {summed_up(unknown)}")
    text = f"{len(kept)} preserved" + (f", {len(unknown)} unknown: {unknown[0]}" if unknown else "")
    return note(target, text, refused)


@probe("C-14", hostile=True)
def pointers_of_devices_are_not_followed(target: Target) -> str:
    count = 0
    cases: Cases = {
        name: {**fields, "pointer": NOWHERE}
        for name, fields in survivors(target, foreign()).items()
    }
    ended = fatal(target, cases)
    if ended:
        _skip_without_drivers({cases[name]["device"][0] for name in ended})
        ways = [f"{name}: the import ends the process: {how}" for name, how in ended.items()]
        raise Broken(f"the memory behind the pointer is read: {summed_up(ways)}")
    for _, call in each_import(target, cases):
        count += call.refusal is not None
    return f"{count} of {len(cases) * len(kinds(target))} refused, and no pointer was followed"


@probe("C-14", hostile=True)
def host_memory_of_other_types(target: Target) -> str:
    """Pinned and managed memory can be read by the CPU: right values are right."""
    wrong, refused = [], []
    for title, call in each_import(target, HOST):
        if call.refusal is not None:
            refused.append(f"{title}: {call.error_text}")
            continue
        if device_of(call.result) == call.producer.fields["device"]:
            continue
        try:
            difference = wrong_values(call)
        except CannotRead as why:
            raise Skip(f"accepted, and cannot be read: {why}") from None
        if difference is not None:
            wrong.append(f"{title}: {difference}")
    if wrong:
        raise Broken(summed_up(wrong))
    return note(target, "preserved or right", refused)


@probe("C-34")
def devices_are_refused_with_buffer_error(target: Target) -> str:
    other: list[str] = []
    refused: list[str] = []
    is_early = claimed_standard(target) in WITH_TYPE_ERROR
    classes = (BufferError, TypeError) if is_early else (BufferError,)
    for title, call in each_import(target, survivors(target, foreign())):
        if isinstance(call.refusal, ImportError):
            continue  # it supports this device with another package
        if call.refusal is not None:
            is_right = isinstance(call.refusal, classes)
            (refused if is_right else other).append(f"{title}: {call.error_text}")
    if other:
        raise Broken(summed_up(other))
    if not refused:
        raise Skip("it refuses no device by itself")
    return note(target, "", refused).removeprefix(", ")

# SPDX-License-Identifier: BSD-3-Clause
"""Reads, writes and allocates the memory that an examination uses, on the host or on a GPU.

A process examines one target on one device: that of select().
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ... import abi, devices
from ..outcomes import Skip
from . import cuda_driver
from .cuda_driver import (
    Driver,
    DriverError,
    driver,
)

NAMES = {"cpu": abi.CPU, "cuda": (devices.CUDA, 0)}  # the values of --device
ALIGNMENT = 256
# Memory of the host that only a driver allocates.
ALLOCATED_BY_CUDA: dict[tuple[int, int], Callable[[Driver, int], int]] = {
    (devices.CUDA_HOST, 0): Driver.allocate_pinned,
    (devices.CUDA_MANAGED, 0): Driver.allocate_managed,
}
_selected = abi.CPU


def select(name: str) -> None:
    """Sets the device of the tensors with which consumers are examined."""
    global _selected
    _selected = NAMES[name]


def selected() -> tuple[int, int]:
    return _selected


def behind(device: tuple[int, int] | None) -> tuple[int, int]:
    """Returns the device of the memory for tensors that say they are on a device.

    Other devices than that of the examination have memory of the host behind them. A library that
    uses CUDA may take pinned and managed memory to its kernels, so that there they must be real.
    """
    if device is None or device == _selected:
        return _selected
    is_real = _selected[0] == devices.CUDA and device in ALLOCATED_BY_CUDA
    return device if is_real else abi.CPU


def can_read(device: tuple[int, int]) -> bool:
    """Whether memory that is valid can be read: of the host, and of the device that is examined."""
    return device[0] in devices.HOST_ACCESSIBLE or device == _selected


def is_damaged() -> bool:
    """Whether the device of the examination fails every further call of this process.

    CUDA keeps some errors of kernels, such as a misaligned address, until the process ends.
    """
    type_, index = _selected
    if type_ != devices.CUDA or not cuda_driver.is_loaded():
        return False
    try:
        cuda_driver.driver(index).synchronize()
    except DriverError:
        return True
    except Skip:  # the device cannot be used at all
        return False
    return False


def read(address: int, size: int, device: tuple[int, int]) -> bytes | None:
    """Returns the bytes at an address, after the work that is queued on their device.

    None where they cannot be read: not by the host, and not by a driver. The order of streams is
    the subject of rules of its own, so a missing order changes nothing here.
    """
    type_, index = device
    if type_ in devices.HOST_ACCESSIBLE:
        return _read_host(address, size)
    if type_ != devices.CUDA or not address or address + size > abi.ADDRESSES:
        return None
    try:
        of_device = driver(index)
        of_device.synchronize()
        return of_device.download(address, size)
    except (Skip, DriverError):
        return None


def _read_host(address: int, size: int) -> bytes | None:
    """Reads memory of the host. The kernel may refuse to copy the pinned memory of a driver."""
    content = abi.read_memory(address, size)
    if content is not None or not address or address + size > abi.ADDRESSES:
        return content
    try:
        of_device = driver()
    except Skip:
        return None
    if not all(map(of_device.is_host_memory, (address, address + size - 1))):
        return None
    return ctypes.string_at(address, size)


def write(address: int, content: bytes, device: tuple[int, int]) -> None:
    """Overwrites memory of the host or of a GPU, after the work that is queued there."""
    if device[0] != devices.CUDA:
        if device in ALLOCATED_BY_CUDA:
            driver().synchronize()
        ctypes.memmove(address, content, len(content))
        return
    of_device = driver(device[1])
    of_device.synchronize()
    of_device.upload(address, content)


def upload(content: bytes, device: tuple[int, int], *, shift: int = 0) -> int:
    """Copies bytes to memory of a device that lives as long as the process: aligned, then shifted.

    Raises Skip where the device has no driver.
    """
    if device in ALLOCATED_BY_CUDA:
        address = ALLOCATED_BY_CUDA[device](driver(), len(content) + shift) + shift
        ctypes.memmove(address, content, len(content))
        return address
    if device[0] != devices.CUDA:
        return abi.memory(content, alignment=ALIGNMENT, shift=shift)
    of_device = driver(device[1])
    address = of_device.allocate(len(content) + shift) + shift  # the driver aligns to 256 bytes
    of_device.upload(address, content)
    return address

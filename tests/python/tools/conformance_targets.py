# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the conformance tests: dlbridge's own Tensor, and factories that fail."""

from __future__ import annotations

import atexit
import os
import sys
import time
from functools import cache
from typing import Any, NoReturn

import dlbridge
from dlbridge.tools import abi, children


@cache
def _words(shape: tuple[int, ...], dtype: str) -> abi.CtypesTensor:
    """Returns a ctypes tensor of a dtype; its users copy it."""
    element = dlbridge.dtype(dtype)
    count = 1
    for extent in shape:
        count *= extent
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return abi.make(
        data=abi.memory(bytes(range(256)) * (1 + count * element.itemsize // 256)),
        shape=shape,
        strides=tuple(strides),
        dtype=(element.code, element.bits, element.lanes),
        version=(1, 3),
    )


def tensor(
    shape: tuple[int, ...] = (2, 3),
    dtype: str = "float32",
    readonly: bool = False,
    device: str = "cpu",
) -> dlbridge.Tensor:
    """A Tensor that owns its memory. Another device than the CPU needs its driver."""
    result = dlbridge.from_dlpack(_words(shape, dtype).capsule(), copy=True)
    if device != "cpu":
        result = dlbridge.from_dlpack(result, device=device)
    return dlbridge.from_dlpack(result, readonly=True) if readonly else result


def aborts_in_place_of_refusing(x: Any, /) -> dlbridge.Tensor:
    """A consumer that ends the process where dlbridge refuses a tensor."""
    try:
        return dlbridge.from_dlpack(x)
    except Exception:
        os.abort()


# Factories that fail -------------------------------------------------------------------------


def never_frees(x: Any, /) -> object:
    """A consumer that calls no deleter."""
    abi.take(x.__dlpack__(max_version=(1, 0)))
    return object()


def frees_twice(x: Any, /) -> object:
    """A consumer that calls the deleter, and leaves the capsule its name."""
    capsule = x.__dlpack__(max_version=(1, 0))
    name = abi.name_of(capsule)
    abi.take(capsule).free()
    abi.rename(capsule, name)
    return object()


def raises() -> Any:
    raise ValueError("no array\ntoday")


def hangs() -> Any:
    time.sleep(1000)


def garbage() -> Any:
    return 7


def garbage_of_a_child() -> Any:
    return children.call("conformance_targets:garbage").value


def crashes() -> Any:
    os.abort()


def exits() -> Any:
    sys.exit(3)


def prints() -> Any:
    print("hello from the factory")
    os.write(1, b"and from below\n")
    return tensor()


def shouts(times: int = 1) -> str:
    for _ in range(times):
        print("from Python", flush=True)
        os.write(1, b"from below\n")
    return "done"


def reads() -> str:
    return sys.stdin.read()


def closes(first: int, last: int) -> None:
    print("kept in a buffer", end="")
    os.closerange(first, last)


def at_exit(action: str) -> None:
    """Registers what happens when the process ends."""
    actions = {
        "print": lambda: print("at exit"),
        "abort": os.abort,
        "sleep": lambda: time.sleep(120),
    }
    atexit.register(actions[action])


def forks_and_exits() -> None:
    if os.fork() == 0:  # holds every pipe open
        time.sleep(120)
    os._exit(5)


not_a_function = 7


class NoDevice:
    """Lacks __dlpack_device__."""

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        return tensor().__dlpack__(max_version=max_version)


class Panic(BaseException):
    """As PyO3's PanicException: no Exception."""


class Panics:
    """Panics instead of returning capsules."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, **_: Any) -> NoReturn:
        raise Panic("called unwrap on None")


def take_and_panic(x: Any) -> NoReturn:
    """A consumer that panics, whatever the tensor."""
    raise Panic(f"called unwrap on {type(x).__name__}")


class ReturnsAnInt:
    """Returns no capsules."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, **_: Any) -> int:
        return 5


class OnNewDevice:
    """On a device whose type DLPack does not define yet."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 77, 1

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        version = None if max_version is None else (1, 3)
        fields: dict[str, Any] = {"data": 256, "shape": (2, 3), "strides": (3, 1)}
        return abi.make(**fields, device=self.__dlpack_device__(), version=version).capsule()


class OnNoDevice(OnNewDevice):
    """Reports 0, which is no device type."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 0, 0


class HangsOnVersion:
    """Hangs on max_version."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, *, max_version: Any = None) -> Any:
        if max_version is not None:
            time.sleep(1000)
        return tensor().__dlpack__()


class OldStyle:
    """A producer of array API 2021.12: accepts only the keyword stream."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return tensor().__dlpack__()


class Careless:
    """A producer in device memory that is not readable; it ignores every keyword."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = {"cpu": 1, "cuda": 2, "rocm": 10}[device], 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, max_version: Any = None, **ignored: Any) -> Any:
        version = None if max_version is None else (1, 0)
        words: dict[str, Any] = {"data": 256, "shape": (2, 3), "strides": (3, 1)}
        return abi.make(**words, device=self.device, version=version).capsule()


AFTER = 24  # requests: those before the probes, of each kind, are fewer


class Decays:
    """Crashes after several calls, as corrupted memory does."""

    requests = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, *, max_version: Any = None, stream: Any = None) -> Any:
        type(self).requests += 1
        if self.requests > AFTER:
            os.abort()
        return tensor().__dlpack__(max_version=max_version)


class EndsWithItsCapsule:
    """Knows nothing of its memory any more when its first capsule has been dropped."""

    def __init__(self) -> None:
        self.known = {"device": abi.CPU}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.known["device"]

    def __dlpack__(self, *, stream: Any = None) -> Any:
        words: dict[str, Any] = {"data": abi.memory(bytes(24)), "device": self.known["device"]}
        tensor = abi.make(**words, shape=(2, 3), strides=(3, 1), version=None)
        tensor.on_delete = self.known.clear
        return tensor.capsule()


class Copies:
    """Copies at every export, and does not mark the copy."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, copy: Any = None) -> Any:
        version = None if max_version is None else (1, 3)
        data = abi.memory(bytes(24))
        return abi.make(data=data, shape=(2, 3), strides=(3, 1), version=version).capsule()


# Factories whose process is hostile ------------------------------------------------------------


def prints_an_incomplete_line() -> Any:
    sys.stdout.write("no newline")
    sys.stdout.flush()
    os.write(1, b"nor here")
    return tensor()


@cache
def _fork() -> None:
    if os.fork() == 0:
        time.sleep(100)
        os._exit(0)


def forks() -> Any:
    """Leaves one process behind that holds the pipes of this one."""
    _fork()
    return tensor()


class CrashesOnStream:
    """Crashes on a request with a stream."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, *, max_version: Any = None, stream: Any = None) -> Any:
        if stream is not None:
            os.abort()
        return tensor().__dlpack__(max_version=max_version)

# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions of Python code that dlbridge calls: each reaches the caller, or is the cause."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import dlbridge
import extension
import producers


class Raising:
    """An integer whose value cannot be read."""

    def __init__(self, exception: type[BaseException]) -> None:
        self.exception = exception

    def __index__(self) -> int:
        raise self.exception("of the integer")


class BrokenDevice(producers.Producer):
    def __init__(self, exception: type[BaseException]) -> None:
        super().__init__()
        self.exception = exception

    def __dlpack_device__(self) -> Any:
        return [Raising(self.exception), 0]


def test_the_exception_of_an_integer_is_the_cause() -> None:
    with pytest.raises(BufferError, match="__dlpack_device__") as raised:
        dlbridge.from_dlpack(BrokenDevice(ZeroDivisionError))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("exception", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_is_not_replaced_by_a_refusal(exception: type[BaseException]) -> None:
    with pytest.raises(exception):
        dlbridge.from_dlpack(BrokenDevice(exception))
    interface = {"shape": (Raising(exception),), "typestr": "<f4", "data": (64, False)}
    with pytest.raises(exception):
        dlbridge.as_tensor(SimpleNamespace(__array_interface__=interface))


@pytest.mark.parametrize("exception", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_of_the_first_call_is_not_followed_by_a_second(
    exception: type[BaseException],
) -> None:
    class Array(producers.Producer):
        def __dlpack__(self, *, copy: bool | None = None, **keywords: Any) -> Any:
            if copy:
                raise exception
            return super().__dlpack__(**keywords)

    with pytest.raises(exception):
        dlbridge.from_dlpack(Array(), copy=True)


def test_a_class_is_no_array() -> None:
    with pytest.raises(TypeError, match=r"got the class .*Producer\. Pass an object of it"):
        dlbridge.from_dlpack(producers.Producer)


def test_the_exception_of_an_array_interface_is_the_cause() -> None:
    interface = {"shape": (Raising(ZeroDivisionError),), "typestr": "<f4", "data": (64, False)}
    with pytest.raises(BufferError, match="64 integers of 0 and above") as raised:
        dlbridge.as_tensor(SimpleNamespace(__array_interface__=interface))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_the_exception_of_an_attribute_of_a_stream_is_the_cause() -> None:
    class Stream:
        @property
        def ptr(self) -> int:
            raise ZeroDivisionError

    with pytest.raises(ValueError, match="stream") as raised:
        dlbridge.from_dlpack(producers.Producer(device=(2, 0)), stream=Stream())
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_device_whose_id_is_too_large() -> None:
    """The OverflowError once stayed pending while the device was read from its str."""

    class Device:
        platform = "gpu"
        id = 2**70

        def __str__(self) -> str:
            return "cpu"

    with pytest.raises(ValueError, match="device") as raised:
        dlbridge.device(Device())
    assert isinstance(raised.value.__cause__, OverflowError)


def test_an_interrupted_search_for_a_library_is_not_cached() -> None:
    exceptions = [KeyboardInterrupt, MemoryError]

    class Array(producers.Producer):
        def __array_namespace__(self) -> Any:
            if exceptions:
                raise exceptions.pop()
            return SimpleNamespace(from_dlpack=lambda tensor: "an array of the library")

    x = Array(shape=(3,))
    with pytest.raises(MemoryError):
        extension.by_def.doubled(x)
    with pytest.raises(KeyboardInterrupt):
        extension.by_def.doubled(x)
    assert extension.by_def.doubled(x) == "an array of the library"
    assert x.exports == x.calls

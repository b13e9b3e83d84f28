"""Calls of a consumer with a producer of ctypes tensors, and reading of their results."""

from __future__ import annotations

import gc
import inspect
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from dlbridge.tools import abi, dtypes
from dlbridge.tools.conformance.helpers import device_memory
from dlbridge.tools.conformance.helpers.producers import Nested, Producer, numbers_of
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.target import NO_CONSUMER, Target
from dlbridge.tools.ctypes_arrays import row_major
from dlbridge.tools.libraries import capsule_of

PATIENCE = 0.5  # seconds for a library that calls deleters on another thread


class ConsumerCall:
    """A call of a consumer with a producer: its result, or its exception."""

    def __init__(
        self, target: Target, producer: Producer, *, raw: bool = False, **keywords: Any
    ) -> None:
        """With `raw` the consumer gets a capsule instead of a producer."""
        self.target, self.producer = target, producer
        self.result: Any = None
        self.refusal: Exception | None = None
        argument = producer.__dlpack__() if raw or takes_capsules(target) else producer
        consume = function_with_keywords(target) if keywords else target.consume
        try:
            self.result = consume(argument, **keywords)
        except Skip:
            raise
        except Exception as error:
            # A deleter written in Python clears a pending exception: that SystemError is ours.
            if isinstance(error, SystemError) and not producer.deleter_calls:
                raise Broken(f"refused without an exception: {name_error(error)}") from None
            self.refusal = error.with_traceback(None)

    @property
    def error_text(self) -> str:
        return "no refusal" if self.refusal is None else name_error(self.refusal)

    def values(self) -> Nested:
        """Reads the result. Raises Skip where no method of reading works for a plain tensor, and
        Broken where the method fails for this one."""
        reader = reader_for(self.target)
        try:
            return reader(self.result)
        except Exception as error:
            raise Broken(f"accepted, but reading the result raised {name_error(error)}") from None

    def release(self) -> int:
        """Drops the result and the capsules, and returns the number of deleter calls."""
        self.result = self.refusal = None
        self.producer.capsules.clear()
        deadline = time.monotonic() + PATIENCE
        gc.collect()
        owed = len([tensor for tensor in self.producer.tensors if tensor.struct.deleter])
        while self.producer.deleter_calls < owed and time.monotonic() < deadline:
            time.sleep(0.01)
            gc.collect()
        return self.producer.deleter_calls


def import_tensor(target: Target, **fields: Any) -> ConsumerCall:
    """Calls a consumer with a tensor of these fields: legacy unless it requests another."""
    return ConsumerCall(target, Producer(**fields))


def function_with_keywords(target: Target) -> Callable[..., Any]:
    """Returns the consumer with its keywords. Raises Skip where it accepts none."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
    if target.library is None:
        return target.function
    function, module = target.library.take, target.module
    parameters = inspect.signature(function).parameters.values() if function else ()
    if function is None or not any(each.kind is each.VAR_KEYWORD for each in parameters):
        raise Skip(f"{target.library.title} takes no keywords")
    return partial(function, module)


def takes_capsules(target: Target) -> bool:
    """Whether the consumer accepts only capsules and no producers."""
    return target.library is not None and target.library.takes_capsules


def negotiates(target: Target) -> None:
    """Raises Skip for a consumer that takes capsules and calls no producer."""
    if takes_capsules(target):
        raise Skip("it takes capsules, and calls no producer")


# Reading a result ------------------------------------------------------------------------------

Reader = Callable[[Any], Nested]
_readers: dict[str, Reader] = {}  # by the name of the target


def reader_for(target: Target) -> Reader:
    """Returns a function that reads results: the first one that reads a plain tensor correctly.

    Raises Skip when none does.
    """
    if target.name not in _readers:
        call = import_tensor(target)
        if call.refusal is not None:
            raise Skip(f"a plain tensor is refused: {call.error_text}")
        expected = numbers_of((2, 3), (3, 1))
        candidates = _candidate_readers(target)
        results = {name: _attempt(reader, call.result) for name, reader in candidates.items()}
        for name, value in results.items():
            if value == expected:
                _readers[target.name] = candidates[name]
                break
        else:
            values = "; ".join(f"{name}: {value}" for name, value in results.items())
            raise Skip(f"a {type(call.result).__name__} cannot be read ({values})")
    return _readers[target.name]


def _attempt(reader: Reader, result: Any) -> Any:
    try:
        return reader(result)
    except Exception as error:
        return name_error(error)


def _candidate_readers(target: Target) -> dict[str, Reader]:
    candidates: dict[str, Reader] = {}
    library, module = target.library, target.module
    if library is not None:
        candidates["its row"] = lambda x: library.values(module, x)
    candidates["tolist()"] = lambda x: x.tolist()
    candidates["buffer protocol"] = lambda x: memoryview(x).tolist()
    candidates["__array_interface__"] = _by_array_interface
    candidates["__dlpack__"] = _by_dlpack
    return candidates


def _by_array_interface(x: Any) -> Nested:
    interface = x.__array_interface__
    itemsize = int(interface["typestr"][2:])
    code = dtypes.code_of_kind(interface["typestr"][1])
    shape = tuple(interface["shape"])
    steps = interface.get("strides") or [itemsize * step for step in row_major(shape)]
    return _at(interface["data"][0], shape, tuple(steps), (code, 8 * itemsize, 1))


def _by_dlpack(x: Any) -> Nested:
    capsule = capsule_of(x)  # versioned: a legacy one cannot be read-only
    contents = abi.read(capsule)
    shape = contents.shape or ()
    strides = contents.strides if contents.strides is not None else row_major(shape)
    itemsize = contents.dtype[1] // 8
    in_bytes = tuple(step * itemsize for step in strides)
    return _at(contents.first, shape, in_bytes, contents.dtype, contents.device)


def _at(
    address: int,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    dtype: Any,
    device: tuple[int, int] = abi.CPU,
) -> Nested:
    if not shape:
        code, bits, _ = dtype
        letter = dtypes.CODES[code].formats[bits]
        if len(letter) != 1:
            raise ValueError(f"{dtypes.name(dtype)} is not supported")
        content = device_memory.read(address, struct.calcsize(f"={letter}"), device)
        if content is None:
            raise ValueError(f"{address:#x} is not readable")
        return struct.unpack(f"={letter}", content)[0]
    return [
        _at(address + i * steps[0], shape[1:], steps[1:], dtype, device) for i in range(shape[0])
    ]

"""Shared by the probes of consumers: a tensor must be read correctly, or refused."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi, devices
from dlbridge.tools.conformance.helpers.consumption import ConsumerCall, import_tensor, reader_for
from dlbridge.tools.conformance.helpers.producers import VERSION, Nested, numbers_of
from dlbridge.tools.conformance.outcomes import Broken, Skip
from dlbridge.tools.conformance.registry import Function, probe
from dlbridge.tools.conformance.target import Target
from dlbridge.tools.ctypes_arrays import row_major

CUDA = (devices.CUDA, 0)
NOWHERE = 0x10  # an invalid pointer


# Expectations ----------------------------------------------------------------------------------


def expected_of(fields: dict[str, Any]) -> Nested:
    """Returns the values of a tensor with these fields."""
    shape = fields.get("shape", (2, 3))
    strides = fields.get("strides", (3, 1))
    return numbers_of(
        shape,
        row_major(shape) if strides is None else strides,
        fields.get("byte_offset", 0) / 4,
    )


def must_be_right(call: ConsumerCall, fields: dict[str, Any]) -> None:
    values, expected = call.values(), expected_of(fields)
    if values != expected:
        raise Broken(f"expected the values {short(expected)}; got {short(values)}")


def accepts(target: Target, **fields: Any) -> None:
    """Raises Broken where a tensor is refused or read incorrectly."""
    reader_for(target)  # raises Skip where even a plain tensor is refused
    call = import_tensor(target, **fields)
    if call.refusal is not None:
        raise Broken(f"refused: {call.error_text}")
    must_be_right(call, fields)


def right_or_refused(target: Target, **fields: Any) -> str | None:
    """Raises Broken where a tensor is read incorrectly; a refusal becomes a note."""
    call = import_tensor(target, **fields)
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    must_be_right(call, fields)
    return None


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def takes_versioned(target: Target) -> None:
    """Raises Skip for a consumer that accepts no versioned capsule."""
    call = import_tensor(target, version=VERSION)
    if call.refusal is not None:
        raise Skip(f"versioned capsules are refused: {call.error_text}")


def several(rule: str, table: dict[str, Function], *, hostile: bool = True) -> None:
    """Registers one probe for each row of a table, under the row's name."""
    for name, function in table.items():
        probe(rule, hostile=hostile, name=f"consumer.{name}")(function)


def spelled(keywords: dict[str, Any]) -> str:
    return ", ".join(f"{word}={value!r}" for word, value in keywords.items())


class FixedProducer:
    """A producer that returns the same object from every call."""

    def __init__(self, result: Any, device: tuple[int, int] = abi.CPU) -> None:
        self.result, self.device = result, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.result

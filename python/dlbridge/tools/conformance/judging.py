"""What the probes of consumers have in common: a tensor is read right, or refused, or neither."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.handmade import (
    VERSION,
    Fed,
    Nested,
    feed,
    numbers_of,
    road_for,
    row_major,
)
from dlbridge.tools.conformance.probes import Broken, Function, Skip, probe
from dlbridge.tools.conformance.target import Target

CUDA = (2, 0)
NOWHERE = 0x10  # a pointer that nobody can follow


# What is asked of most of them -----------------------------------------------------------------


def expected_of(words: dict[str, Any]) -> Nested:
    """The numbers in a tensor of these words."""
    shape = words.get("shape", (2, 3))
    strides = words.get("strides", (3, 1))
    return numbers_of(
        shape,
        row_major(shape) if strides is None else strides,
        words.get("byte_offset", 0) / 4,
    )


def must_be_right(fed: Fed, words: dict[str, Any]) -> None:
    got, expected = fed.values(), expected_of(words)
    if got != expected:
        raise Broken(f"expected the values {short(expected)}; got {short(got)}")


def accepts(target: Target, **words: Any) -> None:
    """Raises Broken where a tensor is refused, or is read wrong."""
    road_for(target)  # where the plainest is refused, there is nothing to learn
    fed = feed(target, **words)
    if fed.refusal is not None:
        raise Broken(f"refused: {fed.said}")
    must_be_right(fed, words)


def right_or_refused(target: Target, **words: Any) -> str | None:
    """Raises Broken where a tensor is read wrong; a refusal is a note."""
    fed = feed(target, **words)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    must_be_right(fed, words)
    return None


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def takes_versioned(target: Target) -> None:
    """Raises Skip for a consumer that takes no versioned capsule at all."""
    fed = feed(target, version=VERSION)
    if fed.refusal is not None:
        raise Skip(f"versioned capsules are refused: {fed.said}")


def several(rule: str, table: dict[str, Function], *, hostile: bool = True) -> None:
    """Registers a probe for every row of a table, each by the row's name."""
    for name, function in table.items():
        probe(rule, hostile=hostile, name=f"consumer.{name}")(function)


def spelled(keywords: dict[str, Any]) -> str:
    return ", ".join(f"{word}={value!r}" for word, value in keywords.items())


class Gives:
    """Gives one and the same thing, whatever it is asked."""

    def __init__(self, gift: Any, device: tuple[int, int] = abi.CPU) -> None:
        self.gift, self.device = gift, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.gift

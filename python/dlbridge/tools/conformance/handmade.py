"""What consumers are fed with: producers of hand-made tensors, and what came of feeding one."""

from __future__ import annotations

import ctypes
import gc
import inspect
import math
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.probes import Broken, Skip
from dlbridge.tools.conformance.target import NO_CONSUMER, Target, name_error

Nested = Any  # numbers in lists in lists
ROOM = 256  # float32 numbers in the memory of a tensor,
BEFORE = 64  # so many of them before the first one: strides may lead astray, and nothing breaks
GARBAGE = 0xEE  # what the memory is filled with by the deleter, where that is wanted
VERSION = (1, 0)
PATIENCE = 0.5  # seconds for a library that frees on another thread


def numbers_of(shape: tuple[int, ...], strides: tuple[int, ...], first: float = 0.0) -> Nested:
    """The numbers that a hand-made tensor holds: every one is its distance from the first.

    >>> numbers_of((2, 2), (1, 10))
    [[0.0, 10.0], [1.0, 11.0]]
    """
    if not shape:
        return first
    return [numbers_of(shape[1:], strides[1:], first + i * strides[0]) for i in range(shape[0])]


class Producer:
    """By the book of 2023.12, but for the words of its tensors: those are as abi.make() is told.

    It answers what it is asked, versioned or legacy, unless `version` says otherwise: a version, or
    None for legacy. `says` is its __dlpack_device__, where that differs from the capsule's device.
    It keeps every keyword that it gets, and every tensor and capsule that it gives.
    """

    def __init__(self, *, says: tuple[int, int] | None = None, **words: Any) -> None:
        self.words = {"shape": (2, 3), "strides": (3, 1), **words}
        self.says = says or words.get("device", abi.CPU)
        self.asked: list[dict[str, Any]] = []
        self.made: list[abi.Made] = []
        self.capsules: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.says

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        return self.give(_version_for(keywords))

    def give(self, version: tuple[int, int] | None) -> Any:
        """A new capsule on new memory; `version` is of what was asked for."""
        words = {"version": version, **self.words}
        shift, pointer = words.pop("shift", 0), words.pop("pointer", None)
        name = words.pop("name", None)
        content = struct.pack(f"{ROOM}f", *(float(i - BEFORE) for i in range(ROOM)))
        block = abi.memory(content, shift=shift)
        made = abi.make(data=block + 4 * BEFORE if pointer is None else pointer, **words)
        self.made.append(made)
        self.capsules.append(made.capsule(name))
        return self.capsules[-1]

    @property
    def calls(self) -> int:
        """How often deleters were called; as many as tensors were made, when all is well."""
        return sum(made.calls for made in self.made)

    def write(self, number: float) -> None:
        """Changes the first number, as the owner of the memory may."""
        for made in self.made:
            ctypes.memmove(made.data, struct.pack("f", number), 4)

    def first(self) -> float:
        """The first number that is in the memory."""
        return float(struct.unpack("f", ctypes.string_at(self.made[-1].data, 4))[0])


def _version_for(keywords: dict[str, Any]) -> tuple[int, int] | None:
    wanted = keywords.get("max_version")
    return VERSION if wanted is not None and wanted[0] >= 1 else None


class OldProducer(Producer):
    """Of 2021.12: knows the keyword stream alone, and gives legacy capsules."""

    def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
        self.asked.append({})
        return self.give(None)


class SpoilingProducer(Producer):
    """Fills the memory with garbage when it is freed: who still shows it has freed too early."""

    def give(self, version: tuple[int, int] | None) -> Any:
        capsule = super().give(version)
        made = self.made[-1]

        def spoil() -> None:
            ctypes.memset(made.data, GARBAGE, 4 * (ROOM - BEFORE))

        made.on_delete = spoil
        return capsule


class BareProducer(Producer):
    """Leaves manager_ctx NULL, as who needs no context may (spec 1.2)."""

    def give(self, version: tuple[int, int] | None) -> Any:
        capsule = super().give(version)
        self.made[-1].struct.manager_ctx = None
        return capsule


class RaisingProducer(Producer):
    """Notes the keywords, and raises; what it is asked for never comes into being."""

    def __init__(self, raised: BaseException, **words: Any) -> None:
        super().__init__(**words)
        self.raised = raised

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        raise self.raised


class Fed:
    """What a consumer made of a producer: a result, or a refusal."""

    def __init__(
        self, target: Target, producer: Producer, *, raw: bool = False, **keywords: Any
    ) -> None:
        """With `raw` the consumer gets a capsule and no producer, as some always do."""
        self.target, self.producer = target, producer
        self.result: Any = None
        self.refusal: Exception | None = None
        argument = producer.__dlpack__() if raw or takes_capsules(target) else producer
        consume = function_with_keywords(target) if keywords else target.consume
        try:
            self.result = consume(argument, **keywords)
        except Skip:
            raise
        except Exception as raised:
            # A deleter in Python loses an exception that is pending: that SystemError is ours.
            if isinstance(raised, SystemError) and not producer.calls:
                raise Broken(f"refused without an exception: {name_error(raised)}") from None
            self.refusal = raised.with_traceback(None)

    @property
    def said(self) -> str:
        return "no refusal" if self.refusal is None else name_error(self.refusal)

    def values(self) -> Nested:
        """What the result holds. Raises Skip where no way to read it is known, Broken where the
        known one fails this time."""
        road = road_for(self.target)
        try:
            return road(self.result)
        except Exception as raised:
            raise Broken(f"accepted, but reading the result raised {name_error(raised)}") from None

    def let_go(self) -> int:
        """Drops the result and the capsules; the number of calls of the deleter after that."""
        self.result = self.refusal = None
        self.producer.capsules.clear()
        deadline = time.monotonic() + PATIENCE
        gc.collect()
        owed = len([made for made in self.producer.made if made.struct.deleter])
        while self.producer.calls < owed and time.monotonic() < deadline:
            time.sleep(0.01)
            gc.collect()
        return self.producer.calls


def feed(target: Target, **words: Any) -> Fed:
    """Feeds a consumer with a tensor of these words: a legacy one where it asks for no other."""
    return Fed(target, Producer(**words))


def function_with_keywords(target: Target) -> Callable[..., Any]:
    """The consumer as its users call it, with keywords. Raises Skip where there is none such."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
    if target.library is None:
        return target.function
    take, module = target.library.take, target.module
    kinds = {each.kind for each in inspect.signature(take).parameters.values()} if take else set()
    if take is None or inspect.Parameter.VAR_KEYWORD not in kinds:
        raise Skip(f"{target.library.title} takes no keywords")
    return partial(take, module)


def takes_capsules(target: Target) -> bool:
    """Whether the consumer wants capsules, and knows nothing of producers."""
    return target.library is not None and target.library.takes_capsules


def negotiates(target: Target) -> None:
    """Raises Skip for a consumer that is handed capsules, and asks nobody for anything."""
    if takes_capsules(target):
        raise Skip("it takes capsules, and asks producers for nothing")


# What a result holds ---------------------------------------------------------------------------

Road = Callable[[Any], Nested]
_roads: dict[str, Road] = {}  # by the name of the target


def road_for(target: Target) -> Road:
    """A way to read results of this consumer: the first that reads a plain tensor right.

    Raises Skip when none does.
    """
    if target.name not in _roads:
        fed = feed(target)
        if fed.refusal is not None:
            raise Skip(f"a plain tensor is refused: {fed.said}")
        expected = numbers_of((2, 3), (3, 1))
        tried = [(name, _attempt(road, fed.result)) for name, road in _ways(target).items()]
        for name, got in tried:
            if got == expected:
                _roads[target.name] = _ways(target)[name]
                break
        else:
            told = "; ".join(f"{name}: {got}" for name, got in tried)
            raise Skip(f"a {type(fed.result).__name__} cannot be read ({told})")
    return _roads[target.name]


def _attempt(road: Road, result: Any) -> Any:
    try:
        return road(result)
    except Exception as raised:
        return name_error(raised)


def _ways(target: Target) -> dict[str, Road]:
    ways: dict[str, Road] = {}
    library, module = target.library, target.module
    if library is not None:
        ways["its row"] = lambda x: library.values(module, x)
    ways["tolist()"] = lambda x: x.tolist()
    ways["buffer protocol"] = lambda x: memoryview(x).tolist()
    ways["__array_interface__"] = _by_array_interface
    ways["__dlpack__"] = _by_dlpack
    return ways


def _by_array_interface(x: Any) -> Nested:
    said = x.__array_interface__
    itemsize = int(said["typestr"][2:])
    code = {"i": 0, "u": 1, "f": 2, "b": 6}[said["typestr"][1]]
    shape = tuple(said["shape"])
    steps = said.get("strides") or [itemsize * step for step in row_major(shape)]
    return _at(said["data"][0], shape, tuple(steps), (code, 8 * itemsize, 1))


def _by_dlpack(x: Any) -> Nested:
    capsule = x.__dlpack__()
    said = abi.read(capsule)
    shape = said.shape or ()
    strides = said.strides if said.strides is not None else row_major(shape)
    itemsize = said.dtype[1] // 8
    return _at(said.first, shape, tuple(step * itemsize for step in strides), said.dtype)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a compact array.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


_FORMATS = {
    (6, 8): "?",
    (2, 16): "e",
    (2, 32): "f",
    (2, 64): "d",
    **{(0, 8 * size): code for size, code in zip((1, 2, 4, 8), "bhiq")},
    **{(1, 8 * size): code for size, code in zip((1, 2, 4, 8), "BHIQ")},
}


def _at(address: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: Any) -> Nested:
    if not shape:
        form = "=" + _FORMATS[dtype[0], dtype[1]]
        found = abi.read_memory(address, struct.calcsize(form))
        if found is None:
            raise ValueError(f"{address:#x} cannot be read")
        return struct.unpack(form, found)[0]
    return [_at(address + i * steps[0], shape[1:], steps[1:], dtype) for i in range(shape[0])]

# SPDX-License-Identifier: BSD-3-Clause
"""Calls of a consumer with producers of ctypes tensors."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ... import abi
from ...clock import Stopwatch
from .. import journal
from ..outcomes import Broken, Skip, library_code, name_error
from ..target import NO_CONSUMER, Target, consumers, import_call
from . import device_memory, samples
from .producers import (
    PLAIN,
    LegacyProducer,
    OldProducer,
    Producer,
)

# Seconds for a library that calls deleters on another thread: until it has failed once, and after.
PATIENCE, LEAST_PATIENCE = 1.0, 0.05
LAZY = (
    "it returned before it requested a capsule; the specification requires that the capsule is "
    "consumed within from_dlpack"
)
VERSIONED, LEGACY = "versioned", "legacy"


# Calls that live a little longer: a deleter of ctypes clears the exception that is pending when a
# probe raises, and with it frees its results.
_recent: deque[ConsumerCall] = deque(maxlen=64)


class ConsumerCall:
    """A call of a consumer with a producer: its result, or its exception."""

    def __init__(
        self, target: Target, producer: Producer, *, raw: bool = False, **keywords: Any
    ) -> None:
        """With `raw` the consumer gets a capsule instead of a producer."""
        _recent.append(self)
        if journal.subject.endswith(journal.VIEW + journal.RESULT):  # a view of the last result
            journal.subject = ""
        self.target, self.producer = target, producer
        self._end = journal.END._replace(keywords=producer.traits)
        self.result: Any = None
        self.refusal: Exception | None = None
        self._gets_capsule = raw or takes_capsules(target)
        argument = producer.__dlpack__() if self._gets_capsule else producer
        consume = function_with_keywords(target) if keywords else target.consume
        try:
            with journal.entry(import_call(producer, **keywords)), library_code():
                self.result = consume(argument, **keywords)
        except Exception as error:
            # Also SystemError: a deleter that is called while an exception is pending is Python
            # code here, and clears it.
            self.refusal = error.with_traceback(None)
        else:
            if self.result is None:
                raise _nothing(target)
            if journal.excluding(self._end) is not None:
                _kept.append(self.result)

    @property
    def is_lazy(self) -> bool:
        """Whether the consumer has accepted a producer and requested no capsule of it."""
        return self.refusal is None and not self.producer.requests and not self._gets_capsule

    @property
    def error_text(self) -> str:
        return "no refusal" if self.refusal is None else short(name_error(self.refusal), 160)

    def drop(self) -> None:
        """Drops the result. Raises Excluded where its end is that of the process."""
        with journal.entry(self._end):
            self.result = self.refusal = None

    def release(self) -> int:
        """Drops the result and the capsules, and returns the number of deleter calls."""
        self.drop()
        self.producer.capsules.clear()
        wait_until(lambda: self.producer.deleter_calls >= owed(self.producer))
        return self.producer.deleter_calls


_kept: list[Any] = []  # results whose end would be that of the process


def _nothing(target: Target) -> BaseException:
    """Returns what a result of None is: neither an array nor a refusal, and so a violation.

    It is none where a plain tensor gives None too: such a consumer keeps its arrays for itself.
    """
    with contextlib.suppress(Exception):
        if _import_plain(target) is None:
            return Skip("it returns None for a plain tensor too: its arrays cannot be examined")
    return Broken("it returned None, which is neither an array nor an exception")


def _import_plain(target: Target) -> Any:
    producer = Producer()
    return target.consume(producer.__dlpack__() if takes_capsules(target) else producer)


def owed(*producers: Producer) -> int:
    """Returns the number of deleter calls that free every tensor once."""
    return sum(bool(tensor.struct.deleter) for each in producers for tensor in each.tensors)


def wait_until(holds: Callable[[], bool]) -> bool:
    """Waits for a condition, collects garbage meanwhile, and returns whether it holds.

    At last it imports 100 tensors more: a library may let so many wait.
    """
    stopwatch, patience = Stopwatch(os.getpid()), LEAST_PATIENCE if _waited_in_vain else PATIENCE
    while not holds():
        gc.collect()
        if not holds():
            time.sleep(0.01)
        if stopwatch.seconds() > patience:
            _waited_in_vain.append(True)
            for _ in range(100 * len(consumers)):
                if not holds():
                    with contextlib.suppress(Exception):
                        _import_plain(consumers[0])
            return holds()
    return True


_waited_in_vain: list[bool] = []


def announce(text: str) -> None:
    """Prints what comes next: the last line before a crash is part of the report."""
    print(text, file=sys.stderr, flush=True)


def short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def spelled(keywords: dict[str, Any]) -> str:
    return ", ".join(f"{word}={value!r}" for word, value in keywords.items())


def import_tensor(target: Target, **fields: Any) -> ConsumerCall:
    """Calls a consumer with a tensor of these fields, in the struct that it asks for."""
    return ConsumerCall(target, Producer(**fields))


def function_with_keywords(target: Target) -> Callable[..., Any]:
    """Returns the consumer with its keywords. Raises Skip where it accepts none."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
    if target.library is None:
        return _journaled(target.function)
    function, module = target.library.take, target.module
    parameters = inspect.signature(function).parameters.values() if function else ()
    if function is None or not any(each.kind is each.VAR_KEYWORD for each in parameters):
        raise Skip(f"{target.library.title} takes no keywords")
    return _journaled(partial(function, module))


def _journaled(function: Callable[..., Any]) -> Callable[..., Any]:
    def consume(x: Any, **keywords: Any) -> Any:
        with journal.entry(import_call(x, **keywords)):
            result = function(x, **keywords)
        if journal.excluding(journal.END) is not None:
            _kept.append(result)
        return result

    return consume


def with_its_device(target: Target, keywords: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns keywords of a consumer alone, and with the device that the tensors are on.

    A consumer may have other code for requests with a device. Only the name of the CPU is known,
    and not where the consumer refuses a plain tensor with it.
    """
    on_host = device_memory.selected() == abi.CPU
    if not on_host or ConsumerCall(target, Producer(), device="cpu").refusal is not None:
        return [keywords]
    return [keywords, {"device": "cpu", **keywords}]


def takes_capsules(target: Target) -> bool:
    """Whether the consumer accepts only capsules and no producers."""
    return target.library is not None and target.library.takes_capsules


def negotiates(target: Target) -> None:
    """Raises Skip for a consumer that takes capsules and calls no producer."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
    if takes_capsules(target):
        raise Skip("it takes capsules, and calls no producer")


# The dtype of plain tensors: the first that the consumer takes.
DTYPES = (samples.FLOAT32, *(each for each in samples.READABLE if each != samples.FLOAT32))
_selected: set[Target] = set()


def select_dtype(target: Target) -> None:
    """Sets the dtype of plain tensors, for consumers of images, say, that take bytes only."""
    if target in _selected or target.function is None:
        return
    _selected.add(target)
    for dtype in DTYPES:
        PLAIN["dtype"] = dtype
        if _takes_plain(target):
            return
    PLAIN["dtype"] = samples.FLOAT32


def _takes_plain(target: Target) -> bool:
    for kind in (Producer, OldProducer, LegacyProducer):
        with contextlib.suppress(Skip, Broken):
            if ConsumerCall(target, kind()).refusal is None:
                return True
    return False


# The structs that a consumer accepts -----------------------------------------------------------


@dataclass(frozen=True)
class Support:
    """How a plain tensor reaches a consumer in each struct, and why it does not."""

    producers: dict[str, type[Producer]]  # by kind
    reasons: dict[str, str]  # of the kinds without a producer


_supports: dict[tuple[str, str | None], Support] = {}


def support(target: Target) -> Support:
    """Determines once with which producers a plain tensor is accepted."""
    key = target.name, target.consumer
    if key not in _supports:
        versioned, legacy = _versioned(target), _legacy(target)
        by_kind = {VERSIONED: versioned, LEGACY: legacy}
        _supports[key] = Support(
            {kind: it for kind, it in by_kind.items() if not isinstance(it, str)},
            {kind: it for kind, it in by_kind.items() if isinstance(it, str)},
        )
    return _supports[key]


def asks_for_versioned(target: Target) -> bool:
    """Whether the consumer asks a producer for a versioned capsule."""
    if takes_capsules(target):
        return False
    return any(
        isinstance(each.get("max_version"), tuple) and each["max_version"][:1] >= (1,)
        for each in import_tensor(target).producer.requests
    )


def _versioned(target: Target) -> type[Producer] | str:
    if takes_capsules(target):
        return "it takes legacy capsules only"
    try:
        call = import_tensor(target)
    except journal.Excluded as why:
        return str(why)
    if not any(tensor.name == "dltensor_versioned" for tensor in call.producer.tensors):
        return "it asks for legacy capsules only"
    return Producer if call.refusal is None else f"refused: {call.error_text}"


def _legacy(target: Target) -> type[Producer] | str:
    why = ""
    for kind in (OldProducer, LegacyProducer):
        try:
            call = ConsumerCall(target, kind())
        except journal.Excluded as excluded:
            why = str(excluded)
            continue
        if call.refusal is None:
            return kind
        why = f"refused: {call.error_text}"
    return why


def kinds(target: Target) -> list[str]:
    """Returns the kinds of struct that the consumer accepts. Raises Skip where it accepts none."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
    found = support(target)
    if not found.producers:
        raise Skip("a plain tensor is accepted from no producer: " + "; ".join(
            f"{kind}: {why}" for kind, why in found.reasons.items()))  # fmt: skip
    return list(found.producers)


def takes_versioned(target: Target) -> None:
    """Raises Skip for a consumer that never gets a versioned capsule, or refuses a plain one."""
    negotiates(target)
    reason = support(target).reasons.get(VERSIONED)
    if reason is not None:
        raise Skip(reason if reason.startswith("it ") else f"versioned capsules are {reason}")


def import_as(target: Target, kind: str, **fields: Any) -> ConsumerCall:
    """Calls the consumer with a tensor in one kind of struct."""
    return ConsumerCall(target, support(target).producers[kind](**fields))


AGAIN = ", again"  # ends the name of a case that was imported before
Cases = dict[str, dict[str, Any]]  # the fields of a tensor, by its name in the report


def each_import(
    target: Target, cases: Cases, *, times: int = 1, **keywords: Any
) -> Iterator[tuple[str, ConsumerCall]]:
    """Imports every case in every struct that the consumer accepts, and names it.

    The keywords are those of the consumer.
    """
    try:
        yield from _each_import(target, cases, times, keywords)
    finally:
        journal.subject = ""


def _each_import(
    target: Target, cases: Cases, times: int, keywords: dict[str, Any]
) -> Iterator[tuple[str, ConsumerCall]]:
    for kind in kinds(target):
        for name, fields in cases.items():
            journal.subject = f"{journal.RESULT}: {name}"
            if kind == VERSIONED and fields.get("version", ()) is None:
                continue
            described = _without_version(kind, fields)
            for again in range(times):
                title = f"{kind}, {name}" + (AGAIN if again else "")
                announce(f"the last import was {title}")
                producer = support(target).producers[kind](**described)
                yield title, ConsumerCall(target, producer, **keywords)


def _without_version(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what a legacy struct has no field for."""
    if kind == VERSIONED:
        return fields
    return {key: it for key, it in fields.items() if key not in ("version", "flags")}


def summed_up(failures: list[str]) -> str:
    """Joins what was wrong: the first three, and how many more."""
    more = f"; and {len(failures) - 3} more" if len(failures) > 3 else ""
    return "; ".join(failures[:3]) + more

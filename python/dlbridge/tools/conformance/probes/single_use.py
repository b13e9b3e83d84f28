# SPDX-License-Identifier: BSD-3-Clause
"""The probes of single use: races for one capsule, and capsules that were used before."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable

from ... import abi, clock
from .. import journal
from ..helpers.consumption import wait_until
from ..helpers.exports import device_of, make, request
from ..helpers.results import addresses_of
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import NO_CONSUMER, Target
from .sharing import call_consumer, tensor_factory

RACES, THREADS = 200, 4
RACING = 1.0  # seconds, for as many rounds of 200 races as fit
LEFT = "it copies, and leaves the tensor to the capsule, which is not used then"


class _Races:
    """Threads that consume the same capsule at the same time, one capsule after another."""

    def __init__(self, target: Target) -> None:
        self.target, create = target, tensor_factory()
        self.ready = threading.Barrier(THREADS)
        self.tensors = [{None: create(), 1: create(max_version=(1, 0))} for _ in range(RACES)]
        self.capsules = [{kind: it.capsule() for kind, it in pair.items()} for pair in self.tensors]
        self.results: list[list[Any]] = [[] for _ in range(RACES)]
        self.skipped: list[Skip] = []

    def run_all(self) -> None:
        threads = [threading.Thread(target=self._run) for _ in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if self.skipped:
            raise self.skipped[0]

    def _run(self) -> None:
        for capsules, results in zip(self.capsules, self.results):

            def capsule(
                max_version: Any = None, *, of: dict[int | None, Any] = capsules, **others: Any
            ) -> Any:
                return of[None if max_version is None else 1]

            self.ready.wait()
            try:
                results.append(call_consumer(self.target, capsule))
            except Skip as why:
                self.skipped.append(why)
            except Exception:  # another thread was first
                continue


def _leaves(target: Target, capsule: Any, result: Any) -> bool:
    """Whether a consumer copied, and left the tensor to the capsule, which stays fresh."""
    if abi.name_of(capsule) not in abi.STRUCTS:
        return False
    return abi.read(capsule).first not in addresses_of(target, result)


@probe("X-09", hostile=True)
def one_winner(target: Target) -> str:
    journal.require(journal.END)
    alone = tensor_factory()
    capsules: list[Any] = []

    def capsule(max_version: Any = None, **others: Any) -> Any:
        capsules.append(alone(max_version).capsule())
        return capsules[-1]

    try:
        result = call_consumer(target, capsule)
    except Skip:
        raise
    except Exception as error:
        raise Skip(f"a plain tensor is refused: {name_error(error)}") from None
    if capsules and all(_leaves(target, each, result) for each in capsules):
        raise Skip(LEFT)
    del result
    interval = sys.getswitchinterval()
    until = clock.now() + RACING
    batches = judged = 0
    while batches == 0 or clock.now() < until:
        sys.setswitchinterval(1e-6)
        try:
            races = _Races(target)
            races.run_all()
        finally:
            sys.setswitchinterval(interval)
        judged += _judge(races)
        batches += 1
    if not judged:
        raise Skip("every import on several threads is refused")
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    how = "with" if has_gil else "without"
    return f"{judged} races of {THREADS} threads, {how} the GIL"


def _judge(races: _Races) -> int:
    """Returns the number of races in which a capsule was consumed."""
    # Where all were refused, the capsule is fresh, and frees the tensor.
    wins = [
        len(results)
        for results, pair in zip(races.results, races.capsules)
        if results or any(abi.name_of(each) not in abi.STRUCTS for each in pair.values())
    ]
    for number in wins:
        if number != 1:
            raise Broken(f"of {THREADS} threads with one capsule {number} consumed it")
    races.results.clear()
    races.capsules.clear()
    if not wait_until(
        lambda: all(sum(it.calls for it in pair.values()) == 2 for pair in races.tensors)
    ):
        raise Broken("the deleters did not run once each")
    return len(wins)


@probe("X-10", hostile=True)
def used_twice(target: Target) -> str | None:
    x = make(target)
    capsules: list[Any] = []

    def capsule(**requests: Any) -> Any:
        if not capsules:
            capsules.append(request(x, **requests))
        return capsules[0]

    if target.function is None:
        raise Skip(NO_CONSUMER)
    try:
        first = call_consumer(target, capsule, device_of(x))
    except Exception as error:
        raise Skip(f"the consumer does not accept this producer: {name_error(error)}") from None
    is_left = _leaves(target, capsules[0], first) if capsules else False
    if not is_left:
        _must_raise(target, capsule, device_of(x), "a used capsule")
    del first
    tensors = tensor_factory()()
    foreign = tensors.capsule("foreign_tensor")
    _must_raise(target, lambda **requests: foreign, None, "a capsule named 'foreign_tensor'")
    if tensors.calls:
        raise Broken("the deleter of a capsule with a foreign name was called")
    return LEFT if is_left else None


def _must_raise(target: Target, capsule: Callable[..., Any], device: Any, what: str) -> None:
    try:
        call_consumer(target, capsule, device)
    except SystemError as unclean:
        raise Broken(f"{what} raised {name_error(unclean)}") from None
    except Exception:
        return
    raise Broken(f"{what} was accepted")

# SPDX-License-Identifier: BSD-3-Clause
"""The probes of refusals: what is refused is freed exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import abi, devices
from ..helpers import samples
from ..helpers.consumption import (
    Cases,
    ConsumerCall,
    each_import,
    function_with_keywords,
    kinds,
    summed_up,
    takes_capsules,
)
from ..helpers.expectations import NOWHERE, note
from ..helpers.producers import (
    VERSION,
    CopyingProducer,
    Producer,
)
from ..helpers.trials import how_it_ends, survivors
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target
from .devices import foreign
from .layouts import INVALID_SHAPES
from .release import release_all

ENOUGH = 8  # refusals that leak: a report needs no more, and each is waited for

# C-21 and C-22: what is refused ----------------------------------------------------------------

_PERMITTED: Cases = {
    **{name: {"dtype": dtype} for dtype, name in samples.READABLE.items()},
    "complex32": {"dtype": (5, 32, 1)},
    "float128": {"dtype": (2, 128, 1)},
    "int128": {"dtype": (0, 128, 1)},
    "int4": {"dtype": (0, 4, 1)},
    "opaque": {"dtype": (3, 64, 1)},
    "float4_e2m1fnx2": {"dtype": (17, 4, 2)},
    "float6_e2m3fn": {"dtype": (15, 6, 1)},
    "two lanes": {"dtype": (2, 32, 2)},
    "four lanes of int8": {"dtype": (0, 8, 4)},
    "backwards": {"shape": (3,), "strides": (-1,)},
    "all backwards": {"strides": (-3, -1)},
    "repeated": {"strides": (0, 1)},
    "4096 times repeated": {"shape": (4096,), "strides": (0,)},
    "transposed": {"strides": (1, 2)},
    "with gaps": {"strides": (8, 2)},
    "overlapping": {"shape": (4, 3), "strides": (1, 1)},
    "NULL strides": {"strides": None, "version": VERSION},
    "no dimensions": {"shape": None, "strides": None, "ndim": 0},
    "no elements": {"shape": (2, 0), "strides": (0, 1), "pointer": 0},
    **{f"{rank} dimensions": {"shape": (1,) * rank, "strides": (1,) * rank}
       for rank in (9, 33, 65)},
    "a byte_offset": {"byte_offset": 4},
    "unaligned data": {"shift": 4},
    "bytes at an odd address": {"shift": 1, "dtype": (1, 8, 1)},
    "a read-only tensor": {"version": VERSION, "flags": abi.READ_ONLY},
    "an unknown flag": {"version": VERSION, "flags": 1 << 40},
    "a newer minor version": {"version": (1, 99)},
}  # fmt: skip
_INVALID: Cases = {
    "an unknown device": {"device": (99, 0)},
    "no device type": {"device": (0, 0)},
    "cuda, said by the capsule only": {"device": (2, 0), "reported_device": abi.CPU},
    "an unknown dtype": {"dtype": (200, 32, 1)},
    "no bits": {"dtype": (2, 0, 1)},
    "no lanes": {"dtype": (2, 32, 0)},
    "33 bits": {"dtype": (2, 33, 1)},
    "a float4 of 8 bits": {"dtype": (17, 8, 1)},
    **INVALID_SHAPES,
    "a vector at NULL": {"shape": (3,), "strides": (1,), "pointer": 0},
    "one dimension at NULL": {"shape": None, "strides": None, "ndim": 1},
    "the extents at NULL": {"shape": None, "ndim": 2},
    "data between elements": {"shift": 1},
}


def _refusals_free_once(target: Target, cases: Cases) -> str:
    wrong: list[str] = []
    count = 0
    for title, call in each_import(target, survivors(target, cases)):
        if len(wrong) == ENOUGH:
            break
        if call.refusal is None:
            call.release()
            continue
        error_text, fields = call.error_text, call.producer.fields
        producer = type(call.producer)
        count += 1
        calls = [call]
        calls += [ConsumerCall(target, producer(**fields)) for _ in range(2)]
        try:
            raise KeyError("an exception that is being handled")
        except KeyError:
            calls.append(ConsumerCall(target, producer(**fields)))
        producers = [it.producer for it in calls]
        release_all(calls)
        freed = [tensor.calls for each in producers for tensor in each.tensors]
        if freed != [1] * len(freed):
            times = next(number for number in freed if number != 1)
            wrong.append(
                f"{title}, refused, {error_text}: the deleter was called {times} times, and should"
                " be called once"
            )
    if wrong:
        raise Broken(summed_up(wrong))
    return note(target, f"{count} of {len(cases) * len(kinds(target))} refused, and freed once", [])


@probe("C-21", hostile=True)
def refusals_free_once(target: Target) -> str:
    foreign_memory = {
        f"memory of {name}": {**fields, "pointer": NOWHERE} for name, fields in foreign().items()
    }
    return _refusals_free_once(target, {**foreign_memory, **_PERMITTED})


@probe("C-21", hostile=True)
def refusals_by_keywords_free_once(target: Target) -> str:
    if takes_capsules(target):
        raise Skip("it takes capsules, and has no keywords")
    function_with_keywords(target)
    asked: list[tuple[Callable[[], Producer], dict[str, Any]]] = [
        (lambda: Producer(strides=(0, 1)), {"copy": False}),
        (lambda: Producer(shift=4), {"copy": False}),
        (lambda: Producer(dtype=(2, 64, 1)), {"copy": False}),
        (lambda: Producer(byte_offset=4), {"copy": False}),
        (lambda: CopyingProducer(), {"copy": False}),
        (lambda: Producer(), {"copy": True}),
        (lambda: Producer(dtype=(10, 8, 1)), {"copy": True}),
        (lambda: Producer(), {"device": "cpu"}),
        (lambda: Producer(device=(devices.WEBGPU, 0), pointer=NOWHERE), {"device": "cpu"}),
        (lambda: Producer(), {"device": object()}),
    ]
    count = 0
    for create, keywords in asked:
        call = ConsumerCall(target, create(), **keywords)
        error_text = call.error_text
        count += call.refusal is not None
        freed, tensors = release_all([call])
        if freed != tensors:
            raise Broken(
                f"with {keywords}, {error_text}: {freed} calls of the deleter for {tensors}"
            )
    return f"{count} of {len(asked)} refused, and freed once"


@probe("C-22", hostile=True)
def refusals_of_invalid_tensors_free_once(target: Target) -> str:
    survived = {
        name: fields
        for name, fields in _INVALID.items()
        if not any(how_it_ends(target, kind, fields) for kind in kinds(target))
    }
    return _refusals_free_once(target, survived)

# SPDX-License-Identifier: BSD-3-Clause
"""Makes each kind of call into the library once, before the probes build on it.

Where a call ends the process, or never ends, the journal has its name. One rule reports it, and the
probes of the others leave it out.
"""

from __future__ import annotations

import contextlib
import gc
from typing import Any

from .. import abi, dtypes
from . import journal
from .helpers import device_memory
from .helpers.arrays import VIEWED, another_element, view_of, views_of
from .helpers.consumption import ConsumerCall
from .helpers.exports import (
    AGAIN,
    DROP,
    NEWEST,
    SOURCE,
    USED,
    Keywords,
    device_of,
    free,
    make,
    request,
)
from .helpers.producers import LegacyProducer, OldProducer, Producer
from .helpers.readings import reading_of, shape_of
from .helpers.results import readers, values_of, views
from .outcomes import Skip
from .target import NoFactory, Target

# Each keyword alone before it is combined: what ends with one is not tried with more.
REQUESTS: tuple[Keywords, ...] = (
    *({}, {"max_version": NEWEST}, {"stream": None}, {"dl_device": None}, {"copy": None}),
    *({"copy": False}, {"copy": True}, {"max_version": (0, 8)}),
    {"max_version": NEWEST, "copy": False},
    {"max_version": NEWEST, "copy": True},
)


def make_calls(target: Target) -> None:
    """Makes the calls that are not excluded. This may end the process, or never return."""
    with contextlib.suppress(NoFactory):
        _of_a_producer(target)
    if target.function is not None:
        _of_a_consumer(target)


def _of_a_producer(target: Target) -> None:
    x = make(target)
    with contextlib.suppress(Skip):
        device_of(x)
    own = {"dl_device": _device(x)}
    answered: list[Keywords] = []
    for keywords in (*REQUESTS, own, {"max_version": NEWEST, **own}):
        with contextlib.suppress(Skip, Exception):
            _hold(request(_kept(target), **keywords))
            answered.append(keywords)
    for keywords in answered[:2]:  # one for each kind of struct
        with contextlib.suppress(Skip, Exception):
            _request_again(_kept(target), keywords)
    for keywords in answered[:2]:
        with contextlib.suppress(Skip, Exception):
            source = make(target)
            _hold(request(source, **keywords))
            with journal.entry(SOURCE):
                del source
                gc.collect()
    for keywords in answered:
        with contextlib.suppress(Skip, Exception):
            capsule = request(x, **keywords)
            with journal.entry(DROP):
                del capsule
                gc.collect()
    for keywords in answered:
        with contextlib.suppress(Skip, Exception):
            capsule = request(x, **keywords)
            tensor = abi.take(capsule)
            with contextlib.suppress(journal.Excluded), journal.entry(USED):
                del capsule
                gc.collect()
            free(tensor)
    _views(target, x)


def _kept(target: Target) -> Any:
    """Returns an array for one call, which neither earlier exports nor its own end disturb."""
    _held.append(make(target))
    return _held[-1]


def _request_again(x: Any, keywords: Keywords) -> None:
    _hold(request(x, **keywords))
    with journal.entry(AGAIN):
        _hold(request(x, **keywords))


def _device(x: Any) -> tuple[int, int]:
    try:
        return device_of(x)
    except Skip:
        return device_memory.selected()


def _hold(capsule: Any) -> None:
    """Keeps a tensor, so that this call neither drops nor frees it."""
    _held.append(capsule)
    with contextlib.suppress(TypeError, abi.Unreadable):
        abi.take(capsule)


_held: list[Any] = []  # capsules, and arrays


def _views(target: Target, x: Any) -> None:
    """Makes the calls that are no part of DLPack, and on which probes build."""
    shape = shape_of(x) or (2, 3)
    reading_of(x, shape, dtypes.FLOAT)
    with contextlib.suppress(Skip, Exception), another_element(x, (0,) * len(shape)):
        pass
    for extents in VIEWED if "shape" in target.accepts else (shape,):
        try:
            base = target.make(**({"shape": extents} if "shape" in target.accepts else {}))
        except Skip:
            continue
        for name, (change, _) in views_of(target, len(extents)).items():
            with contextlib.suppress(Skip, Exception):
                view_of(base, name, change)


def _of_a_consumer(target: Target) -> None:
    keywords: tuple[dict[str, Any], ...] = ({}, {"copy": True}, {"copy": False}, {"device": "cpu"})
    for kind in (Producer, OldProducer, LegacyProducer):
        for words in keywords if kind is Producer else keywords[:1]:
            with contextlib.suppress(BaseException):
                call = ConsumerCall(target, kind(), **words)
                if not words:
                    call.release()
    with contextlib.suppress(BaseException):
        readers(target)
        call = ConsumerCall(target, Producer())
        values_of(target, call.result)
        for way in views(target).values():
            with contextlib.suppress(Exception):
                way(call.result)

# SPDX-License-Identifier: BSD-3-Clause
"""The probes of what a result is used for: views of it, and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import abi
from ..helpers import samples
from ..helpers.consumption import (
    LEGACY,
    VERSIONED,
    Cases,
    ConsumerCall,
    announce,
    each_import,
    import_as,
    kinds,
    owed,
    short,
    summed_up,
    wait_until,
)
from ..helpers.expectations import same, wrong_values
from ..helpers.exports import require_ends, require_requests
from ..helpers.producers import (
    VERSION,
    Producer,
)
from ..helpers.results import (
    CannotRead,
    device_of,
    export_again,
    readers,
    reported_dtype,
    values_in,
    values_of,
    views,
)
from ..helpers.trials import survivors
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target
from .release import accepted, churn

# C-29: views of the result ---------------------------------------------------------------------


def _view(target: Target, kind: str, way: Callable[[Any], Any]) -> tuple[Producer, Any] | None:
    """Imports a tensor and keeps only a view of it. None where there is no such view."""
    call = import_as(target, kind)
    if call.refusal is not None:
        return None
    try:
        view = way(call.result)
    except Exception:
        return None
    producer = call.producer
    call.drop()
    producer.capsules.clear()
    return producer, view


def _expected_of(target: Target, kind: str, way: Callable[[Any], Any]) -> Any:
    """Reads the view while the result is alive."""
    call = import_as(target, kind)
    return values_of(target, way(call.result))


@probe("C-29", hostile=True)
def views_keep_the_memory(target: Target) -> str:
    readers(target)
    kept: list[str] = []
    for kind in kinds(target):
        for name, way in views(target).items():
            announce(f"the last view was {kind}, {name}")
            found = _view(target, kind, way)
            if found is None:
                continue
            producer, view = found
            churn()
            try:
                values, expected = values_of(target, view), _expected_of(target, kind, way)
            except CannotRead:
                continue
            if not same(values, _as_lists(expected)):
                raise Broken(
                    f"{kind}: after x was dropped, {name} holds {short(repr(values))} instead of"
                    f" {short(repr(expected))}; its deleter was called {producer.deleter_calls}"
                    " times"
                )
            kept.append(name)
    if not kept:
        raise Skip("its arrays have no view that can be read")
    return f"views: {', '.join(dict.fromkeys(kept))}"


def _as_lists(values: Any) -> Any:
    return [_as_lists(each) for each in values] if isinstance(values, (list, tuple)) else values


def _wrong_calls(producer: Producer) -> str | None:
    """Waits for the deleters of dropped tensors, and says how often they were not called once."""
    wait_until(lambda: producer.deleter_calls >= owed(producer))
    if all(tensor.calls == 1 for tensor in producer.tensors):
        return None
    calls, tensors = producer.deleter_calls, owed(producer)
    return f"{calls} calls of the deleter" + (f" of {tensors} tensors" if tensors > 1 else "")


@probe("C-07", hostile=True)
def frees_once_after_the_last_view(target: Target) -> None:
    for kind in kinds(target):
        for name, way in views(target).items():
            found = _view(target, kind, way)
            if found is None:
                continue
            producer, view = found
            del found, view
            if (wrong := _wrong_calls(producer)) is not None:
                raise Broken(f"{kind}: after x and {name} were dropped: {wrong}")


# C-30: the result as a producer ----------------------------------------------------------------

_EXPORTED: Cases = {
    "a plain tensor": {},
    "a byte_offset": {"byte_offset": 8},
    "transposed": {"strides": (1, 2)},
    "with gaps": {"strides": (8, 2)},
    "backwards": {"strides": (-3, -1)},
    "repeated": {"strides": (0, 1)},
    "three dimensions": {"shape": (2, 3, 4), "strides": (1, 2, 6)},
    "no dimensions": {"shape": (), "strides": ()},
    "NULL strides": {"strides": None, "version": VERSION},
    **{f"{name}": {"dtype": dtype} for dtype, name in samples.READABLE.items()},
}
_REQUESTS: dict[str, dict[str, Any]] = {LEGACY: {}, VERSIONED: {"max_version": VERSION}}


def _export(x: Any, request: str) -> Any:
    """Returns a fresh capsule; None where the result refuses this request or exports nothing."""
    try:
        return export_again(x, **_REQUESTS[request])
    except Exception:
        return None


@probe("C-30", hostile=True)
def exports_what_was_imported(target: Target) -> str:
    wrong, right = [], 0
    for title, call in each_import(target, survivors(target, _EXPORTED)):
        if call.refusal is not None or not _is_right(call):
            continue
        for request in _REQUESTS:
            capsule = _export(call.result, request)
            if capsule is None:
                continue
            try:
                how = _differs(call, abi.read(capsule))
            except abi.Unreadable as why:
                how = str(why)
            right += how is None
            if how is not None:
                wrong.append(f"{title}, exported again ({request}): {how}")
    if wrong:
        raise Broken(summed_up(wrong))
    if not right:
        raise Skip("it exports no result again")
    return f"{right} exports are right"


def _is_right(call: ConsumerCall) -> bool:
    """Whether the result itself is right: other rules report where it is not."""
    try:
        return wrong_values(call) is None
    except CannotRead:
        return True


def _differs(call: ConsumerCall, contents: abi.Contents) -> str | None:
    if contents.device[0] != call.producer.fields["device"][0]:
        return f"the device is {contents.device}, and was {call.producer.fields['device']}"
    own = device_of(call.result)
    if own is not None and own != contents.device:
        return f"the device is {contents.device}, and __dlpack_device__() returned {own}"
    dtype = call.producer.fields["dtype"]
    if contents.dtype != dtype:
        reported, name = reported_dtype(call.result), samples.READABLE.get(contents.dtype)
        # A library that converted says so; C-12 compares the values then.
        return None if reported == name else f"the dtype is {contents.dtype}, and was {dtype}"
    try:
        values, expected = values_in(contents), call.producer.values
    except (abi.Unreadable, KeyError) as why:
        return str(why)
    if not same(values, expected):
        return f"expected {short(repr(expected))}; got {short(repr(values))}"
    return None


@probe("C-30", hostile=True)
def exports_outlive_the_result(target: Target) -> str:
    require_ends()
    count = 0
    for title, call in each_import(target, {"plain": {}, "transposed": {"strides": (1, 2)}}):
        for request in _REQUESTS:
            if call.refusal is not None:
                continue
            again = ConsumerCall(target, type(call.producer)(**call.producer.fields))
            if again.refusal is not None or (capsule := _export(again.result, request)) is None:
                continue
            producer = again.producer
            try:  # what it holds may differ from the tensor: other rules judge that
                before = values_in(abi.read(capsule))
            except (abi.Unreadable, KeyError):
                continue
            again.drop()
            producer.capsules.clear()
            churn()
            try:
                values = values_in(abi.read(capsule))
            except abi.Unreadable as why:
                raise Broken(f"{title}, after the result was dropped: {why}") from None
            if not same(values, before):
                raise Broken(
                    f"{title}: a capsule that the result exported ({request}) holds"
                    f" {short(repr(values))} after the result was dropped, and held"
                    f" {short(repr(before))}; the deleter of the import was called"
                    f" {producer.deleter_calls} times"
                )
            del capsule
            if (wrong := _wrong_calls(producer)) is not None:
                raise Broken(f"{title}: after the export ({request}) was dropped too: {wrong} of"
                             " the import")  # fmt: skip
            count += 1
    if not count:
        raise Skip("it exports no result again")
    return f"{count} exports outlive the result"


@probe("C-30", hostile=True)
def imports_of_its_own_results(target: Target) -> str:
    """The result goes through the consumer twice more; the first two are dropped."""
    require_requests()
    readers(target)
    count = 0
    for kind in kinds(target):
        call = accepted(import_as(target, kind))
        producer, expected = call.producer, call.producer.values
        x = call.result
        call.result = None
        try:
            for _ in range(2):
                x = target.consume(x)
        except Exception as error:
            raise Skip(f"it does not import its own arrays: {name_error(error)}") from None
        producer.capsules.clear()
        churn()
        try:
            values = values_of(target, x)
        except CannotRead as why:
            raise Skip(f"the third array cannot be read: {why}") from None
        if not same(values, expected):
            raise Broken(
                f"{kind}: after two more imports and the drop of the arrays before them: expected"
                f" {short(repr(expected))}; got {short(repr(values))}"
            )
        del x
        if (wrong := _wrong_calls(producer)) is not None:
            raise Broken(f"{kind}: after all arrays were dropped: {wrong}")
        count += 1
    return f"{count} chains of three arrays"

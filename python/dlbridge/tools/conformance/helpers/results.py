# SPDX-License-Identifier: BSD-3-Clause
"""Reads what a consumer returns: values, dtype, address, and marks of read-only memory."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
from collections.abc import Callable
from typing import Any

from ... import abi, dtypes
from ...buffers import buffer_of
from ...dtypes import Triple
from ...elements import flat, row_major, shape_of
from ...marks import read_only_marks
from .. import journal
from ..outcomes import Skip, name_error
from ..target import Target
from . import device_memory, samples
from .consumption import (
    ConsumerCall,
    kinds,
    short,
    support,
)
from .exports import reported_device, request
from .producers import BEFORE, VERSION, Producer

Nested = Any  # numbers in nested lists
Reader = Callable[[Any], Nested]


class CannotRead(Exception):
    """No method reads this result; the text says what each one raised."""


# Values ------------------------------------------------------------------------------------------

_readers: dict[tuple[str, str | None], dict[str, Reader]] = {}  # by the names of the target


def readers(target: Target) -> dict[str, Reader]:
    """Returns the functions that read a plain tensor: the right ones, if any.

    Otherwise those that return numbers of its shape, as the consumer may have read it wrongly.
    Raises Skip when there are none either.
    """
    key = target.name, target.consumer
    if key not in _readers:
        producer = support(target).producers[kinds(target)[0]]()
        producer.overwrites = False  # whether the consumer frees too early is for a probe to say
        call = ConsumerCall(target, producer)
        expected = call.producer.values
        candidates = _candidates(target)
        results = {name: _attempt(reader, call.result) for name, reader in candidates.items()}
        right = {name: candidates[name] for name, it in results.items() if it == expected} or {
            name: candidates[name]
            for name, it in results.items()
            if _are_numbers(it) and shape_of(it) == shape_of(expected)
        }
        if not right:
            name = type(call.result).__name__
            for shape in (shape_of(it) for it in results.values() if _are_numbers(it)):
                raise Skip(f"a tensor of shape {shape_of(expected)} became a {name} of shape"
                           f" {shape}: their elements cannot be compared")  # fmt: skip
            tried = "; ".join(f"{name}: {short(str(it))}" for name, it in results.items())
            raise Skip(f"a {name} cannot be read ({tried})")
        _readers[key] = right
    return _readers[key]


def _candidates(target: Target) -> dict[str, Reader]:
    candidates: dict[str, Reader] = {}
    library, module = target.library, target.module
    if library is not None:
        candidates["its row"] = lambda x: library.values(module, x)
    candidates["tolist()"] = lambda x: x.tolist()
    candidates["buffer protocol"] = lambda x: memoryview(x).tolist()
    candidates["__array_interface__"] = _by_array_interface
    candidates["__dlpack__"] = by_dlpack
    return {name: _journaled(name, reader) for name, reader in candidates.items()}


def _are_numbers(values: Any) -> bool:
    return all(isinstance(each, (int, float, complex)) for each in flat(values))


def _attempt(reader: Reader, x: Any) -> Any:
    try:
        return reader(x)
    except (journal.Excluded, Exception) as error:
        return name_error(error)


def values_of(target: Target, x: Any) -> Nested:
    """Reads an array, or a view of one, by the first method that works.

    Raises Skip where no method reads even a plain tensor, and CannotRead for this array.
    """
    tried = []
    for name, reader in readers(target).items():
        try:
            return reader(x)
        except Exception as error:
            tried.append(f"{name}: {short(name_error(error))}")
    if type(x).__name__ in ("memoryview", "ndarray") and not callable(x):
        with contextlib.suppress(Exception):
            return x.tolist()
    raise CannotRead("; ".join(tried))


def by_dlpack(x: Any) -> Nested:
    """Reads what the array exports."""
    return values_in(export_of(x))  # versioned: a legacy one cannot be read-only


def values_in(contents: abi.Contents) -> Nested:
    """Reads a tensor. Raises abi.Unreadable, and KeyError for a dtype."""
    shape = contents.shape
    if shape is None:
        raise abi.Unreadable("the shape is not readable")
    strides = contents.strides
    if strides is None:
        if not contents.strides_is_null:
            raise abi.Unreadable("the strides are not readable")
        strides = row_major(shape)
    each = samples.itemsize(contents.dtype)
    steps = tuple(step * each for step in strides)
    return _at(contents.first, shape, steps, contents.dtype, contents.device)


def _by_array_interface(x: Any) -> Nested:
    interface = x.__array_interface__
    dtype = _triple_of(interface["typestr"])
    shape = tuple(interface["shape"])
    steps = interface.get("strides") or [samples.itemsize(dtype) * it for it in row_major(shape)]
    return _at(interface["data"][0], shape, tuple(steps), dtype)


def _triple_of(typestr: str) -> Triple:
    code = dtypes.code_of_kind(typestr[1])
    if code is None:
        raise ValueError(f"typestr {typestr!r} is not supported")
    return code, 8 * int(typestr[2:]), 1


def _at(
    address: int,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    dtype: Triple,
    device: tuple[int, int] = abi.CPU,
) -> Nested:
    if shape:
        inner = shape[1:], steps[1:], dtype, device
        return [_at(address + i * steps[0], *inner) for i in range(shape[0])]
    content = device_memory.read(address, samples.itemsize(dtype), device)
    if content is None:
        raise abi.Unreadable(f"{address:#x} is not readable")
    return samples.decode(content, dtype)


# Dtype, address, device ----------------------------------------------------------------------


def reported_dtype(x: Any) -> str | None:
    """Returns the name of the dtype that a result reports, None where it reports none.

    By its attribute dtype, by the buffer's format, and at last by its own export.
    """
    for question in (_by_attribute, _by_format, _by_export):
        with contextlib.suppress(Exception):
            name = question(x)
            if name in samples.KNOWN_NAMES:
                return name
    return None


def _by_attribute(x: Any) -> str:
    dtype = x.dtype
    text = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    found = re.search(r"(\w+?)_?\W*$", str(text))
    return found.group(1) if found else ""


def _by_format(x: Any) -> str:
    view = memoryview(x)
    named = {"?": "bool", "e": "float16", "f": "float32", "d": "float64"}
    kind = "uint" if view.format.isupper() else "int"
    return named.get(view.format) or f"{kind}{8 * view.itemsize}"


def _by_export(x: Any) -> str:
    return dtypes.name(export_of(x).dtype)


def export_again(x: Any, **keywords: Any) -> Any:
    """Calls x.__dlpack__ of a result. Raises what it raises, as an Exception in any case."""
    try:
        return request(x, **keywords)
    except journal.Excluded as why:
        raise RuntimeError(str(why)) from None


def export_of(x: Any) -> abi.Contents:
    """Returns the contents of a fresh export: versioned where the array has it."""
    try:
        return abi.read(export_again(x, max_version=VERSION))
    except (TypeError, abi.Unreadable):
        return abi.read(export_again(x))


def addresses_of(target: Target, x: Any) -> list[int]:
    """Returns the address of the first element by every method that works."""
    library, module = target.library, target.module
    ways: list[Callable[[], Any]] = [
        lambda: library.address(module, x) if library and library.address else None,
        lambda: x.__array_interface__["data"][0],
        lambda: buffer_of(x).address,  # type: ignore[union-attr]
        lambda: _exported_address(x),
    ]
    found = []
    for way in ways:
        with contextlib.suppress(Exception):
            found.append(int(way()))
    return found


def _exported_address(x: Any) -> int | None:
    """Returns the address of an export; None where it is a copy, which is elsewhere."""
    contents = export_of(x)
    return None if contents.flags & abi.IS_COPIED else contents.first


def shares_memory(call: ConsumerCall) -> bool:
    """Whether the result is over the memory of the producer, which must be alive.

    Raises Skip where this cannot be seen. Ask before the result is read: some libraries keep what
    they have read.
    """
    if addresses_of(call.target, call.result):
        return bool(_tensors_of(call))
    call.producer.write()
    try:
        return bool(values_of(call.target, call.result) != call.producer.values)
    except CannotRead as why:
        raise Skip(f"the result cannot be read: {why}") from None


def is_over_requested_copy(call: ConsumerCall) -> bool:
    """Whether the result is over a tensor that the consumer requested with copy=True."""
    requests = call.producer.requests
    return len(requests) == len(call.producer.tensors) and any(
        requests[number].get("copy") is True for number in _tensors_of(call)
    )


def _tensors_of(call: ConsumerCall) -> list[int]:
    """Returns the numbers of the producer's tensors over whose memory the result is."""
    found = addresses_of(call.target, call.result)
    near = BEFORE * samples.itemsize(call.producer.fields["dtype"])
    places = enumerate(call.producer.addresses)
    return [number for number, place in places if any(abs(it - place) <= near for it in found)]


def tensors_below(target: Target, producer: Producer, x: Any) -> list[abi.CtypesTensor]:
    """Returns the tensors of a producer, of six elements each, in whose memory an array begins."""
    size = 6 * samples.itemsize(producer.fields["dtype"])
    found = addresses_of(target, x)
    places = zip(producer.tensors, producer.addresses)
    return [tensor for tensor, place in places if any(0 <= it - place < size for it in found)]


def device_of(x: Any) -> tuple[int, int] | None:
    """Returns the device that a result reports, None where it reports none."""
    try:
        type_, index = reported_device(x)
        return int(type_), int(index)
    except (journal.Excluded, Exception):
        return None


# Read-only memory --------------------------------------------------------------------------------


def marks(x: Any) -> dict[str, bool]:
    """Returns whether an array is marked read-only, by each road, its own export included."""
    found = read_only_marks(x)
    with contextlib.suppress(Exception):
        mark = _marked_export(x)
        if mark is not None:
            found["__dlpack__"] = mark
    return found


def _marked_export(x: Any) -> bool | None:
    try:
        contents = abi.read(export_again(x, max_version=VERSION))
    except BufferError:  # it refuses to export read-only memory
        return None
    if contents.version is None or contents.flags & abi.IS_COPIED:  # a copy may be written
        return None
    return bool(contents.flags & abi.READ_ONLY)


# Views ---------------------------------------------------------------------------------------

Way = Callable[[Any], Any]


def views(target: Target) -> dict[str, Way]:
    """Returns ways to obtain a view, or a copy, of an array of shape (2, 3)."""
    ways: dict[str, Way] = {
        "x[...]": lambda x: x[...],
        "x[1:]": lambda x: x[1:],
        "x[:, ::2]": lambda x: x[:, ::2],
        "x[1]": lambda x: x[1],
        "next(iter(x))": lambda x: next(iter(x)),
        "x.T": lambda x: x.T,
        "x.reshape((3, 2))": lambda x: x.reshape((3, 2)),
        "x.ravel()": lambda x: x.ravel(),
        "memoryview(x)": memoryview,
        "x.numpy()": lambda x: x.numpy(),
    }
    library, module = target.library, target.module
    if library is not None:
        ways["its transpose(x)"] = lambda x: library.transpose(module, x)
        ways["its index(x, slice(1, None))"] = lambda x: library.index(module, x, slice(1, None))
    if importlib.util.find_spec("numpy") is not None:
        ways["numpy.asarray(x)"] = _as_numpy
    return {name: _viewed(name, way) for name, way in ways.items()}


def _journaled(name: str, way: Way) -> Way:
    """Names the call in the journal. A way that ends the process raises an Exception instead."""

    def call(x: Any) -> Any:
        try:
            with journal.entry(journal.Call("view", name, subject=journal.RESULT)):
                return way(x)
        except journal.Excluded as why:
            raise RuntimeError(str(why)) from None

    return call


def _viewed(name: str, way: Way) -> Way:
    """Names the view in the journal, too, for what is done with it."""
    journaled = _journaled(name, way)

    def call(x: Any) -> Any:
        view = journaled(x)
        journal.subject = f"{name}{journal.VIEW}{journal.RESULT}"
        return view

    return call


def _as_numpy(x: Any) -> Any:
    array = importlib.import_module("numpy").asarray(x)
    if array.dtype == object:
        raise TypeError(f"NumPy takes {type(x).__name__} as an object")
    return array

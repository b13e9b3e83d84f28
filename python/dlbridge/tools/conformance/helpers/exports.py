# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for probes of producers: exports a capsule, and reads the memory of its tensor."""

from __future__ import annotations

import enum
import math
import operator
import threading
from dataclasses import dataclass
from typing import Any

from ... import abi, devices, dtypes
from ...elements import offsets, span
from .. import journal
from ..outcomes import Skip, library_code, name_error
from ..target import Target
from . import device_memory

NEWEST = (1, 3)  # sent as max_version
NO_CAPSULE = "no request returns a capsule"
ONLY_LEGACY = "the producer returns legacy capsules only"
MOST_ELEMENTS = 1 << 20  # arrays with more elements are not compared
MOST_BYTES = 1 << 28  # that a tensor may span; wrong strides span more
Keywords = dict[str, Any]  # of one call of __dlpack__


@dataclass(frozen=True)
class Export:
    """A fresh capsule and its contents. Dropping the capsule frees the tensor."""

    capsule: Any
    contents: abi.Contents


_named = ""  # the array that name_in_journal() has named last


def has_dlpack(x: Any) -> bool:
    return callable(getattr(x, "__dlpack__", None))


def exports_nothing(x: Any) -> bool:
    methods = ("__dlpack__", "__dlpack_device__")
    return not any(callable(getattr(x, each, None)) for each in methods)


def first_array(target: Target) -> Any:
    """Calls the factory: for one dimension where the usual array has no __dlpack__.

    Some libraries export arrays of one dimension only.
    """
    x = target.make()
    return target.make(shape=(6,)) if not has_dlpack(x) and "shape" in target.accepts else x


def name_in_journal(what: str) -> None:
    """Names the array that is examined, until make() creates another one."""
    global _named
    journal.subject = _named = what


def make(target: Target, **arguments: Any) -> Any:
    """Calls the factory. Raises Skip where the object has no __dlpack__.

    Some libraries export arrays of one dimension only: they get that shape by default.
    """
    if arguments or journal.subject == _named:  # and not one that arrays() has named
        name_in_journal(target.text_of(**arguments) if arguments else "")
    x = target.make(**arguments)
    if not has_dlpack(x) and "shape" in target.accepts - arguments.keys():
        x = target.make(**arguments, shape=(6,))
    if not has_dlpack(x):
        raise Skip(f"{type(x).__name__} has no __dlpack__: it exports nothing by DLPack")
    return x


def call_text(keywords: Keywords, *arguments: Any) -> str:
    """Formats a call for a message.

    >>> call_text({"max_version": (1, 3), "copy": True})
    '__dlpack__(max_version=(1, 3), copy=True)'
    """
    return f"__dlpack__({', '.join([*map(repr, arguments), *_spelled(keywords)])})"


def _spelled(keywords: Keywords) -> list[str]:
    return [f"{name}={value!r}" for name, value in keywords.items()]


def call_of(keywords: Keywords, *arguments: Any) -> journal.Call:
    """Names a request in the journal. All versions from 1.0 on are one, and so are all devices."""
    words = [
        name if name in ("max_version", "dl_device") and _is_from_1(value) else f"{name}={value!r}"
        for name, value in keywords.items()
    ]
    if "max_version" not in words:
        words.append(journal.LEGACY)
    text = call_text(keywords, *arguments)
    if threading.current_thread() is not threading.main_thread():
        words.append(journal.ON_THREAD)
        text = f"{text} {journal.ON_THREAD}"
    return journal.Call("request", text, tuple(words), journal.subject)


def _is_from_1(value: Any) -> bool:
    """Whether it is a tuple that begins with a positive integer; probes also pass other things."""
    first = value[0] if isinstance(value, tuple) and value else None
    return isinstance(first, int) and first > 0


# Calls of the producer --------------------------------------------------------------------------

_kept: list[Any] = []  # capsules and arrays whose end would be that of the process
_requested: dict[int, Any] = {}  # arrays of which a further request would end the process
DROP = journal.Call("drop", "the end of an unused capsule")
USED = journal.Call("used", "the end of a used capsule")
SOURCE = journal.Call("source", "the end of an array that was exported")
AGAIN = journal.Call("request", "a further __dlpack__() of an array", (journal.AGAIN,))
FREE = journal.Call("free", "the deleter")
DEVICE = journal.Call("device", "__dlpack_device__()")


def request(x: Any, *arguments: Any, **keywords: Any) -> Any:
    """Calls x.__dlpack__ and passes its exceptions on, as an Exception. The journal names the call.

    Raises Excluded where this request ends the process.
    """
    if journal.excluding(AGAIN) is not None:
        if id(x) in _requested:
            journal.require(AGAIN)
        _requested[id(x)] = x
    with journal.entry(call_of(keywords, *arguments)), library_code():
        capsule = x.__dlpack__(*arguments, **keywords)
    if journal.excluding(DROP) is not None or journal.excluding(USED) is not None:
        _kept.append(capsule)
    if journal.excluding(SOURCE) is not None:
        _kept.append(x)
    return capsule


def require_ends() -> None:
    """Raises Excluded where request() keeps capsules or arrays, as their end is the process's."""
    for each in (DROP, USED, SOURCE, AGAIN):
        journal.require(each)


def is_excluded(keywords: Keywords) -> bool:
    """Whether request() would raise Excluded."""
    return journal.excluding(call_of(keywords)) is not None


def require_requests() -> None:
    """Raises Excluded where a request that consumers make, or what follows, ends the process."""
    for keywords in ({}, {"max_version": NEWEST}):
        journal.require(call_of(keywords))
    for each in (DEVICE, USED, SOURCE, AGAIN, journal.END):
        journal.require(each)


def free(tensor: abi.OwnedTensor) -> None:
    """Calls the deleter of an export. Raises Excluded where that ends the process."""
    with journal.entry(FREE):
        tensor.free()


def export(x: Any, **keywords: Any) -> Export:
    """Calls x.__dlpack__(**keywords), and passes its exceptions on.

    Raises Skip where the result is no readable tensor: P-03 and P-04 report that.
    """
    capsule = request(x, **keywords)
    try:
        contents = abi.read(capsule)
    except (TypeError, abi.Unreadable) as unreadable:
        raise Skip(f"its capsule cannot be read: {unreadable}") from None
    if not devices.is_known(contents.device) and _holds_other_struct(contents):
        _kept.append(capsule)  # its destructor reads fields that are elsewhere
        raise Skip(f"its capsule named {contents.name!r} holds the other struct")
    return Export(capsule, contents)


def _holds_other_struct(contents: abi.Contents) -> bool:
    other = abi.LEGACY if contents.name == abi.VERSIONED else abi.VERSIONED
    try:
        return devices.is_known(abi.read_struct(contents.address, other).device)
    except abi.Unreadable:
        return False


def obtain(x: Any, **keywords: Any) -> Export:
    """As export(), but raises Skip for every refusal: other rules judge those."""
    try:
        return export(x, **keywords)
    except Exception as error:
        raise Skip(f"{call_text(keywords)} raised {name_error(error)}") from None


def accepts_keyword(x: Any, keyword: str) -> bool:
    """Whether __dlpack__ accepts a keyword: an older producer raises TypeError.

    The keyword counts as accepted also where only its default, None, raises TypeError.
    """
    values = {"max_version": NEWEST, "copy": False, "dl_device": abi.CPU}
    requests: list[Keywords] = [{keyword: None}, {keyword: values.get(keyword)}]
    for more in ({}, {"max_version": NEWEST}):
        left = [{**each, **more} for each in requests if not is_excluded({**each, **more})]
        if left:
            break
    for keywords in left or requests:
        try:
            request(x, **keywords)
        except TypeError:
            continue
        except Exception:  # it accepts the keyword and refuses the value
            return True
        return True
    return False


def needs_keyword(x: Any, keyword: str) -> None:
    """Raises Skip where __dlpack__ lacks a keyword: P-35 reports that."""
    if not accepts_keyword(x, keyword):
        raise Skip(f"__dlpack__ has no keyword {keyword}")


def requests_of_kinds(x: Any) -> list[Keywords]:
    """Returns the keywords that request each kind of struct, as far as they are accepted."""
    kinds = [{}, {"max_version": NEWEST}] if accepts_keyword(x, "max_version") else [{}]
    return without_excluded(kinds)


def without_excluded(requests: list[Keywords]) -> list[Keywords]:
    """Leaves out the requests that end the process. Raises Excluded where none is left."""
    left = [each for each in requests if not is_excluded(each)]
    if requests and not left:
        journal.require(call_of(requests[0]))
    return left


def versioned(x: Any, **keywords: Any) -> Export:
    """As export(), with max_version. Raises Skip where the capsule is legacy."""
    needs_keyword(x, "max_version")
    result = export(x, max_version=NEWEST, **keywords)
    if result.contents.version is None:
        raise Skip(ONLY_LEGACY)
    return result


def requests_to_its_device(x: Any) -> list[Keywords]:
    """Returns the requests of each kind with dl_device equal to the device that x reports.

    None where x reports no device, or where __dlpack__ lacks the keyword.
    """
    try:
        device = device_of(x)
    except Skip:
        return []
    if not accepts_keyword(x, "dl_device"):
        return []
    return [{**kind, "dl_device": device} for kind in requests_of_kinds(x)]


def every_request(x: Any) -> list[Keywords]:
    """Returns the requests of each kind, with and without the device that x reports."""
    return requests_of_kinds(x) + requests_to_its_device(x)


def best(x: Any, **keywords: Any) -> Export:
    """As export(), with max_version where the producer accepts it."""
    return export(x, **requests_of_kinds(x)[-1], **keywords)


def every_kind(x: Any, **keywords: Any) -> list[Export]:
    """Returns an export for each request of a kind that succeeds; raises Skip where none does."""
    result, why = [], ""
    for kind in requests_of_kinds(x):
        try:
            result.append(obtain(x, **kind, **keywords))
        except Skip as reason:
            why = str(reason)
    if not result:
        raise Skip(f"the producer returns no capsule that can be read: {why}")
    return result


def integer(value: Any) -> int:
    """Returns an integer or the value of a member of an Enum. Raises TypeError for others."""
    return operator.index(value.value if isinstance(value, enum.Enum) else value)


def reported_device(x: Any) -> Any:
    """Calls x.__dlpack_device__ and passes its exceptions on, as request() does."""
    with journal.entry(DEVICE), library_code():
        return x.__dlpack_device__()


def device_of(x: Any) -> tuple[int, int]:
    """Calls __dlpack_device__. Raises Skip where the result is no pair of integers."""
    try:
        type_, index = reported_device(x)
        return integer(type_), integer(index)
    except Exception as error:
        raise Skip(f"__dlpack_device__ fails: {name_error(error)}") from None


# The memory of a tensor -------------------------------------------------------------------------


def element_bytes(contents: abi.Contents) -> int:
    _, bits, lanes = contents.dtype
    return (bits * lanes + 7) // 8


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements.

    >>> compact_strides((2, 3, 4)), compact_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    result = [1]
    for extent in shape[:0:-1]:
        result.insert(0, result[0] * max(1, extent))
    return tuple(result[: len(shape)])


def steps(contents: abi.Contents) -> tuple[int, ...]:
    """Returns the strides, those of a row-major array where the pointer is NULL."""
    if contents.strides is not None:
        return contents.strides
    return compact_strides(contents.shape or ())


def size(contents: abi.Contents) -> int:
    return math.prod(contents.shape or ())


def reach(contents: abi.Contents) -> tuple[int, int]:
    """Returns the addresses that the elements span, the end excluded; equal for an empty tensor."""
    if size(contents) == 0:
        return contents.first, contents.first
    lowest, highest = span(contents.shape or (), steps(contents))
    each = element_bytes(contents)
    return contents.first + each * lowest, contents.first + each * (highest + 1)


def read(lowest: int, end: int, device: tuple[int, int]) -> bytes | None:
    """Returns the bytes between two addresses; None where they are not readable, or too many."""
    if lowest <= 0 or end - lowest > MOST_BYTES:
        return None
    return device_memory.read(lowest, end - lowest, device)


def has_address(contents: abi.Contents) -> bool:
    """Whether `data` is an address, and not a handle of which nothing can be said."""
    return contents.device[0] in devices.ADDRESSES


def overlap(one: abi.Contents, other: abi.Contents) -> bool:
    """Whether two tensors in memory with addresses share any of it."""
    if not (has_address(one) and has_address(other)):
        return False
    mine, others = reach(one), reach(other)
    return mine[0] < others[1] and others[0] < mine[1]


def content(contents: abi.Contents) -> bytes | None:
    """Returns the elements in row-major order; None for unreadable memory or too many elements.

    Equal elements have equal bytes: True is 1, and the padding of elements below a byte is 0.
    """
    if not 0 < size(contents) <= MOST_ELEMENTS:
        return None
    if contents.shape is None or (contents.strides is None and not contents.strides_is_null):
        return None
    lowest, end = reach(contents)
    memory = read(lowest, end, contents.device)
    if memory is None:
        return None
    code, bits, lanes = contents.dtype
    if code == dtypes.BOOL and bits == 8:
        memory = memory.translate(b"\0" + 255 * b"\1")
    elif contents.flags & abi.SUBBYTE_PADDED and bits * lanes < 8:
        memory = memory.translate(bytes(range(1 << bits * lanes)) * (256 >> bits * lanes))
    each = element_bytes(contents)
    if steps(contents) == compact_strides(contents.shape or ()):
        return memory
    first = contents.first - lowest
    places = (first + each * it for it in offsets(contents.shape or (), steps(contents)))
    return b"".join(memory[place : place + each] for place in places)

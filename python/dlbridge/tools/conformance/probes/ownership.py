# SPDX-License-Identifier: BSD-3-Clause
"""The probes of ownership: a tensor keeps its memory, and leaves nothing behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

from ... import abi, devices
from .. import journal
from ..helpers.arrays import Change, arrays, view_of, views_of
from ..helpers.exports import (
    Keywords,
    accepts_keyword,
    call_text,
    content,
    device_of,
    free,
    has_dlpack,
    make,
    obtain,
    overlap,
    request,
    requests_of_kinds,
    require_ends,
    without_excluded,
)
from ..helpers.memory import growth, how_often, settle, shortest, too_slow
from ..helpers.readings import shape_of
from ..helpers.references import CERTAINLY, FEWEST_CERTAINLY, LONG, left
from ..helpers.survey import memory_bounds
from ..judgement import memory
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target
from .lifetime import fulfilled

Reference = weakref.ref[Any]  # to an array
SOME = 10  # arrays
BLOCKS = 40  # of each size, which are allocated over what may have been freed
SMALL = range(16, 528, 16)  # bytes, as of structs and extents
LARGE = {"shape": (128, 512)}  # memory that no library keeps in a cache for small arrays


# Memory and its owner --------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """A tensor that was taken out of its capsule, and its elements at that time."""

    what: str
    tensor: abi.OwnedTensor
    elements: bytes | None
    is_plain: bool  # an array of the factory's defaults

    def now(self) -> tuple[abi.Contents | None, bytes | None]:
        """Reads the struct, the extents and the elements again."""
        old = self.tensor.contents
        try:
            contents = abi.read_struct(old.address, old.name)
        except abi.Unreadable:
            return None, None
        return contents, content(contents) if contents == old else None


def _held(target: Target) -> Iterator[Held]:
    """Yields tensors of arrays that nothing else keeps."""
    for array in arrays(target):
        requests = requests_of_kinds(array.x)
        if accepts_keyword(array.x, "copy"):
            requests += [{**kind, "copy": True} for kind in requests]
        for keywords in requests:
            held = _take(f"{array.what}, {call_text(keywords)}", array.x, keywords)
            if held is None:
                continue
            contents = held.tensor.contents
            if memory.reaches_beyond(contents, memory_bounds(target, array, contents)):
                free(held.tensor)  # P-13 reports it, and what lies beyond may change
            else:
                yield held
    for count in range(4):
        arguments = LARGE if count == 3 and "shape" in target.accepts else {}
        x = make(target, **arguments)
        for keywords in fulfilled(x):
            held = _take(f"an array, {call_text(keywords)}", x, keywords, is_plain=not arguments)
            if held is not None:
                yield held


def _take(what: str, x: Any, keywords: Keywords, *, is_plain: bool = False) -> Held | None:
    try:
        tensor = abi.take(obtain(x, **keywords).capsule)
    except Skip:
        return None
    return Held(what, tensor, content(tensor.contents), is_plain)


@probe("X-07", hostile=True)
def outlives_its_source(target: Target) -> str:
    held = list(_held(target))
    gc.collect()  # nothing refers to the arrays any more, except the tensors
    _churn(target, {len(each.elements or b"") for each in held})
    for each in held:
        _is_unchanged(each)
    _is_not_used_again(target, [each for each in held if each.is_plain])
    for each in held:
        free(each.tensor)
    readable = sum(each.elements is not None for each in held)
    if not readable:
        raise Skip("the host cannot read the memory of any tensor")
    return f"{readable} tensors outlived their arrays"


def _is_unchanged(each: Held) -> None:
    now, elements = each.now()
    found = memory.outlives(each.tensor.contents, now, each.elements, elements)
    if found:
        raise Broken(f"{each.what}: {found}")


def _churn(target: Target, sizes: set[int]) -> None:
    """Allocates memory of the sizes that may just have been freed, and writes to it."""
    blocks = [b"\xa5" * nbytes for nbytes in SMALL for _ in range(BLOCKS)]
    blocks += [bytes(bytearray(b"\xa5") * nbytes) for nbytes in sorted(sizes) for _ in range(4)]
    others = [array.x for array in arrays(target)]
    del blocks, others


def _is_not_used_again(target: Target, held: list[Held]) -> None:
    """New arrays must not lie in the memory of a tensor; those of some factories always do."""
    new = [obtain(x, **requests_of_kinds(x)[-1]) for x in (make(target) for _ in range(4))]
    tensors = [each.contents for each in new if each.contents.device[0] in devices.ADDRESSES]
    if any(overlap(one, other) for i, one in enumerate(tensors) for other in tensors[:i]):
        return
    for each in held:
        if any(overlap(each.tensor.contents, tensor) for tensor in tensors):
            raise Broken(f"{each.what}: after the array was freed its memory went to another array")


# What remains ------------------------------------------------------------------------------------


def requests_of_all_kinds(x: Any) -> list[Keywords]:
    """Returns requests of every kind, including some that are refused."""
    result = []
    for kind in requests_of_kinds(x):
        result.append(kind)
        if accepts_keyword(x, "copy"):
            result += [{**kind, "copy": copy} for copy in (True, False)]
        if accepts_keyword(x, "dl_device"):
            result += [{**kind, "dl_device": device} for device in (abi.CPU, (devices.VULKAN, 0))]
        result += [{**kind, "stream": stream} for stream in _refused_streams(x)]
    return without_excluded(result)


def _refused_streams(x: Any) -> tuple[int, ...]:
    """Returns streams that a producer refuses.

    Only those of the CPU, which has no streams. Elsewhere a producer may take any number for the
    handle of a stream, and use it: only P-29 passes such numbers.
    """
    try:
        return (-2, 1) if device_of(x)[0] == devices.CPU else ()
    except Skip:
        return ()


def _export_and_free(x: Any, keywords: Keywords) -> None:
    try:
        capsule = request(x, **keywords)
    except Exception:  # a refusal must not leave anything either
        return
    free(abi.take(capsule))


@probe("X-08", hostile=True)
def references_are_dropped(target: Target) -> str:
    require_ends()
    examined = 0
    for array in arrays(target):
        for keywords in fulfilled_or_none(array.x):
            examined += 1
            _leaves_no_reference(array.what, array.x, keywords)
    x = make(target)
    for keywords in requests_of_all_kinds(x):
        _leaves_no_reference("an array", x, keywords)
    return f"{examined} arrays and requests"


def fulfilled_or_none(x: Any) -> list[Keywords]:
    try:
        return fulfilled(x)
    except Skip:
        return []


def _leaves_no_reference(what: str, x: Any, keywords: Keywords) -> None:
    remains = left(x, lambda: _export_and_free(x, keywords))
    if remains is not None:
        raise Broken(f"{what}, {call_text(keywords)}: exports, each freed, leave {remains}")


@probe("X-08", hostile=True)
def exports_leave_no_memory(target: Target) -> str:
    require_ends()
    x = make(target)
    fulfilled(x)
    notes = []
    for keywords in requests_of_all_kinds(x):
        _leaves_no_memory(lambda keywords=keywords: _export_and_free(x, keywords), keywords)  # type: ignore[misc]
        notes.append(call_text(keywords))
    for shape in ((), (2, 0, 4)) if "shape" in target.accepts else ():
        try:
            other = make(target, shape=shape)
        except Skip:
            continue
        for keywords in requests_of_kinds(other):
            _leaves_no_memory(
                lambda other=other, keywords=keywords: _export_and_free(other, keywords),  # type: ignore[misc]
                keywords,
            )
    return f"no memory remains after {', '.join(notes)}"


def _leaves_no_memory(act: Callable[[], object], keywords: Keywords) -> None:
    times = how_often(act)
    remains = growth(act, times)
    if remains is not None:
        raise Broken(f"{times} calls of {call_text(keywords)}, each freed, leave {remains}")


@probe("X-08", hostile=True)
def new_arrays_leave_nothing(target: Target) -> None:
    """What an export leaves may belong to the array, so that one array alone does not show it."""
    require_ends()
    for keywords in fulfilled(make(target)):
        _arrays_die(target, keywords)
    for what, create in _factories(target):
        journal.subject = what
        for keywords in fulfilled_or_none(create()):

            def act(create: Callable[[], Any] = create, keywords: Keywords = keywords) -> None:
                _export_and_free(create(), keywords)

            times = how_often(act)
            remains = growth(act, times)
            if remains is not None and growth(create, times) is None:
                raise Broken(f"{times} new {what}, exported by {call_text(keywords)} and freed, "
                             f"leave {remains}")  # fmt: skip


def _factories(target: Target) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields what creates arrays and views of kinds that producers may treat differently."""
    yield "arrays", lambda: make(target)
    kinds: list[tuple[str, dict[str, Any]]] = []
    if "shape" in target.accepts:
        kinds += [("arrays of size 0", {"shape": (0,)}), ("arrays of rank 0", {"shape": ()})]
    if "readonly" in target.accepts:
        kinds.append(("read-only arrays", {"readonly": True}))
    for what, arguments in kinds:
        if _creates(lambda arguments=arguments: target.make(**arguments)):  # type: ignore[misc]
            yield what, lambda arguments=arguments: target.make(**arguments)  # type: ignore[misc]
    for name, (change, _) in views_of(target, len(shape_of(make(target)) or ())).items():

        def create(name: str = name, change: Change = change) -> Any:
            return view_of(make(target), name, change)

        if _creates(create):
            yield f"views {name}", create
            return


def _creates(create: Callable[[], Any]) -> bool:
    try:
        return has_dlpack(create())
    except (Skip, Exception):
        return False


def _arrays_die(target: Target, keywords: Keywords) -> None:
    """Checks that arrays are freed with their exports, if they are freed without exports."""
    try:
        alone = [weakref.ref(make(target)) for _ in range(SOME)]
    except TypeError:  # the reference counts show it
        return
    exported: list[Reference] = []

    def act() -> None:
        exported.extend(_exported_and_dropped(target, keywords, SOME))

    seconds = shortest(act, SOME * LONG / FEWEST_CERTAINLY) / SOME
    gc.collect()
    if any(each() is not None for each in alone) or not _are_alive(exported):
        return
    # So many that a number of arrays which wait to be freed does not count.
    more = int(min(CERTAINLY, LONG / max(seconds, 1e-7)))
    if more < FEWEST_CERTAINLY:
        raise too_slow(seconds)
    exported += _exported_and_dropped(target, keywords, more)
    gc.collect()
    if _are_alive(exported):
        raise Broken(f"of {len(exported)} arrays, exported by {call_text(keywords)} and freed, "
                     f"{_count_alive(exported)} are still alive")  # fmt: skip


def _exported_and_dropped(target: Target, keywords: Keywords, count: int) -> list[Reference]:
    """Returns references to new arrays, each of which was exported, freed and dropped."""
    exported = []
    for _ in range(count):
        x = make(target)
        exported.append(weakref.ref(x))
        _export_and_free(x, keywords)
        del x
    return exported


def _count_alive(arrays: list[Reference]) -> int:
    return sum(each() is not None for each in arrays)


def _are_alive(arrays: list[Reference]) -> bool:
    """Whether most arrays stay alive, also after a while."""
    settle(lambda: _count_alive(arrays) <= len(arrays) / 2)
    return _count_alive(arrays) > len(arrays) / 2

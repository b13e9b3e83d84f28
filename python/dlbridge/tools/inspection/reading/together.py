# SPDX-License-Identifier: BSD-3-Clause
"""Compares exports that are alive at the same time: capsules, copies, keywords, references.

Addresses of exports that are freed in between say nothing, as the allocator reuses them. A capsule
whose managed tensor another one has too is never destroyed, so no deleter is called twice.
"""

from __future__ import annotations

import contextlib
import ctypes as C
import enum
import gc
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ... import abi
from .description import Description, of_contents
from .elements import first_difference
from .exports import is_safe_to_drop, leak
from .memory import with_memory
from .protocols import Raised, guarded
from .signs import Sign

MODERN = {"max_version": (1, 0)}
PLAIN: dict[str, dict[str, Any]] = {"bare": {}, "1.0": MODERN}
ABSURD = 4242  # a minor version that no header has
TIMES = 8  # exports between two counts of references
CERTAINLY = 400  # exports when these leave references: more than tensors wait to be freed
# Seconds without a dropped reference, after which none is expected; for dropped ones, and exports.
PATIENCE, LONGEST = 0.1, 2.0
MOST_COPIED = 16 << 20  # bytes that are copied by default
COUNTED = sys.implementation.name == "cpython"  # references
LENT = 512  # more than the exports of one inspection
FEWEST = 8  # fewer references that are missing were dropped by someone else


@contextlib.contextmanager
def lent(x: Any) -> Iterator[None]:
    """Adds references to an object, so that exports which drop one too many do not free it.

    They are taken back at the end, except for those that are missing by then.
    """
    if not COUNTED:
        yield
        return
    before = sys.getrefcount(x)
    for _ in range(LENT):
        C.pythonapi.Py_IncRef(C.py_object(x))
    try:
        yield
    finally:
        if sys.getrefcount(x) < before + LENT:
            gc.collect()  # garbage may refer to the object, and would hide how many are missing
        missing = max(0, before + LENT - sys.getrefcount(x))
        for _ in range(LENT if missing < FEWEST else max(0, LENT - missing)):
            C.pythonapi.Py_DecRef(C.py_object(x))


@dataclass
class Export:
    """A capsule that is alive, and its tensor."""

    capsule: Any
    address: int  # of the managed tensor
    tensor: Description | None  # None: not readable


class Held:
    """Requests exports, and keeps all of them alive until the end of a with statement."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.exports: list[Export] = []
        self.shared = False  # whether two capsules have the same managed tensor

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        seen: set[int] = set()
        capsules = {id(each.capsule): each for each in self.exports}
        for each in capsules.values():
            if (
                (each.address and each.address in seen)
                or self.shared
                or not is_safe_to_drop(each.capsule)
            ):
                leak(each.capsule)
            seen.add(each.address)
        self.exports.clear()

    def request(self, **keywords: Any) -> Export:
        """Raises Raised for the exceptions of the object, and for what is no capsule."""
        capsule = guarded(lambda: self.x.__dlpack__(**keywords))
        if not abi.is_capsule(capsule):
            raise Raised(TypeError(f"expected a capsule; got {type(capsule).__name__}"))
        address = _address_of(capsule)
        self.shared = self.shared or any(
            each.address == address != 0 and each.capsule is not capsule for each in self.exports
        )
        export = Export(capsule, address, _described(capsule))
        self.exports.append(export)
        return export

    @property
    def bytes(self) -> int:
        return max((size_of(each.tensor) for each in self.exports), default=0)

    @property
    def is_unreadable(self) -> bool:
        return has_unreadable(each.tensor for each in self.exports)

    def try_request(self, **keywords: Any) -> Export | None:
        try:
            return self.request(**keywords)
        except Raised:
            return None


def has_unreadable(descriptions: Iterable[Description | None]) -> bool:
    """Whether one states memory that is not readable, so that a copy would end the process."""
    return any(
        each is not None
        and (each.readable is False or (each.is_host and not each.first and size_of(each) > 0))
        for each in descriptions
    )


def size_of(x: Description | None) -> int:
    """Returns the bytes of the elements; 0 where the shape is not valid."""
    return 0 if x is None or x.layout is None else x.layout.size * x.element_bytes


def _address_of(capsule: Any) -> int:
    """Returns the address of the managed tensor; 0 where the name of the capsule is no text."""
    try:
        return abi.pointer_of(capsule)
    except ValueError:
        return 0


def _described(capsule: Any) -> Description | None:
    try:
        return with_memory(of_contents(abi.read(capsule)))
    except abi.Unreadable:
        return None


def examine(x: Any, device: tuple[int, int] | None, copy: bool | None) -> tuple[list[Sign], bool]:
    """Returns the signs, and whether no capsule of the object may be destroyed.

    See dlbridge.inspect for `copy`.
    """
    signs: list[Sign] = []
    with Held(x) as held:
        for name, keywords in PLAIN.items():
            signs += _twice(held, name, keywords)
        signs += _version(held)
        signs += _none(held)
        signs += _enum_device(held, device)
        signs += _never_copied(held)
        may_copy = held.bytes <= MOST_COPIED and not held.is_unreadable
        if copy or (copy is None and may_copy):
            signs += _copies(held, device)
        shared = held.shared
    if not shared:
        for name, keywords in PLAIN.items():
            signs += _references(x, name, keywords)
    return signs, shared


# Two exports in a row ---------------------------------------------------------------------------


def _twice(held: Held, name: str, keywords: dict[str, Any]) -> Iterator[Sign]:
    first, second = held.try_request(**keywords), held.try_request(**keywords)
    if (first is None) != (second is None):
        yield Sign("refuses by turns", (name,))
    if first is None or second is None:
        return
    if first.capsule is second.capsule:
        yield Sign("same capsule", (name,))
        return
    if first.address == second.address:
        if first.tensor is not None and first.tensor.deleter_is_null:
            return  # no consumer frees it
        yield Sign("same managed tensor", (name,), {"address": f"{first.address:#x}"})
        return
    if not abi.destructor_of(first.capsule) and first.tensor and not first.tensor.deleter_is_null:
        yield Sign("no destructor", (name,))
    yield from _other_struct(first, name)
    one, other = first.tensor, second.tensor
    if one is None or other is None:
        return
    for facet in ("shape", "strides", "dtype", "device", "byte_offset", "flags", "version"):
        values = getattr(one, facet), getattr(other, facet)
        if values[0] != values[1]:
            words = {"facet": facet, "first": str(values[0]), "second": str(values[1])}
            yield Sign("changes from call to call", (name,), words)
    difference = first_difference(one.elements, other.elements)
    if difference is not None and one.shape == other.shape and one.dtype == other.dtype:
        numbers = [str(each.elements[difference[0]]) for each in (one, other)]
        words = {"facet": "values", "first": numbers[0], "second": numbers[1]}
        yield Sign("changes from call to call", (name,), words)
    marked = (one.flags or 0) & (other.flags or 0) & abi.IS_COPIED
    if marked and overlap(one, other):
        yield Sign("marked as a copy", (name,))


def overlap(one: Description | None, other: Description | None) -> bool | None:
    """Whether two tensors share memory; None where that is not known."""
    if one is None or other is None or one.memory is None or other.memory is None:
        return None
    if one.device != other.device:
        return None
    return one.memory[0] < other.memory[1] and other.memory[0] < one.memory[1]


def _other_struct(export: Export, name: str) -> Iterator[Sign]:
    """A capsule whose name tells the one struct, and whose memory holds the other."""
    told = abi.name_of(export.capsule)
    if told not in abi.STRUCTS or _is_plausible(export.address, told):
        return
    other = abi.LEGACY if told == abi.VERSIONED else abi.VERSIONED
    if _is_plausible(export.address, other):
        yield Sign("name of the other struct", (name,), {"told": told, "actual": other})


def _is_plausible(address: int, name: str) -> bool:
    try:
        x = of_contents(abi.read_struct(address, name))
    except abi.Unreadable:
        return False
    is_dtype = x.dtype is not None and x.dtype[0] < 32 and x.dtype[1] > 0 and x.dtype[2] > 0
    is_device = x.device is not None and 0 < x.device[0] < 64 and -1 <= x.device[1] < 1024
    return is_dtype and is_device and 0 <= x.ndim <= abi.MAX_NDIM and x.is_sound


# Keywords ---------------------------------------------------------------------------------------


def _version(held: Held) -> Iterator[Sign]:
    export = held.try_request(max_version=(1, ABSURD))
    version = None if export is None or export.tensor is None else export.tensor.version
    if version is not None and version[1] == ABSURD:
        words = {"version": f"{version[0]}.{version[1]}"}
        yield Sign("copies the requested version", ("1.0",), words)


KEYWORDS = ("stream", "max_version", "dl_device", "copy")


def _none(held: Held) -> Iterator[Sign]:
    """None is the default of every keyword, so passing it must change nothing."""
    bare = held.try_request()
    if bare is None:
        return
    for keyword in KEYWORDS:
        try:
            export = held.request(**{keyword: None})
        except Raised as error:
            if error.type != "TypeError":  # which says that the keyword is not known
                yield Sign("None differs", ("bare",), {"keyword": keyword, "got": str(error)})
            continue
        names = abi.name_of(bare.capsule), abi.name_of(export.capsule)
        if names[0] != names[1]:
            words = {"keyword": keyword, "got": f"a capsule named {names[1]!r}, not {names[0]!r}"}
            yield Sign("None differs", ("bare",), words)


def _enum_device(held: Held, device: tuple[int, int] | None) -> Iterator[Sign]:
    """The standard declares dl_device as tuple[Enum, int]; members of IntEnum are integers too."""
    if device is None or held.try_request(**MODERN, dl_device=device) is None:
        return
    kind: Any = enum.IntEnum("kind", {"SAME": device[0]})
    try:
        held.request(**MODERN, dl_device=(kind.SAME, device[1]))
    except Raised as error:
        words = {"device": str(device), "got": str(error)}
        yield Sign("refuses enum devices", ("1.0",), words)


# Copies -----------------------------------------------------------------------------------------


def _never_copied(held: Held) -> Iterator[Sign]:
    one = held.try_request(**MODERN, copy=False)
    other = held.try_request(**MODERN, copy=False)
    if one is None or other is None or one.tensor is None:
        return
    if overlap(one.tensor, other.tensor) is False:
        yield Sign("copy=False copies", ("1.0",))
    elif one.tensor.flags is not None and one.tensor.flags & abi.IS_COPIED:
        yield Sign("copy=False is marked as a copy", ("1.0",))


def _copies(held: Held, device: tuple[int, int] | None) -> Iterator[Sign]:
    base = held.try_request(**MODERN) or held.try_request()
    one = held.try_request(**MODERN, copy=True)
    other = held.try_request(**MODERN, copy=True)
    legacy = held.try_request(copy=True)
    if base is None:
        return
    for name, copied in (("1.0 copy", one), ("copy", legacy)):
        if copied is not None and overlap(base.tensor, copied.tensor):
            yield Sign("copy=True shares memory", (name,))
    if one is None or one.tensor is None or overlap(base.tensor, one.tensor):
        return
    if other is not None and overlap(one.tensor, other.tensor):
        yield Sign("copies share memory", ("1.0 copy",))
    if one.tensor.flags is not None and one.tensor.memory is not None:
        if not one.tensor.flags & abi.IS_COPIED:
            yield Sign("copy is not marked", ("1.0 copy",))
        if one.tensor.flags & abi.READ_ONLY:
            yield Sign("copy is read-only", ("1.0 copy",))
    if device is not None:
        there = held.try_request(**MODERN, copy=True, dl_device=device)
        if there is not None and overlap(base.tensor, there.tensor):
            yield Sign("dl_device switches copies off", ("1.0 copy",), {"device": str(device)})


# References -------------------------------------------------------------------------------------


def _references(x: Any, name: str, keywords: dict[str, Any]) -> Iterator[Sign]:
    """Whether each export leaves a reference to the object behind; on CPython only."""
    if not COUNTED or not _export_and_drop(x, keywords):  # which fills caches
        return
    steps = _steps(x, keywords)
    if max(sum(step > 0 for step in steps), sum(step < 0 for step in steps)) < TIMES // 2:
        return
    # Garbage may refer to the object. Collecting it is slow in a large process.
    gc.collect()
    _wait_while_dropped(x)
    before = sys.getrefcount(x)
    _steps(x, keywords)
    gc.collect()
    _wait_while_dropped(x)
    grown = sys.getrefcount(x) - before
    words = {"times": str(TIMES), "grown": str(abs(grown))}
    if grown >= TIMES and _stay(x, keywords):
        yield Sign("leaks a reference", (name,), words)
    elif grown <= -TIMES:
        yield Sign("drops a reference", (name,), words)


def _wait_while_dropped(x: Any) -> None:
    """Waits while the number of references falls: a library may free tensors on its own thread."""
    until = time.monotonic() + LONGEST
    count, since = sys.getrefcount(x), time.monotonic()
    while time.monotonic() < min(until, since + PATIENCE):
        time.sleep(0.005)
        if sys.getrefcount(x) < count:
            count, since = sys.getrefcount(x), time.monotonic()


def _stay(x: Any, keywords: dict[str, Any]) -> bool:
    """Whether references stay after so many exports that those do not count which wait to be freed.

    False for exports that are too slow for it.
    """
    before, begin, count = sys.getrefcount(x), time.monotonic(), 0
    while count < CERTAINLY and _export_and_drop(x, keywords):
        count += 1
        if time.monotonic() - begin > LONGEST:
            break
    gc.collect()
    _wait_while_dropped(x)
    return count >= CERTAINLY // 2 and sys.getrefcount(x) - before >= count * 3 / 4


def _steps(x: Any, keywords: dict[str, Any]) -> list[int]:
    """Returns how many references more the object has after each of some exports."""
    counts = [sys.getrefcount(x)]
    for _ in range(TIMES):
        if not _export_and_drop(x, keywords):
            break
        counts.append(sys.getrefcount(x))
    return [after - before for before, after in zip(counts, counts[1:])]


def _export_and_drop(x: Any, keywords: dict[str, Any]) -> bool:
    with Held(x) as held:
        return held.try_request(**keywords) is not None

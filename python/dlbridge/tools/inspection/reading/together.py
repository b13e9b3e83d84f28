# SPDX-License-Identifier: BSD-3-Clause
"""Compares exports that are alive at the same time: capsules, copies, keywords, references.

Addresses of exports that are freed in between say nothing, as the allocator reuses them. A capsule
whose managed tensor another one has too is never destroyed, so no deleter is called twice.
"""

from __future__ import annotations

import contextlib
import ctypes as C
import gc
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ... import abi
from ...conformance.helpers.exports import has_address, overlap, size
from ...conformance.helpers.readings import bounds_of
from ...conformance.helpers.references import left
from ...conformance.judgement import calls, copies
from ...conformance.outcomes import Skip
from ...elements import same
from .description import Description
from .exports import described, drop, is_safe_to_drop, leak
from .judging import Together
from .protocols import Raised, guarded, quietly
from .signs import Sign, signs_of

MODERN = {"max_version": (1, 0)}
PLAIN: dict[str, dict[str, Any]] = {"bare": {}, "1.0": MODERN}
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

    @property
    def contents(self) -> abi.Contents | None:
        """The fields of a tensor whose memory can be compared with that of another one."""
        contents = None if self.tensor is None else self.tensor.contents
        is_known = self.tensor is not None and self.tensor.memory is not None
        return contents if contents and is_known and has_address(contents) else None


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
        export = Export(capsule, address, described(capsule))
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


def examine(x: Any, device: tuple[int, int] | None, copy: bool | None) -> Together:
    """Returns the signs, and what else shows of exports that are alive together.

    See dlbridge.inspect for `copy`.
    """
    found = Together()
    with Held(x) as held:
        for name, keywords in PLAIN.items():
            found.signs += _twice(held, name, keywords, found.silent_copies)
        found.signs += _version(held)
        found.signs += _none(held)
        found.signs += _enum_device(held, device)
        found.signs += _never_copied(held)
        may_copy = held.bytes <= MOST_COPIED and not held.is_unreadable
        if copy or (copy is None and may_copy):
            found.signs += _copies(held, device, found.sharing_copies)
        found.shared = held.shared
    if not found.shared:
        for name, keywords in PLAIN.items():
            found.signs += _references(x, name, keywords)
    return found


# Two exports in a row ---------------------------------------------------------------------------


def _twice(
    held: Held, name: str, keywords: dict[str, Any], silent_copies: set[str]
) -> Iterator[Sign]:
    first, second = held.try_request(**keywords), held.try_request(**keywords)
    if (first is None) != (second is None):
        yield Sign("refuses by turns", (name,))
    if first is None or second is None:
        return
    told = abi.name_of(first.capsule)
    if told in abi.STRUCTS:
        yield from signs_of("P-04", calls.other_struct(first.address, told), name)
    if first.capsule is second.capsule:
        yield from signs_of("P-32", calls.SAME_CAPSULE, name)
        return
    one, other = first.tensor, second.tensor
    if one is None or other is None or one.contents is None or other.contents is None:
        return
    if first.address == second.address:
        if one.contents.deleter:  # whether it counts the capsules shows only when they are freed
            yield Sign("shared tensor", (name,))
        return
    if not abi.destructor_of(first.capsule) and one.contents.deleter:
        yield from signs_of("X-01", calls.NO_DESTRUCTOR, name)
    yield from _changes(name, one, other)
    if first.contents is None or second.contents is None or not size(first.contents):
        return
    if copies.are_copies(first.contents, second.contents):
        silent_copies.add(name)
    yield from signs_of("P-40", copies.marked_and_shared(first.contents, second.contents), name)


def _changes(name: str, one: Description, other: Description) -> Iterator[Sign]:
    assert one.contents is not None and other.contents is not None
    found = calls.alike(one.contents, other.contents, "byte_offset")
    if found is None and one.raw != other.raw:
        pairs = zip(one.numbers, other.numbers)
        found = next((("values", *pair) for pair in pairs if not same(*pair)), None)
    if found is not None:
        words = dict(zip(("facet", "first", "second"), map(str, found)))
        yield Sign("changes from call to call", (name,), words)


# Keywords ---------------------------------------------------------------------------------------


def _version(held: Held) -> Iterator[Sign]:
    asked = calls.NEWER[1]
    export = held.try_request(max_version=asked)
    version = None if export is None or export.tensor is None else export.tensor.version
    if version == asked:
        yield from signs_of("P-06", calls.version(version, asked), "1.0")


def _none(held: Held) -> Iterator[Sign]:
    """None is the default of every keyword, so passing it must change nothing."""
    bare = held.try_request()
    if bare is None:
        return
    for keyword in calls.DEFAULTS:
        text = ""
        try:
            export = held.request(**{keyword: None})
        except Raised as error:
            if error.type != "TypeError":  # which says that the keyword is not known
                text = f"{keyword}=None is the default and must change nothing; it raised {error}"
        else:
            names = abi.name_of(bare.capsule), abi.name_of(export.capsule)
            if names[0] != names[1]:
                text = (
                    f"{keyword}=None is the default and must change nothing; it returned a capsule "
                    f"named {names[1]!r}, and without it {names[0]!r}"
                )
        yield from signs_of("P-48", text, "bare")


def _enum_device(held: Held, device: tuple[int, int] | None) -> Iterator[Sign]:
    """The standard declares dl_device as tuple[Enum, int]; members of IntEnum are integers too."""
    if device is None or device[0] not in list(calls.DeviceType):
        return
    if held.try_request(**MODERN, dl_device=device) is None:
        return
    pair = (calls.DeviceType(device[0]), device[1])
    try:
        held.request(**MODERN, dl_device=pair)
    except Raised as error:
        text = f"dl_device={device} is accepted, and with {pair[0]!r} as its type raised {error}"
        yield from signs_of("P-45", text, "1.0")


# Copies -----------------------------------------------------------------------------------------


def _never_copied(held: Held) -> Iterator[Sign]:
    one = held.try_request(**MODERN, copy=False)
    other = held.try_request(**MODERN, copy=False)
    if one is None or other is None or one.contents is None or other.contents is None:
        return
    bounds = quietly(lambda: bounds_of(held.x))
    text = copies.uncopied(one.contents, other.contents, bounds)
    yield from signs_of("P-23", f"copy=False: {text}" if text else None, "1.0")


def _copies(held: Held, device: tuple[int, int] | None, sharing_copies: set[str]) -> Iterator[Sign]:
    base = held.try_request(**MODERN) or held.try_request()
    one = held.try_request(**MODERN, copy=True)
    other = held.try_request(**MODERN, copy=True)
    legacy = held.try_request(copy=True)
    own = None if base is None else base.contents
    if own is None:
        return
    for name, copied in (("1.0 copy", one), ("copy", legacy)):
        if copied is not None and copied.contents and overlap(own, copied.contents):
            sharing_copies.add(name)
    if one is None or one.contents is None or "1.0 copy" in sharing_copies:
        return
    if other is not None and other.contents is not None:
        yield from signs_of("P-44", copies.share(one.contents, other.contents), "1.0 copy")
    if device is not None:
        there = held.try_request(**MODERN, copy=True, dl_device=device)
        if there is not None and there.contents and overlap(own, there.contents):
            text = copies.is_own_memory(there.contents)
            yield from signs_of("P-24", f"dl_device={device}: {text}", "1.0 copy")


# References -------------------------------------------------------------------------------------


def _references(x: Any, name: str, keywords: dict[str, Any]) -> Iterator[Sign]:
    """Whether each export leaves a reference to the object behind; on CPython only."""
    if not COUNTED or not _export_and_drop(x, keywords):
        return
    try:
        remains = left(x, lambda: _export_and_drop(x, keywords))
    except Skip:  # it is too slow
        return
    yield from signs_of(
        "X-08", f"exports, each dropped, leave {remains}" if remains else None, name
    )


def _export_and_drop(x: Any, keywords: dict[str, Any]) -> bool:
    try:
        capsule = guarded(lambda: x.__dlpack__(**keywords))
    except Raised:
        return False
    drop(capsule)
    return abi.is_capsule(capsule)

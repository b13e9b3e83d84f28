"""The probes of what a caller may ask for: copies, devices, streams, permissions, P-22 to P-32."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.exports import (
    NEWEST,
    ON_HOST,
    Export,
    best,
    content,
    device_of,
    every_kind,
    export,
    knows,
    make,
    reach,
    size,
    versioned,
)
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

CUDA, ROCM = 2, 10
# Things that DLPack has no dtype for, in the words of the libraries that have them.
INDESCRIBABLE = ("object", "datetime64[s]", "str", "string", ">f4", "longdouble", "qint8", "int4")


def _needs(x: Any, keyword: str) -> None:
    if not knows(x, keyword):
        raise Skip(f"__dlpack__ has no keyword {keyword}")


def _kinds(x: Any) -> list[tuple[str, dict[str, Any]]]:
    """The ways to ask for either kind of capsule, those that the producer knows."""
    asked: list[tuple[str, dict[str, Any]]] = [("", {})]
    if knows(x, "max_version"):
        asked.append((f"max_version={NEWEST}, ", {"max_version": NEWEST}))
    return asked


# Read-only memory ------------------------------------------------------------------------------


@probe("P-22")
def read_only_marked(target: Target) -> str | None:
    x = make(target, readonly=True)
    _needs(x, "max_version")
    try:
        it = export(x, max_version=NEWEST).contents
    except BufferError as refused:
        return f"refused: {refused}"
    if it.version is None:
        raise Broken("max_version is answered with a legacy capsule, which has no mark for it",
                     severity="W")  # fmt: skip
    if not it.flags & abi.READ_ONLY:
        raise Broken(f"the flags of the versioned capsule of a read-only array are {it.flags}")
    return None


@probe("P-22")
def read_only_legacy(target: Target) -> None:
    x = make(target, readonly=True)
    try:
        found = export(x)
    except BufferError:
        return
    except Exception as raised:
        raise Broken(f"the legacy export of a read-only array raised {name_error(raised)}",
                     severity="W") from None  # fmt: skip
    if found.contents.version is None:
        raise Broken("a read-only array is exported in a legacy capsule, which has no mark for it",
                     severity="W")  # fmt: skip


@probe("P-22")
def legacy_of_what_is_marked(target: Target) -> str | None:
    """Where the factory makes nothing read-only, its usual arrays may be."""
    x = make(target, shape=(6,)) if "shape" in target.accepts else make(target)
    kinds = {each.contents.name: each.contents for each in every_kind(x)}
    if len(kinds) < 2:
        return "it exports capsules of one kind only"
    if kinds[abi.VERSIONED].flags & abi.READ_ONLY:
        raise Broken(
            "the versioned capsule is marked READ_ONLY; the legacy one of the same array has no "
            "mark, and is not refused",
            severity="W",
        )
    return None


@probe("P-22")
def rank_0_is_marked_as_others_are(target: Target) -> None:
    arrays = [make(target, shape=shape) for shape in ((6,), ())]
    marks = [best(each).contents.flags & abi.READ_ONLY for each in arrays]
    if marks[0] != marks[1] and type(arrays[0]) is type(arrays[1]):
        named = ["an array of six numbers", "one without dimensions"]
        raise Broken(
            f"{named[marks.index(abi.READ_ONLY)]} is marked READ_ONLY, and "
            f"{named[marks.index(0)]} is not",
            severity="W",
        )


@probe("P-22")
def writable_is_not_marked(target: Target) -> None:
    make(target, readonly=True)  # one that makes both kinds knows the difference
    it = best(make(target, readonly=False)).contents
    if it.flags & abi.READ_ONLY:
        raise Broken("an array that may be written is marked READ_ONLY", severity="W")


# Copies ----------------------------------------------------------------------------------------


@probe("P-23")
def no_copy_is_none(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    usual = best(x)
    kept = []
    for _ in range(2):
        try:
            kept.append(best(x, copy=False))
        except BufferError as refused:
            raise Broken(f"copy=False is refused: {refused}", severity="W") from None
        except Exception as raised:
            raise Broken(f"copy=False raised {name_error(raised)}") from None
    for found in kept:
        it = found.contents
        if it.first != usual.contents.first:
            raise Broken(
                f"copy=False gave memory at {it.first:#x}, the usual export at "
                f"{usual.contents.first:#x}"
            )
        if it.flags & abi.IS_COPIED:
            raise Broken("what copy=False gave is marked IS_COPIED")


@probe("P-24")
def a_copy_is_one(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    for words, keywords in _kinds(x):
        call = f"__dlpack__({words}copy=True)"
        try:
            usual = export(x, **keywords)
            copied = export(x, **keywords, copy=True)
        except BufferError:
            continue
        except Exception as raised:
            raise Broken(f"{call} raised {name_error(raised)}") from None
        here, there = reach(usual.contents), reach(copied.contents)
        if here[0] < there[1] and there[0] < here[1]:
            raise Broken(f"{call} gave the array's own memory, at {copied.contents.first:#x}")
        if content(usual.contents) != content(copied.contents):
            raise Broken(f"{call} gave a copy that holds other bytes than the array")


@probe("P-24")
def a_copy_is_marked(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    try:
        found = versioned(x, copy=True)
    except BufferError:
        return
    except Skip:
        return  # a legacy capsule has no mark
    except Exception as raised:
        raise Broken(f"copy=True raised {name_error(raised)}") from None
    if not found.contents.flags & abi.IS_COPIED:
        raise Broken(f"the flags of a copy are {found.contents.flags}", severity="W")


@probe("P-25")
def copy_of_another_type(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    others: tuple[Any, ...] = ("never", [], 2.5)
    for value in others:
        for words, keywords in _kinds(x):
            try:
                x.__dlpack__(**keywords, copy=value)
            except Exception:
                continue
            raise Broken(
                f"__dlpack__({words}copy={value!r}) was accepted",
                severity=None if isinstance(value, str) else "W",  # the rest NumPy takes as a bool
            )


# Devices ---------------------------------------------------------------------------------------


@probe("P-26")
def own_device(target: Target) -> None:
    x = make(target)
    _needs(x, "dl_device")
    own = device_of(x)
    try:
        found = best(x, dl_device=own)
    except Exception as raised:
        raise Broken(f"dl_device={own}, its own, raised {name_error(raised)}") from None
    if found.contents.device != best(x).contents.device:
        raise Broken(f"dl_device={own} gave a capsule on {found.contents.device}")


@probe("P-26")
def unreachable_device(target: Target) -> None:
    x = make(target)
    _needs(x, "dl_device")
    for words, keywords in _kinds(x):
        for device in ((7, 0), (99, 0)):
            call = f"__dlpack__({words}dl_device={device})"
            try:
                found = export(x, **keywords, dl_device=device)
            except BufferError:
                continue
            except Exception as raised:
                raise Broken(f"{call} raised {name_error(raised)}") from None
            if found.contents.device != device:
                raise Broken(f"{call} gave a capsule on {found.contents.device}")


@probe("P-26")
def malformed_device(target: Target) -> None:
    x = make(target)
    _needs(x, "dl_device")
    for value in (1, "cpu", (1,), ("cpu", 0)):
        for words, keywords in _kinds(x):
            call = f"__dlpack__({words}dl_device={value!r})"
            try:
                x.__dlpack__(**keywords, dl_device=value)
            except (TypeError, ValueError, BufferError):
                continue
            except Exception as raised:
                raise Broken(f"{call} raised {name_error(raised)}", severity="W") from None
            raise Broken(f"{call} was accepted")


def _elsewhere(target: Target, *names: str) -> Iterator[Any]:
    """Objects of the factory whose memory is not the CPU's; raises Skip where there are none."""
    usual = make(target)
    found = 0
    if device_of(usual)[0] != 1:
        found += 1
        yield usual
    why = "the factory takes no `device`"
    for name in names if "device" in target.accepts else ():
        try:
            x = make(target, device=name)
        except Skip as refused:
            why = str(refused)
            continue
        if device_of(x)[0] != 1:
            found += 1
            yield x
    if found == 0:
        raise Skip(f"there is no array in the memory of another device: {why}")


@probe("P-27")
def to_the_cpu(target: Target) -> None:
    for x in _elsewhere(target, "cuda"):
        _needs(x, "dl_device")
        own = device_of(x)
        try:
            found = best(x, dl_device=(1, 0), stream=None)
        except Exception as raised:
            raise Broken(f"dl_device=(1, 0) on device {own} raised {name_error(raised)}") from None
        it = found.contents
        if it.device[0] != 1:
            raise Broken(
                f"dl_device=(1, 0) on device {own} gave a capsule on {it.device}",
                severity="W" if it.device[0] in ON_HOST else None,
            )
        if size(it) and content(it) is None:
            raise Broken(f"dl_device=(1, 0) on device {own} gave memory that cannot be read")


@probe("P-27")
def to_the_cpu_without_copy(target: Target) -> None:
    for x in _elsewhere(target, "cuda"):
        _needs(x, "dl_device")
        _needs(x, "copy")
        own = device_of(x)
        usual = best(x)
        try:
            found = best(x, dl_device=(1, 0), copy=False)
        except (BufferError, ValueError):
            continue
        except Exception as raised:
            raise Broken(
                f"dl_device=(1, 0) with copy=False on device {own} raised {name_error(raised)}"
            ) from None
        if found.contents.first != usual.contents.first:
            raise Broken(f"dl_device=(1, 0) with copy=False on device {own} copied")


# Streams ---------------------------------------------------------------------------------------


def _accepts_no_stream(x: Any) -> None:
    try:
        x.__dlpack__(stream=None)
    except Exception as raised:
        raise Broken(f"stream=None on device {device_of(x)} raised {name_error(raised)}") from None


@probe("P-28")
def no_stream(target: Target) -> None:
    _accepts_no_stream(make(target))


@probe("P-28")
def no_ordering_on_the_cpu(target: Target) -> None:
    x = make(target)
    if device_of(x)[0] != 1:
        return
    try:
        x.__dlpack__(stream=-1)
    except Exception as raised:
        raise Broken(f"stream=-1 on the CPU raised {name_error(raised)}", severity="W") from None


def _must_refuse(x: Any, stream: int) -> None:
    own = device_of(x)
    call = f"stream={stream} on device {own}"
    try:
        x.__dlpack__(stream=stream)
    except TypeError as raised:
        raise Broken(
            f"{call} raised {name_error(raised)}, after which consumers ask without a stream",
            severity="W",
        ) from None
    except Exception:
        return
    raise Broken(f"{call} was accepted", severity="W" if own[0] == 1 else None)


@probe("P-29")
def streams_below_any(target: Target) -> None:
    x = make(target)
    if device_of(x)[0] in (1, CUDA, ROCM):
        _must_refuse(x, -2)


@probe("P-29")
def streams_that_mean_nothing(target: Target) -> None:
    forbidden = {CUDA: (0, -2), ROCM: (1, 2, -2)}
    for x in _elsewhere(target, "cuda", "rocm"):
        for stream in forbidden.get(device_of(x)[0], ()):
            _must_refuse(x, stream)


# Content, threads, repetition ------------------------------------------------------------------


@probe("P-30")
def indescribable_content(target: Target) -> str:
    attempts: list[tuple[str, dict[str, Any]]] = [
        *((name, {"dtype": name}) for name in INDESCRIBABLE),
        ("read-only memory in a legacy capsule", {"readonly": True}),
    ]
    refused = []
    for words, wanted in attempts:
        try:
            x = make(target, **wanted)
        except Skip:
            continue
        try:
            x.__dlpack__()
        except BufferError:
            refused.append(words)
        except Exception as raised:
            raise Broken(
                f"{words}: __dlpack__() raised {name_error(raised)}",
                severity=None if isinstance(raised, TypeError) else "W",
            ) from None
    if not refused:
        raise Skip("the factory makes nothing that DLPack cannot describe")
    return f"refused: {', '.join(refused)}"


@probe("P-31")
def another_thread(target: Target) -> None:
    x = make(target)
    here = best(x).contents
    came: list[Export | Skip | Exception] = []

    def ask() -> None:
        try:
            came.append(best(x))
        except (Skip, Exception) as raised:
            came.append(raised)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    found = came[0]
    if isinstance(found, Skip):
        raise found
    if isinstance(found, Exception):
        raise Broken(f"on another thread __dlpack__ raised {name_error(found)}")
    there = found.contents
    if (there.shape, there.dtype, there.device) != (here.shape, here.dtype, here.device):
        raise Broken(f"on another thread it gave {there.shape} on {there.device}")


@probe("P-32")
def independent_capsules(target: Target) -> None:
    x = make(target)
    for kind in (export, best):
        try:
            one, two = kind(x), kind(x)
        except BufferError:
            continue
        if one.capsule is two.capsule:
            raise Broken("two calls gave the same capsule")
        if one.contents.address == two.contents.address:
            raise Broken("two capsules hold the same managed tensor: it would be freed twice")


@probe("P-32", hostile=True)
def freed_one_by_one(target: Target) -> None:
    x = make(target)
    for _ in every_kind(x):
        one, two = abi.take(best(x).capsule), abi.take(best(x).capsule)
        before = content(two.contents)
        one.free()
        if content(two.contents) != before:
            raise Broken("freeing one export changed what another one holds")
        two.free()

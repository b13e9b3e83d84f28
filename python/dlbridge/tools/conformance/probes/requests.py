"""The probes of requests: copies, devices, streams, read-only memory, P-22 to P-32."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from dlbridge.tools import abi, devices
from dlbridge.tools.conformance.helpers.exports import (
    NEWEST,
    Export,
    accepts_keyword,
    best,
    content,
    device_of,
    every_kind,
    export,
    make,
    reach,
    size,
    versioned,
)
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

# Names of dtypes that DLPack cannot describe, in the libraries that have them.
INDESCRIBABLE = ("object", "datetime64[s]", "str", "string", ">f4", "longdouble", "qint8", "int4")


def _needs(x: Any, keyword: str) -> None:
    if not accepts_keyword(x, keyword):
        raise Skip(f"__dlpack__ has no keyword {keyword}")


def _requests_of_kinds(x: Any) -> list[tuple[str, dict[str, Any]]]:
    """Returns the keywords that request each kind of capsule, where the producer accepts them."""
    requests: list[tuple[str, dict[str, Any]]] = [("", {})]
    if accepts_keyword(x, "max_version"):
        requests.append((f"max_version={NEWEST}, ", {"max_version": NEWEST}))
    return requests


# Read-only memory ------------------------------------------------------------------------------


@probe("P-22")
def read_only_marked(target: Target) -> str | None:
    x = make(target, readonly=True)
    _needs(x, "max_version")
    try:
        tensor = export(x, max_version=NEWEST).contents
    except BufferError as error:
        return f"refused: {error}"
    if tensor.version is None:
        raise Broken("max_version returned a legacy capsule, which has no read-only flag",
                     severity="W")  # fmt: skip
    if not tensor.flags & abi.READ_ONLY:
        raise Broken(f"the flags of the versioned capsule of a read-only array are {tensor.flags}")
    return None


@probe("P-22")
def read_only_legacy(target: Target) -> None:
    x = make(target, readonly=True)
    try:
        item = export(x)
    except BufferError:
        return
    except Exception as error:
        raise Broken(f"the legacy export of a read-only array raised {name_error(error)}",
                     severity="W") from None  # fmt: skip
    if item.contents.version is None:
        raise Broken("a read-only array is exported in a legacy capsule, which has no flags",
                     severity="W")  # fmt: skip


@probe("P-22")
def legacy_of_what_is_marked(target: Target) -> str | None:
    """Where the factory creates nothing read-only, its default arrays may be read-only."""
    x = make(target, shape=(6,)) if "shape" in target.accepts else make(target)
    kinds = {each.contents.name: each.contents for each in every_kind(x)}
    if len(kinds) < 2:
        return "it exports capsules of one kind only"
    if kinds[abi.VERSIONED].flags & abi.READ_ONLY:
        raise Broken(
            "the versioned capsule is marked READ_ONLY; the legacy one of the same array has no "
            "flag, and is not refused",
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
    make(target, readonly=True)  # raises Skip where the factory cannot tell them apart
    tensor = best(make(target, readonly=False)).contents
    if tensor.flags & abi.READ_ONLY:
        raise Broken("a writable array is marked READ_ONLY", severity="W")


# Copies ----------------------------------------------------------------------------------------


@probe("P-23")
def no_copy_is_none(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    default = best(x)
    exports = []
    for _ in range(2):
        try:
            exports.append(best(x, copy=False))
        except BufferError as error:
            raise Broken(f"copy=False is refused: {error}", severity="W") from None
        except Exception as error:
            raise Broken(f"copy=False raised {name_error(error)}") from None
    for item in exports:
        tensor = item.contents
        if tensor.first != default.contents.first:
            raise Broken(
                f"copy=False returned memory at {tensor.first:#x}, the default export is at "
                f"{default.contents.first:#x}"
            )
        if tensor.flags & abi.IS_COPIED:
            raise Broken("the result of copy=False is marked IS_COPIED")


@probe("P-24")
def a_copy_is_one(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    for text, keywords in _requests_of_kinds(x):
        call = f"__dlpack__({text}copy=True)"
        try:
            default = export(x, **keywords)
            copy_item = export(x, **keywords, copy=True)
        except BufferError:
            continue
        except Exception as error:
            raise Broken(f"{call} raised {name_error(error)}") from None
        own, other = reach(default.contents), reach(copy_item.contents)
        if own[0] < other[1] and other[0] < own[1]:
            raise Broken(
                f"{call} returned the array's own memory, at {copy_item.contents.first:#x}"
            )
        if content(default.contents) != content(copy_item.contents):
            raise Broken(f"{call} returned a copy with other bytes than the array")


@probe("P-24")
def a_copy_is_marked(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    try:
        item = versioned(x, copy=True)
    except BufferError:
        return
    except Skip:
        return  # a legacy capsule has no flags
    except Exception as error:
        raise Broken(f"copy=True raised {name_error(error)}") from None
    if not item.contents.flags & abi.IS_COPIED:
        raise Broken(f"the flags of a copy are {item.contents.flags}", severity="W")


@probe("P-25")
def copy_of_another_type(target: Target) -> None:
    x = make(target)
    _needs(x, "copy")
    others: tuple[Any, ...] = ("never", [], 2.5)
    for value in others:
        for text, keywords in _requests_of_kinds(x):
            try:
                x.__dlpack__(**keywords, copy=value)
            except Exception:
                continue
            raise Broken(
                f"__dlpack__({text}copy={value!r}) was accepted",
                severity=None if isinstance(value, str) else "W",  # NumPy takes the others as bool
            )


# Devices ---------------------------------------------------------------------------------------


@probe("P-26")
def own_device(target: Target) -> None:
    x = make(target)
    _needs(x, "dl_device")
    own = device_of(x)
    try:
        item = best(x, dl_device=own)
    except Exception as error:
        raise Broken(f"dl_device={own}, its own device, raised {name_error(error)}") from None
    if item.contents.device != best(x).contents.device:
        raise Broken(f"dl_device={own} returned a capsule on {item.contents.device}")


@probe("P-26")
def unreachable_device(target: Target) -> None:
    x = make(target)
    _needs(x, "dl_device")
    for text, keywords in _requests_of_kinds(x):
        for device in ((devices.VULKAN, 0), (99, 0)):
            call = f"__dlpack__({text}dl_device={device})"
            try:
                item = export(x, **keywords, dl_device=device)
            except BufferError:
                continue
            except Exception as error:
                raise Broken(f"{call} raised {name_error(error)}") from None
            if item.contents.device != device:
                raise Broken(f"{call} returned a capsule on {item.contents.device}")


@probe("P-26")
def malformed_device(target: Target) -> None:
    x = make(target)
    _needs(x, "dl_device")
    for value in (1, "cpu", (1,), ("cpu", 0)):
        for text, keywords in _requests_of_kinds(x):
            call = f"__dlpack__({text}dl_device={value!r})"
            try:
                x.__dlpack__(**keywords, dl_device=value)
            except (TypeError, ValueError, BufferError):
                continue
            except Exception as error:
                raise Broken(f"{call} raised {name_error(error)}", severity="W") from None
            raise Broken(f"{call} was accepted")


def _elsewhere(target: Target, *names: str) -> Iterator[Any]:
    """Yields objects of the factory outside CPU memory; raises Skip where there are none."""
    default = make(target)
    item = 0
    if device_of(default)[0] != devices.CPU:
        item += 1
        yield default
    why = "the factory has no parameter `device`"
    for name in names if "device" in target.accepts else ():
        try:
            x = make(target, device=name)
        except Skip as error:
            why = str(error)
            continue
        if device_of(x)[0] != devices.CPU:
            item += 1
            yield x
    if item == 0:
        raise Skip(f"there is no array in device memory: {why}")


@probe("P-27")
def to_the_cpu(target: Target) -> None:
    for x in _elsewhere(target, "cuda"):
        _needs(x, "dl_device")
        own = device_of(x)
        try:
            item = best(x, dl_device=abi.CPU, stream=None)
        except Exception as error:
            raise Broken(f"dl_device=(1, 0) on device {own} raised {name_error(error)}") from None
        tensor = item.contents
        if tensor.device[0] != devices.CPU:
            raise Broken(
                f"dl_device=(1, 0) on device {own} returned a capsule on {tensor.device}",
                severity="W" if tensor.device[0] in devices.HOST_ACCESSIBLE else None,
            )
        if size(tensor) and content(tensor) is None:
            raise Broken(f"dl_device=(1, 0) on device {own} returned memory that is not readable")


@probe("P-27")
def to_the_cpu_without_copy(target: Target) -> None:
    for x in _elsewhere(target, "cuda"):
        _needs(x, "dl_device")
        _needs(x, "copy")
        own = device_of(x)
        default = best(x)
        try:
            item = best(x, dl_device=abi.CPU, copy=False)
        except (BufferError, ValueError):
            continue
        except Exception as error:
            raise Broken(
                f"dl_device=(1, 0) with copy=False on device {own} raised {name_error(error)}"
            ) from None
        if item.contents.first != default.contents.first:
            raise Broken(f"dl_device=(1, 0) with copy=False on device {own} copied")


# Streams ---------------------------------------------------------------------------------------


def _accepts_no_stream(x: Any) -> None:
    try:
        x.__dlpack__(stream=None)
    except Exception as error:
        raise Broken(f"stream=None on device {device_of(x)} raised {name_error(error)}") from None


@probe("P-28")
def no_stream(target: Target) -> None:
    _accepts_no_stream(make(target))


@probe("P-28")
def no_ordering_on_the_cpu(target: Target) -> None:
    x = make(target)
    if device_of(x)[0] != devices.CPU:
        return
    try:
        x.__dlpack__(stream=-1)
    except Exception as error:
        raise Broken(f"stream=-1 on the CPU raised {name_error(error)}", severity="W") from None


def _must_refuse(x: Any, stream: int) -> None:
    own = device_of(x)
    call = f"stream={stream} on device {own}"
    try:
        x.__dlpack__(stream=stream)
    except TypeError as error:
        raise Broken(
            f"{call} raised {name_error(error)}, and consumers then retry without a stream",
            severity="W",
        ) from None
    except Exception:
        return
    raise Broken(f"{call} was accepted", severity="W" if own[0] == devices.CPU else None)


@probe("P-29")
def streams_below_any(target: Target) -> None:
    x = make(target)
    if device_of(x)[0] in (devices.CPU, devices.CUDA, devices.ROCM):
        _must_refuse(x, -2)


@probe("P-29")
def streams_that_mean_nothing(target: Target) -> None:
    forbidden = {devices.CUDA: (0, -2), devices.ROCM: (1, 2, -2)}
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
    for text, arguments in attempts:
        try:
            x = make(target, **arguments)
        except Skip:
            continue
        try:
            x.__dlpack__()
        except BufferError:
            refused.append(text)
        except Exception as error:
            raise Broken(
                f"{text}: __dlpack__() raised {name_error(error)}",
                severity=None if isinstance(error, TypeError) else "W",
            ) from None
    if not refused:
        raise Skip("the factory creates nothing that DLPack cannot describe")
    return f"refused: {', '.join(refused)}"


@probe("P-31")
def another_thread(target: Target) -> None:
    x = make(target)
    own = best(x).contents
    results: list[Export | Skip | Exception] = []

    def run() -> None:
        try:
            results.append(best(x))
        except (Skip, Exception) as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    item = results[0]
    if isinstance(item, Skip):
        raise item
    if isinstance(item, Exception):
        raise Broken(f"on another thread __dlpack__ raised {name_error(item)}")
    other = item.contents
    if (other.shape, other.dtype, other.device) != (own.shape, own.dtype, own.device):
        raise Broken(f"on another thread it returned {other.shape} on {other.device}")


@probe("P-32")
def independent_capsules(target: Target) -> None:
    x = make(target)
    for kind in (export, best):
        try:
            one, two = kind(x), kind(x)
        except BufferError:
            continue
        if one.capsule is two.capsule:
            raise Broken("two calls returned the same capsule")
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
            raise Broken("freeing one export changed the content of another one")
        two.free()

# SPDX-License-Identifier: BSD-3-Clause
"""The probes of requests: devices, streams, and content that DLPack cannot describe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import abi, devices, dtypes
from ..helpers.consumption import announce
from ..helpers.exports import (
    Keywords,
    best,
    call_text,
    content,
    device_of,
    every_kind,
    export,
    make,
    needs_keyword,
    reported_device,
    request,
    requests_of_kinds,
    size,
)
from ..helpers.readings import decode, reading_of, same
from ..judgement.calls import DeviceType
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

# Devices -----------------------------------------------------------------------------------------

NO_DEVICE_TYPE = 99
UNREACHABLE = ((devices.CUDA, 0), (devices.VULKAN, 0), (NO_DEVICE_TYPE, 0))


@probe("P-26", twice=True)
def own_device(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "dl_device")
    own = device_of(x)
    every_kind(x)  # raises Skip where it is exported in no way
    for kind in requests_of_kinds(x):
        keywords = {**kind, "dl_device": own}
        try:
            default = export(x, **kind).contents.device
        except Exception:  # refused in any case
            continue
        try:
            item = export(x, **keywords)
        except BufferError:  # permitted; P-27 judges the CPU
            continue
        except Exception as error:
            raise Broken(f"{call_text(keywords)}, for its own device, raised "
                         f"{name_error(error)}") from None  # fmt: skip
        if item.contents.device not in (own, default):
            raise Broken(f"{call_text(keywords)} returned a capsule on {item.contents.device}")


@probe("P-26", twice=True)
def unreachable_device(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "dl_device")
    for kind in requests_of_kinds(x):
        for device in UNREACHABLE:
            if device_of(x) == device:
                continue
            keywords = {**kind, "dl_device": device}
            try:
                item = export(x, **keywords)
            except BufferError:
                continue
            except Exception as error:
                raise Broken(f"{call_text(keywords)} raised {name_error(error)}") from None
            actual = item.contents.device
            if actual != device:
                raise Broken(f"{call_text(keywords)} returned a capsule on {actual}")
            if _is_relabelled(x, kind, item.contents):
                raise Broken(f"{call_text(keywords)} returned memory of {device_of(x)} in a "
                             f"capsule on {actual}")  # fmt: skip


def _is_relabelled(x: Any, kind: Keywords, tensor: abi.Contents) -> bool:
    """Whether a capsule gives another device to an array in memory of the host."""
    if tensor.device[0] == NO_DEVICE_TYPE:
        return True
    try:
        own = export(x, **kind).contents
    except (Skip, Exception):
        return False
    return own.device[0] == devices.CPU and bool(size(own)) and own.first == tensor.first


@probe("P-45", twice=True)
def device_types_of_an_enum(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "dl_device")
    own = device_of(x)
    type_, index = reported_device(x)  # P-02 judges a pair that is no tuple
    pairs: list[Any] = [(type_, index)]
    if own[0] in list(DeviceType):
        pairs.append((DeviceType(own[0]), own[1]))
    requests = [
        kind for kind in requests_of_kinds(x) if _is_exported(x, {**kind, "dl_device": own})
    ]
    if not requests:
        raise Skip(f"dl_device={own}, its own device, is refused")
    for kind in requests:
        for pair in pairs:
            keywords = {**kind, "dl_device": pair}
            try:
                request(x, **keywords)
            except Exception as error:
                raise Broken(f"{call_text(keywords)} raised {name_error(error)}, and {own} is "
                             "accepted") from None  # fmt: skip


def _is_exported(x: Any, keywords: Keywords) -> bool:
    try:
        request(x, **keywords)
    except Exception:
        return False
    return True


@probe("P-51", twice=True)
def malformed_device(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "dl_device")
    values: tuple[Any, ...] = (1, "cpu", (1,), ("cpu", 0))
    for value in values:
        for kind in requests_of_kinds(x):
            keywords = {**kind, "dl_device": value}
            try:
                request(x, **keywords)
            except (TypeError, ValueError, BufferError):
                continue
            except Exception as error:
                raise Broken(f"{call_text(keywords)} raised {name_error(error)}") from None
            raise Broken(f"{call_text(keywords)} was accepted")


def _elsewhere(target: Target, *names: str) -> Iterator[Any]:
    """Yields objects of the factory outside CPU memory; raises Skip where there are none."""
    default = make(target)
    item = 0
    if device_of(default)[0] != devices.CPU:
        item += 1
        yield default
    why = target.lacks("device", names[0])
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
    is_host = _from_the_cpu(make(target))
    try:
        _from_devices(target)
    except Skip:
        if not is_host:
            raise


def _from_the_cpu(x: Any) -> bool:
    """Judges an array of the CPU: it is in the memory that is asked for."""
    needs_keyword(x, "dl_device")
    if device_of(x)[0] != devices.CPU:
        return False
    every_kind(x)  # raises Skip where it is exported in no way
    for kind in requests_of_kinds(x):
        keywords = {**kind, "dl_device": abi.CPU}
        try:
            export(x, **kind)
        except Exception:  # refused in any case
            continue
        try:
            export(x, **keywords)
        except BufferError as error:
            raise Broken(f"{call_text(keywords)}, of an array of the CPU, raised "
                         f"{name_error(error)}") from None  # fmt: skip
        except Exception:  # P-26 judges them
            continue
    return True


def _from_devices(target: Target) -> None:
    for x in _elsewhere(target, "cuda"):
        needs_keyword(x, "dl_device")
        own = device_of(x)
        call = f"dl_device=(1, 0) on device {own}"
        try:
            item = best(x, dl_device=abi.CPU, stream=None)
        except Exception as error:
            raise Broken(f"{call} raised {name_error(error)}") from None
        tensor = item.contents
        if tensor.device[0] != devices.CPU:
            raise Broken(f"{call} returned a capsule on {tensor.device}")
        if size(tensor) and content(tensor) is None:
            raise Broken(f"{call} returned memory that is not readable")


@probe("P-52")
def to_the_cpu_without_copy(target: Target) -> None:
    for x in _elsewhere(target, "cuda"):
        needs_keyword(x, "dl_device")
        needs_keyword(x, "copy")
        call = f"dl_device=(1, 0) with copy=False on device {device_of(x)}"
        default = best(x)
        try:
            item = best(x, dl_device=abi.CPU, copy=False)
        except (BufferError, ValueError):  # the standard has named each of them
            continue
        except Exception as error:
            raise Broken(f"{call} raised {name_error(error)}") from None
        if item.contents.first != default.contents.first:
            raise Broken(f"{call} copied")


# Streams -----------------------------------------------------------------------------------------


@probe("P-28", twice=True)
def no_stream(target: Target) -> None:
    x = make(target)
    requests = [kind for kind in requests_of_kinds(x) if _is_exported(x, kind)]
    if not requests:
        raise Skip("the array is refused without a stream as well")
    for kind in requests:
        keywords = {**kind, "stream": None}
        try:
            request(x, **keywords)
        except Exception as error:
            raise Broken(f"{call_text(keywords)} on device {device_of(x)} raised "
                         f"{name_error(error)}") from None  # fmt: skip


def _must_refuse(x: Any, stream: int) -> None:
    """Producers that use the number as a handle end the process here."""
    announce(f"the last call was {call_text({'stream': stream})}")
    try:
        request(x, stream=stream)
    except Exception:
        return
    raise Broken(f"stream={stream} on device {device_of(x)} was accepted")


@probe("P-29", twice=True)
def streams_below_any(target: Target) -> None:
    x = make(target)
    if device_of(x)[0] not in (devices.CPU, devices.CUDA, devices.ROCM):
        raise Skip(f"streams of device {device_of(x)} have no numbers")
    _must_refuse(x, -2)


@probe("P-29", extra=True)
def streams_that_mean_nothing(target: Target) -> None:
    forbidden = {devices.CUDA: (0, -2), devices.ROCM: (1, 2, -2)}
    for x in _elsewhere(target, "cuda", "rocm"):
        for stream in forbidden.get(device_of(x)[0], ()):
            _must_refuse(x, stream)


# Content that DLPack cannot describe -------------------------------------------------------------

# Names of such dtypes, for the factory and for the method astype.
INDESCRIBABLE = ("object", "datetime64[s]", "str", "string", ">f4", "S4", "V4")
# These are describable, but few libraries export them.
RARE = ("longdouble", "qint8")


def _indescribable(target: Target, *names: str) -> Iterator[tuple[str, Any]]:
    """Yields arrays that DLPack cannot describe. Raises Skip where there are none."""
    x = make(target)
    found = False
    for name in names:
        try:
            other = make(target, dtype=name)
        except Skip:
            try:
                other = x.astype(name)
            except Exception:
                continue
        if callable(getattr(other, "__dlpack__", None)):
            found = True
            yield name, other
    if not found:
        raise Skip("the factory creates nothing that DLPack cannot describe")


@probe("P-30", twice=True)
def refused_with_buffer_error(target: Target) -> str:
    refused = []
    for name, x in _indescribable(target, *INDESCRIBABLE, *RARE):
        for kind in requests_of_kinds(x):
            try:
                request(x, **kind)
            except BufferError:
                refused.append(name)
            except Exception as error:
                raise Broken(f"{name}, {call_text(kind)} raised {name_error(error)}") from None
    if not refused:
        raise Skip("nothing is refused; P-46 judges what is exported")
    return f"refused: {', '.join(dict.fromkeys(refused))}"


@probe("P-46", twice=True)
def never_exported(target: Target) -> None:
    for name, x in _indescribable(target, *INDESCRIBABLE):
        for kind in requests_of_kinds(x):
            try:
                item = export(x, **kind)
            except (Skip, Exception):
                continue
            tensor = item.contents
            if tensor.dtype[0] == dtypes.OPAQUE or _is_converted(x, tensor):
                continue
            raise Broken(
                f"{name}, {call_text(kind)} returned elements of {dtypes.name(tensor.dtype)}"
            )


def _is_converted(x: Any, tensor: abi.Contents) -> bool:
    """Whether the numbers are right: it swaps bytes, say, before it exports."""
    raw = content(tensor)
    numbers = None if raw is None else decode(raw, tensor.dtype)
    reading = reading_of(x, tensor.shape or (), tensor.dtype[0])
    return numbers is not None and reading is not None and same(numbers, reading.numbers)

"""Habits of producers that show only where several roads are compared: one function for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Callable

from dlbridge.tools import abi
from dlbridge.tools.inspection.cases import OTHER_MAJOR
from dlbridge.tools.inspection.cases.case import Level
from dlbridge.tools.inspection.consumers import CONSUMERS
from dlbridge.tools.inspection.description import device_name, dtype_name
from dlbridge.tools.inspection.exports import PROBES
from dlbridge.tools.inspection.roads import COPIES, DLPACK, Road
from dlbridge.tools.inspection.verdicts import OTHER, who_minds

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

Found = Iterator[tuple[Level, str, str, tuple[str, ...]]]


def _titles(*names: str) -> str:
    return ", ".join(CONSUMERS[name].title for name in names)


def _has(x: Inspection, *roads: str) -> list[Road]:
    return [road for road in x.roads if road.name in roads and road.description is not None]


def unreadable(x: Inspection) -> Found:
    for road in x.roads:
        if road.outcome != "unreadable":
            continue
        if road.name in DLPACK and road.version is not None and road.version[0] != 1:
            yield (
                "defect",
                f"{road.said[0].upper()}{road.said[1:]}.",
                who_minds(x, OTHER, OTHER_MAJOR),
                (road.name,),
            )
        else:
            yield "defect", f"Cannot be read: {road.said}.", "", (road.name,)


def raises(x: Inspection) -> Found:
    device = x.road("device")
    if device is not None and device.outcome == "raised":
        who = _titles(*(n for n, row in CONSUMERS.items() if row.needs_device))
        yield (
            "defect",
            f"__dlpack_device__ raises {device.said}",
            f"{who} ask it first",
            ("device",),
        )
    bare = x.road("bare")
    if bare is not None and bare.outcome == "raised" and bare.raised == "TypeError":
        yield (
            "defect",
            "__dlpack__() refuses with TypeError, which consumers take for an old producer.",
            "they ask again with fewer keywords, and copy=False or a stream is lost",
            ("bare",),
        )


def no_device(x: Inspection) -> Found:
    device = x.road("device")
    if device is not None and device.outcome == "absent" and _has(x, "bare", "1.0", "1.3"):
        who = _titles(*(n for n, row in CONSUMERS.items() if row.needs_device))
        yield "defect", "It has __dlpack__ and no __dlpack_device__.", f"refused by {who}", ()
    if device is not None and device.device is not None and device.device[1] is None:
        yield (
            "defect",
            "__dlpack_device__ gives None for the number of the device.",
            "who makes an integer of it fails; NumPy and MLX do not look",
            ("device",),
        )


def device_disagrees(x: Inspection) -> Found:
    device = x.road("device")
    if device is None or device.device is None or device.device[1] is None:
        return
    said = (device.device[0], device.device[1])
    for road in _has(x, "bare", "1.0", "1.3"):
        assert road.description is not None
        theirs = road.description.device
        if theirs != said and theirs is not None:
            pinned = said[0] in (3, 11) and theirs[0] == 1
            yield (
                "note" if pinned else "defect",
                f"__dlpack_device__ says {device_name(said)}, the tensor {device_name(theirs)}.",
                "" if pinned else "JAX believes the first, the others the second; PyTorch refuses",
                (road.name,),
            )
            return


def on_instance(x: Inspection) -> Found:
    if x.subject.on_instance:
        yield (
            "risk",
            f"Only the object has {' and '.join(x.subject.on_instance)}, not its type.",
            "nanobind, MLX and NumPy 1.23 look at the type",
            (),
        )


def legacy_only(x: Inspection) -> Found:
    versioned, bare = x.road("1.0"), x.road("bare")
    if versioned is None or bare is None:
        return
    if versioned.raised == "TypeError" and bare.description is not None:
        yield (
            "risk",
            "__dlpack__ does not know max_version: a producer of before 2024.",
            f"refused by {_titles('pyarrow')}; the others ask again without",
            ("1.0",),
        )
    elif versioned.capsule == abi.LEGACY:
        yield (
            "risk",
            "It gives a legacy capsule also to those who ask for a versioned one: no version, no "
            "read-only mark.",
            f"refused by {_titles('pyarrow', 'mpi4py')}; NumPy's result is read-only",
            ("1.0",),
        )


def versioned_unasked(x: Inspection) -> Found:
    bare = x.road("bare")
    if bare is not None and bare.capsule == abi.VERSIONED:
        who = _titles("jax", "tensorflow", "mxnet", "tvm_ffi", "onnxruntime", "warp")
        yield (
            "defect",
            "It gives a versioned capsule to those who ask for none.",
            f"refused by {who}",
            ("bare",),
        )


def capsule_names(x: Inspection) -> Found:
    for road in x.roads:
        if road.name == "capsule" and road.capsule in abi.USED.values():
            yield "defect", "The capsule is used up: a consumer has taken it.", "refused by all", ()


def unknown_keyword(x: Inspection) -> Found:
    if x.knows(PROBES[-1]):
        yield (
            "note",
            "__dlpack__ takes keywords that nobody knows without a word.",
            "a caller who misspells copy= is not told",
            (),
        )


def read_only_lost(x: Inspection) -> Found:
    if x.tensor is None:
        return
    first = x.tensor.first  # what leads elsewhere is a copy, with marks of its own
    marks = {
        road.name: road.description.read_only
        for road in x.roads
        if road.description is not None
        and road.name not in COPIES
        and road.description.first == first
    }
    yes = tuple(name for name, mark in marks.items() if mark is True)
    no = tuple(name for name, mark in marks.items() if mark is False)
    if yes and no:
        yield (
            "defect",
            "It is read-only on one road and writable on another.",
            "whoever comes by the other road writes into it",
            min(yes, no, key=len),
        )
    bare = x.road("bare")
    if yes and bare is not None and bare.capsule == abi.LEGACY and "bare" in marks:
        yield (
            "risk",
            "It is read-only, and gives a legacy capsule, which cannot say so.",
            "whoever asks without a version may write into it",
            ("bare",),
        )


def refuses_legacy(x: Inspection) -> Found:
    bare = x.road("bare")
    if bare is not None and bare.raised and _has(x, "1.0") and bare.raised != "TypeError":
        refused = [v.title for v in x.verdicts if v.outcome == "refuses" and v.road == "bare"]
        yield (
            "risk",
            "It gives no legacy capsule, only a versioned one.",
            f"refused by those who ask for no version: {', '.join(refused)}",
            ("bare",),
        )


def copies_on_export(x: Inspection) -> Found:
    roads = _has(x, "1.0", "bare", "give", "buffer", "array")
    first = {r.description.first for r in roads if r.description and r.description.layout
             and r.description.layout.size}  # fmt: skip
    if len(first) > 1:
        yield (
            "risk",
            "The roads lead to different addresses: some export is a copy.",
            "what is written by one road is not seen by another",
            (),
        )


def copy_ignored(x: Inspection) -> Found:
    plain = x.description("1.0", "bare")
    for road in _has(x, *COPIES):
        copied = road.description
        assert copied is not None
        if plain is None or copied.layout is None or copied.layout.size == 0:
            continue
        if copied.first == plain.first:
            yield "defect", "copy=True gives the same memory.", "writes go to both", (road.name,)
        elif copied.flags is not None and not copied.flags & abi.IS_COPIED:
            yield (
                "note",
                "copy=True copies, and does not mark the tensor as copied.",
                "a consumer cannot know that it is the only owner",
                (road.name,),
            )


def lazily_changed(x: Inspection) -> Found:
    roads = tuple(road.name for road in _has(x, "bare", "1.0", "1.3", "give", "lend"))
    for mark, remedy in (("negated", "resolve_neg()"), ("conjugated", "resolve_conj()")):
        if mark in x.subject.marks and roads:
            yield (
                "defect",
                f"PyTorch remembers that the values are to be {mark}; the memory does not say so, "
                "and goes out all the same.",
                f"everybody gets the values as they were before: call {remedy} first",
                roads,
            )


def table_lets_through(x: Inspection) -> Found:
    bare, versioned = x.road("bare"), x.road("1.0")
    refused = bare is not None and versioned is not None and bare.raised and versioned.raised
    roads = tuple(road.name for road in _has(x, "give", "lend"))
    if refused and roads and versioned is not None:
        yield (
            "defect",
            f"__dlpack__ refuses it ({versioned.said}), and the exchange table gives it.",
            "tvm-ffi and others who go by the table take it",
            roads,
        )


def bool_as_integer(x: Inspection) -> Found:
    tensor = x.description("1.0", "bare", "capsule")
    means_bool = "bool" in x.subject.own_dtype or any(
        road.description is not None and road.description.dtype == (6, 8, 1)
        for road in _has(x, "buffer", "array")
    )
    if tensor is not None and means_bool and tensor.dtype is not None and tensor.dtype[0] != 6:
        yield (
            "defect",
            f"It holds bool, and is exported as {dtype_name(tensor.dtype)} {tensor.dtype}.",
            "everybody gets integers",
            (),
        )


def other_shape(x: Inspection) -> Found:
    tensor, own = x.description("1.0", "bare"), x.subject.own_shape
    if tensor is not None and own is not None and tensor.shape is not None and own != tensor.shape:
        yield (
            "defect" if own == () else "risk",
            f"The object has the shape {list(own)}, the tensor {list(tensor.shape)}.",
            "everybody gets the second",
            (),
        )


RULES: tuple[Callable[[Inspection], Found], ...] = (
    unreadable, raises, no_device, device_disagrees, capsule_names, versioned_unasked,
    read_only_lost, lazily_changed, table_lets_through, bool_as_integer, other_shape,
    copy_ignored, legacy_only, refuses_legacy, copies_on_export, on_instance, unknown_keyword,
)  # fmt: skip

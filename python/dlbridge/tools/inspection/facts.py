"""The inspection in words, for terminal and notebook alike: facts of the tensor, rows of roads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dlbridge.tools.inspection.description import Description, device_name, flag_names
from dlbridge.tools.inspection.exports import PROBES
from dlbridge.tools.inspection.roads import COPIES, DLPACK, TITLES, Road
from dlbridge.tools.inspection.verdicts import Outcome

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection
    from dlbridge.tools.inspection.oddities import Oddity


def _list(numbers: tuple[int, ...] | None) -> str:
    return "()" if numbers == () else ", ".join(map(str, numbers or ()))


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _dtype(x: Description) -> str:
    if x.dtype is None:
        return x.dtype_text
    code, bits, lanes = x.dtype
    size = "elements share bytes" if x.is_packed else f"{_plural(x.element_bytes, 'byte')} each"
    numbers = f"code {code}, {_plural(bits, 'bit')}, {_plural(lanes, 'lane')}"
    return f"{x.dtype_text} ({numbers}), {size}"


def _device(x: Description) -> str:
    if x.device is None:
        return x.device_text
    return f"{x.device_text} (type {x.device[0]}, number {x.device[1]})"


def _shape(x: Description) -> str:
    if x.shape is None:
        return f"not readable; ndim is {x.ndim}"
    if x.layout is None:
        return _list(x.shape)
    count = x.layout.size
    if not x.element_bits:
        return f"{_list(x.shape)}: {_plural(count, 'element')}"
    packed = -(-count * x.element_bits // 8)
    size = _plural(packed if x.is_packed else count * x.element_bytes, "byte")
    return f"{_list(x.shape)}: {_plural(count, 'element')}, {size}"


def _strides(x: Description) -> str:
    if x.ndim == 0:
        return "none needed"
    if x.strides is None and x.byte_strides is None:
        if not x.strides_is_null:
            return "not readable"
        meant = "" if x.layout is None else f", which means {_list(x.layout.strides)}"
        return f"NULL{meant}"
    given = "not whole elements" if x.strides is None else f"{_list(x.strides)} elements"
    return given if x.stride_bytes is None else f"{given}; {_list(x.stride_bytes)} bytes"


def _order(x: Description) -> str:
    layout = x.layout
    if layout is None:
        return "not known"
    strict = [
        name
        for name, holds in (
            ("row-major", layout.is_row_major(strict=True)),
            ("column-major", layout.is_column_major(strict=True)),
        )
        if holds
    ]
    relaxed = [
        name
        for name, holds in (
            ("row-major", layout.is_row_major()),
            ("column-major", layout.is_column_major()),
        )
        if holds
    ]
    if relaxed and strict != relaxed:
        return f"{layout.order}; by the letter {' and '.join(strict) or 'neither'}"
    return layout.order


def _first(x: Description) -> str:
    if not x.is_address:
        return f"handle {x.data:#x} and {_plural(x.byte_offset, 'byte')}"
    where = f"{x.first:#x}" if x.first else "NULL"
    if x.byte_offset:
        where += f" = data {x.data:#x} + {_plural(x.byte_offset, 'byte')}"
    aligned = f", aligned to {_plural(x.alignment, 'byte')}" if x.alignment else ""
    return where + aligned


def _memory(x: Description) -> str:
    if x.memory is None or not x.first:
        return "not known" if x.first and x.layout and x.layout.size else "none"
    begin, end = x.memory
    there = {True: "", False: "; IT IS NOT THERE", None: "; not looked at"}[x.readable]
    shared = {True: "; elements share places", False: "", None: "; sharing not known"}[
        x.layout.shares if x.layout is not None else None
    ]
    return f"{begin:#x} to {end:#x}, {_plural(end - begin, 'byte')}{shared}{there}"


def _access(x: Description) -> str:
    return {True: "read-only", False: "writable", None: "not said"}[x.read_only]


def _keywords(inspection: Inspection) -> str:
    known = [name for name in PROBES[:-1] if inspection.knows(name)]
    missing = [name for name in PROBES[:-1] if name not in known]
    text = ", ".join(known) or "none"
    return f"{text}; not {', '.join(missing)}" if missing else text


def facts(inspection: Inspection) -> list[tuple[str, str]]:
    """What the tensor is, by the road that stands for it: a name and a text for each fact."""
    x = inspection.tensor
    if x is None:
        return []
    rows = [
        ("dtype", _dtype(x)),
        ("device", _device(x)),
        ("shape", _shape(x)),
        ("strides", _strides(x)),
        ("order", _order(x)),
        ("first element", _first(x)),
        ("memory", _memory(x)),
        ("access", _access(x)),
    ]
    if x.sample:
        more = x.layout is not None and x.layout.size > len(x.sample)
        rows.append(("begins with", ", ".join(x.sample) + (", ..." if more else "")))
    if x.sample_at_data:
        rows.append(("without offset", ", ".join(x.sample_at_data)))
    if inspection.keywords:
        rows.append(("keywords", _keywords(inspection)))
    if inspection.subject.marks:
        rows.append(("PyTorch's marks", ", ".join(inspection.subject.marks)))
    return rows


def came(road: Road) -> str:
    """What came along a road, in a few words."""
    if road.outcome == "absent":
        return road.said or "none"
    if road.outcome == "skipped":
        return f"not asked: {road.said}"
    if road.outcome in ("raised", "unreadable"):
        return road.said
    if road.device is not None:
        number = "None" if road.device[1] is None else road.device[1]
        name = (
            "" if road.device[1] is None else f": {device_name((road.device[0], road.device[1]))}"
        )
        return f"({road.device[0]}, {number}){name}"
    x = road.description
    assert x is not None
    version = "" if x.version is None else f" {x.version[0]}.{x.version[1]}"
    what = x.capsule or (f"format {x.format!r}" if x.format else "tensor")
    marks = flag_names(x.flags or 0)
    if x.flags is None and x.read_only:
        marks = ["read-only"]
    if x.deleter_is_null:
        marks.append("no deleter")
    return ", ".join([f"{what}{version}", *marks])


def _differs(inspection: Inspection, road: Road) -> str:
    found = [each for each in inspection.differences if each.road == road.name]
    texts = [each.text for each in found if not each.expected]
    if road.name in COPIES and road.description is not None:
        elsewhere = any(each.facet == "address" for each in found)
        where = f"a copy at {road.description.first:#x}" if elsewhere else "the same memory"
        return "; ".join([where, *texts])
    return "; ".join(texts) or "the same"


def road_rows(inspection: Inspection) -> list[tuple[Road, str, str]]:
    """Each road, what came along it, and what differs from the one that stands for the object."""
    rows = []
    for road in inspection.roads:
        differs = ""
        if road is inspection.spokesman:
            differs = "as above"
        elif road.description is not None:
            differs = _differs(inspection, road)
        rows.append((road, came(road), differs))
    return rows


def where(odd: Oddity, inspection: Inspection) -> str:
    """On which roads an oddity shows, as an ending of its sentence."""
    gave = [road.name for road in inspection.roads if road.description is not None]
    of_dlpack = {name for name in gave if name in DLPACK and name not in COPIES}
    if not odd.roads:
        return ""
    if len(odd.roads) > 1 and set(odd.roads) == of_dlpack:
        return " By every road of DLPack."
    return f" By {', '.join(TITLES[name] for name in odd.roads)}."


def summary(inspection: Inspection) -> str:
    """How many consumers take it, in one line."""
    counted = Counter(GROUPS[verdict.outcome] for verdict in inspection.verdicts)
    return ", ".join(f"{counted[group]} {group}" for group in dict.fromkeys(GROUPS.values())
                     if counted[group])  # fmt: skip


GROUPS: dict[Outcome, str] = {
    "shares": "without a copy",
    "copies": "with a copy",
    "refuses": "refuse",
    "wrong": "come to harm",
    "breaks": "come to harm",
    "crashes": "come to harm",
    "depends": "not sure",
    "unknown": "not sure",
}


def took(seconds: float | None) -> str:
    """
    >>> took(4.2e-7), took(0.0031)
    ('0.4 us', '3.1 ms')
    """
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.1f} {unit}"
    return ""


def headline(inspection: Inspection) -> str:
    """What it is, in one line."""
    if inspection.tensor is None:
        return "gives no tensor" if inspection.subject.on_type else "no tensor: it offers no road"
    tensor = inspection.tensor
    order = f", {tensor.layout.order}" if tensor.layout is not None else ""
    access = ", read-only" if tensor.read_only else ""
    return f"{tensor.text}{order}{access}"

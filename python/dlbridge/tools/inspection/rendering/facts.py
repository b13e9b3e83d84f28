# SPDX-License-Identifier: BSD-3-Clause
"""The inspection in words, for text and HTML: properties of the tensor, responses, counts."""

from __future__ import annotations

from collections import Counter

from ... import abi, devices
from ...conformance.rules import RULES
from ...output import listed, plural
from ..conclusions.findings import Findings
from ..conclusions.oddity import Oddity
from ..conclusions.verdicts import Outcome, Verdict
from ..reading.description import Description, flag_names
from ..reading.exports import PROBES
from ..reading.protocols import COPIES, DLPACK, TITLES, Response


def _list(numbers: tuple[int, ...] | None) -> str:
    return "()" if numbers == () else ", ".join(map(str, numbers or ()))


def _dtype(x: Description) -> str:
    if x.dtype is None:
        size = f", {plural(x.item_bytes, 'byte')} each" if x.item_bytes else ""
        return f"{x.dtype_text}{size}"
    code, bits, lanes = x.dtype
    size = "elements share bytes" if x.is_packed else f"{plural(x.element_bytes, 'byte')} each"
    numbers = f"code {code}, {plural(bits, 'bit')}, {plural(lanes, 'lane')}"
    return f"{x.dtype_text} ({numbers}), {size}"


def _device(x: Description) -> str:
    if x.device is None:
        return x.device_text
    return f"{x.device_text} (type {x.device[0]}, index {x.device[1]})"


def _shape(x: Description) -> str:
    if x.shape is None:
        return f"not readable; ndim is {x.ndim}"
    if x.layout is None:
        return _list(x.shape)
    count = x.layout.size
    if not x.element_bits:
        return f"{_list(x.shape)}: {plural(count, 'element')}"
    packed = -(-count * x.element_bits // 8)
    size = plural(packed if x.is_packed else count * x.element_bytes, "byte")
    return f"{_list(x.shape)}: {plural(count, 'element')}, {size}"


def _strides(x: Description) -> str:
    if x.ndim == 0:
        return "none needed"
    if x.strides is None and x.byte_strides is None:
        if not x.strides_is_null:
            return "not readable"
        meaning = "" if x.layout is None else f", which means {_list(x.layout.strides)}"
        return f"NULL{meaning}"
    parts = ["not whole elements" if x.strides is None else listed(x.strides, "element")]
    if x.stride_bytes is not None:
        parts.append(listed(x.stride_bytes, "byte"))
    return "; ".join(parts)


def _order(x: Description) -> str:
    layout = x.layout
    if layout is None:
        return "not known"
    orders = {"row-major": layout.is_row_major, "column-major": layout.is_column_major}
    strict = [name for name, holds in orders.items() if holds(strict=True)]
    relaxed = [name for name, holds in orders.items() if holds()]
    if relaxed and strict != relaxed:
        return f"{layout.order}; strictly {' and '.join(strict) or 'neither'}"
    return layout.order


def _first(x: Description) -> str:
    if not x.is_address:
        return f"handle {x.data:#x} and {plural(x.byte_offset, 'byte')}"
    address = f"{x.first:#x}" if x.first else "NULL"
    if x.byte_offset:
        address += f" = data {x.data:#x} + {plural(x.byte_offset, 'byte')}"
    aligned = f", aligned to {plural(x.alignment, 'byte')}" if x.alignment else ""
    return address + aligned


def _memory(x: Description) -> str:
    if x.memory is None or not x.first:
        return "unknown" if x.first and x.layout and x.layout.size else "none"
    begin, end = x.memory
    readable = {True: "", False: "; NOT READABLE", None: "; not examined"}[x.readable]
    shared = {True: "; elements overlap", False: "", None: "; overlap unknown"}[
        x.layout.shares if x.layout is not None else None
    ]
    return f"{begin:#x} to {end:#x}, {plural(end - begin, 'byte')}{shared}{readable}"


def _access(x: Description, is_marked: bool) -> str:
    if x.read_only is not None:
        return "read-only" if x.read_only else "writable"
    access = "read-only" if is_marked else "not stated"
    what = "a legacy capsule" if x.capsule == abi.LEGACY else "DLTensor"
    return f"{access}; {what} has no read-only flag"


def _keywords(findings: Findings) -> str:
    accepted = [name for name in PROBES[:-1] if findings.accepts(name)]
    refusals = [name for name in PROBES[:-1] if name not in accepted]
    text = ", ".join(accepted) or "none"
    return f"{text}; not {', '.join(refusals)}" if refusals else text


def _values(findings: Findings) -> str:
    comparison = findings.comparison
    if not comparison.truth:
        return f"not compared, because {comparison.reason}"
    differ = any(sign.kind in ("P-38", "P-24", "S-04") for sign in findings.signs)
    result = "NOT EQUAL: see the oddities" if differ else "equal"
    count = plural(comparison.count, "element")
    return f"{count} of each protocol compared with {comparison.truth}: {result}"


def of_tensor(x: Description, is_marked: bool) -> list[tuple[str, str]]:
    """Returns the properties of a description: a name and a text for each.

    `is_marked`: whether the object is read-only by its own word, for structs without a flag.
    """
    return [
        ("dtype", _dtype(x)),
        ("device", _device(x)),
        ("shape", _shape(x)),
        ("strides", _strides(x)),
        ("order", _order(x)),
        ("first element", _first(x)),
        ("memory", _memory(x)),
        ("access", _access(x, is_marked)),
    ]


def properties(findings: Findings) -> list[tuple[str, str]]:
    """Returns the properties of the tensor and of its object: a name and a text for each."""
    x = findings.tensor
    if x is None:
        return []
    rows = of_tensor(x, findings.is_read_only(x.first))
    if x.sample:
        more = x.layout is not None and x.layout.size > len(x.sample)
        rows.append(("begins with", ", ".join(x.sample) + (", ..." if more else "")))
    if x.sample_at_data:
        rows.append(("without offset", ", ".join(x.sample_at_data)))
    if findings.comparison.truth or findings.comparison.reason:
        rows.append(("values", _values(findings)))
    if findings.keywords:
        rows.append(("keywords", _keywords(findings)))
    if findings.subject.marks:
        rows.append(("PyTorch flags", ", ".join(findings.subject.marks)))
    return rows


def response_text(response: Response) -> str:
    """Returns the response of one protocol in a few words."""
    if response.outcome == "absent":
        return response.said or "none"
    if response.outcome == "skipped":
        return f"not called: {response.said}"
    if response.outcome in ("raised", "unreadable"):
        return response.said
    if response.device is not None:
        type_, number = response.device
        name = "" if number is None else f": {devices.name((type_, number))}"
        return f"({type_}, {number}){name}"
    x = response.description
    assert x is not None
    version = "" if x.version is None else f" {x.version[0]}.{x.version[1]}"
    noun = x.capsule or (f"format {x.format!r}" if x.format else "tensor")
    marks = flag_names(x.flags or 0)
    if x.flags is None and x.read_only:
        marks = ["read-only"]
    if x.deleter_is_null:
        marks.append("no deleter")
    return ", ".join([f"{noun}{version}", *marks])


def _differs(findings: Findings, response: Response) -> str:
    differences_of = [each for each in findings.differences if each.protocol == response.name]
    texts = [each.text for each in differences_of if not each.expected]
    if response.name in COPIES and response.description is not None:
        elsewhere = any(each.facet == "address" for each in differences_of)
        protocols_text = (
            f"a copy at {response.description.first:#x}" if elsewhere else "the same memory"
        )
        return "; ".join([protocols_text, *texts])
    return "; ".join(texts) or "as above"


def response_rows(findings: Findings) -> list[tuple[Response, str, str]]:
    """Returns each response, its text, and its differences from the reference."""
    rows = []
    for response in findings.responses:
        difference = ""
        if response is findings.reference:
            difference = "shown above"
        elif response.description is not None:
            difference = _differs(findings, response)
        rows.append((response, response_text(response), difference))
    return rows


def oddity_text(odd: Oddity, findings: Findings) -> str:
    """Returns an oddity, and the protocols by which it shows as a second sentence."""
    if not odd.protocols:
        return odd.what
    first = odd.what if odd.what.endswith((".", "!", "?")) else f"{odd.what}."
    descriptions = [
        response.name for response in findings.responses if response.description is not None
    ]
    of_dlpack = {name for name in descriptions if name in DLPACK and name not in COPIES}
    some_refuse = any(each.raised and each.name in DLPACK for each in findings.responses)
    names = set(odd.protocols) - set(COPIES)
    if len(names) > 1 and names == of_dlpack and not some_refuse:
        return f"{first} By every protocol of DLPack."
    return f"{first} By {', '.join(TITLES[name] for name in odd.protocols)}."


def source_of(odd: Oddity) -> str:
    """Returns the rule that is broken, and the sentence of a standard that it follows from."""
    return f"Rule {odd.rule}: {odd.quote or RULES[odd.rule].text}"


def summary(findings: Findings) -> str:
    """Returns how many consumers accept the object, in one line."""
    groups = [OUTCOMES[row.outcome][2] for rows in equal_verdicts(findings) for row in rows]
    return ", ".join(f"{count} {group}" for group, count in Counter(groups).items())


# By outcome: its name before the text of a verdict, its style, and its group in the summary.
OUTCOMES: dict[Outcome, tuple[str, str, str]] = {
    "shares": ("without a copy", "good", "without a copy"),
    "copies": ("copies", "fair", "with a copy"),
    "converts": ("converts", "fair", "with another dtype"),
    "refuses": ("refuses", "fair", "refuse"),
    "wrong": ("WRONG VALUES", "bad", "crash or fail later"),
    "breaks": ("ACCEPTS, FAILS LATER", "bad", "crash or fail later"),
    "crashes": ("CRASHES", "bad", "crash or fail later"),
    "depends": ("depends", "fair", "unclear"),
    "unknown": ("unknown", "faint", "unclear"),
}
# Styles of text and HTML.
LEVEL_STYLES = {"defect": "bad", "risk": "fair", "note": "faint"}


def outcome_style(verdict: Verdict) -> str:
    """Returns the style of an outcome; "good" with a note becomes "fair"."""
    style = OUTCOMES[verdict.outcome][1]
    return "fair" if style == "good" and verdict.text else style


def versions(findings: Findings) -> str:
    """Returns with which version of each consumer the verdicts were verified."""
    return ", ".join(
        f"{row.title} {row.version}"
        + (f" ({row.installed} is installed)" if row.installed not in ("", row.version) else "")
        for row in findings.verdicts
    )


def equal_verdicts(findings: Findings) -> list[list[Verdict]]:
    """Returns the verdicts, those of equal outcome and text together, the best outcomes first."""
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for each in sorted(findings.verdicts, key=lambda each: list(OUTCOMES).index(each.outcome)):
        groups.setdefault((each.outcome, each.text), []).append(each)
    return list(groups.values())


def duration(seconds: float | None) -> str:
    """Formats a time.

    >>> duration(4.2e-7), duration(0.0031)
    ('0.4 us', '3.1 ms')
    """
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.1f} {unit}"
    return ""


def headline(findings: Findings) -> str:
    """Returns the object's description in one line."""
    if findings.tensor is None:
        subject = findings.subject
        if subject.is_class:
            return f"not a tensor: {subject.type} is a class"
        if any(each.outcome != "absent" for each in findings.responses):
            return "exports no tensor"
        return f"not a tensor: {subject.type} supports none of the protocols"
    x = findings.tensor
    return of_tensor_in_short(x, findings.is_read_only(x.first))


def of_tensor_in_short(x: Description, is_marked: bool) -> str:
    """Returns a description in one line."""
    order = f", {x.layout.order}" if x.layout is not None else ""
    access = ", read-only" if _access(x, is_marked).startswith("read-only") else ""
    return f"{x.text}{order}{access}"

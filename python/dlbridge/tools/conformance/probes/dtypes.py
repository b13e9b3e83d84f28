# SPDX-License-Identifier: BSD-3-Clause
"""The probes of dtypes: elements keep their type and their values, or are refused."""

from __future__ import annotations

from typing import Any

from ... import dtypes, elements
from ...dtypes import Triple
from ..helpers import device_memory, samples
from ..helpers.consumption import (
    AGAIN,
    LAZY,
    Cases,
    ConsumerCall,
    each_import,
    import_as,
    kinds,
    short,
    summed_up,
)
from ..helpers.expectations import note, same, wrong_values
from ..helpers.results import (
    CannotRead,
    export_of,
    readers,
    reported_dtype,
    values_of,
)
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target

# Dtypes of DLPack that Python cannot encode; lanes, and elements of less than a byte. Not uint1:
# TVM and MXNet have used it for booleans of a byte.
OTHERS: dict[str, Triple] = {
    "complex32": (5, 32, 1),
    "float128": (2, 128, 1),
    "int128": (0, 128, 1),
    "opaque64": (3, 64, 1),
    "float32x2": (2, 32, 2),
    "int8x4": (0, 8, 4),
    "float4_e2m1fnx2": (17, 4, 2),
    "float4_e2m1fn": (17, 4, 1),
    "float6_e2m3fn": (15, 6, 1),
    "int4": (0, 4, 1),
    "uint4": (1, 4, 1),
}


OTHER_VALUES = ", with other values"


class _Wrong(Exception):
    """Describes elements that are read as others."""


def _precise(*layouts: tuple[tuple[int, ...], tuple[int, ...]]) -> Cases:
    """Returns tensors of every readable dtype, whose values need all its bits."""
    return {
        f"{name} of shape {shape}": {
            "dtype": dtype,
            "shape": shape,
            "strides": strides,
            "precise": True,
        }
        for dtype, name in samples.READABLE.items()
        for shape, strides in layouts
    }


@probe("C-38", hostile=True)
def conversions_keep_the_values(target: Target) -> str:
    readers(target)
    lost: dict[str, None] = {}
    examined = 0
    for _, call in each_import(target, _precise(((5,), (1,)))):
        if call.refusal is not None:
            continue
        try:
            change = _judge(call)
        except (_Wrong, CannotRead):  # C-12 judges them
            continue
        examined += 1
        if change is not None and change.endswith(OTHER_VALUES):
            lost[change] = None
    if lost:
        raise Broken("converted without an error: " + "; ".join(lost))
    if not examined:
        raise Skip("no dtype is accepted and can be read")
    return f"{examined} dtypes keep their values"


@probe("C-12", hostile=True)
def dtypes_keep_their_values(target: Target) -> str:
    readers(target)
    cases = _precise(((5,), (1,)), ((2, 3), (3, 1)), ((2, 3), (1, 2)), ((), ()))
    wrong: list[str] = []
    refused: list[str] = []
    unread: list[str] = []
    converted: set[str] = set()
    failed: set[str] = set()
    right = 0
    for title, call in each_import(target, cases, times=2):
        if call.refusal is not None:
            refused.append(f"{title}: {call.error_text}")
            continue
        try:
            change = _judge(call)
        except _Wrong as why:
            if not title.endswith(AGAIN) or title.removesuffix(AGAIN) not in failed:
                wrong.append(f"{title}: {why}")
            failed.add(title)
        except CannotRead as why:
            unread.append(f"{title}: {why}")
        else:
            right += 1
            converted |= {change} if change else set()
    if wrong:
        raise Broken(summed_up(wrong))
    if unread and not right:
        raise Skip(f"accepted, and cannot be read: {summed_up(unread)}")
    text = f"{right} right" + (f", converted: {', '.join(sorted(converted))}" if converted else "")
    text += f", {len(unread)} cannot be read: {unread[0]}" if unread else ""
    return note(target, text, refused)


def _judge(call: ConsumerCall) -> str | None:
    """Returns the conversion of a result whose values survived. Raises _Wrong and CannotRead."""
    dtype = call.producer.fields["dtype"]
    name, reported = dtypes.name(dtype), reported_dtype(call.result)
    try:
        difference = wrong_values(call)
    except CannotRead:
        # Its own methods do not read this dtype: does it at least export what it got?
        if reported == name and _is_preserved(call):
            return None
        raise
    if difference is not None and dtype[0] in samples.SMALL_FLOATS and reported == name:
        # Methods without such a dtype return its bits.
        difference = None if _is_preserved(call) else difference
    if difference is not None and reported is not None and _is_narrowed(call, name, reported):
        return f"{name} to {reported}{OTHER_VALUES}"
    if difference is not None:
        of = f", reported as {reported}" if reported not in (None, name) else ""
        raise _Wrong(difference + of)
    if reported in (None, name):
        return None
    if _bits(reported) == _bits(name):
        raise _Wrong(f"reported as {reported}")
    return f"{name} to {reported}"


def _is_narrowed(call: ConsumerCall, name: str, reported: str) -> bool:
    """Whether each value became the nearest one, or the low bits, of a narrower dtype."""
    of_kind = name.rstrip("0123456789") == reported.rstrip("0123456789")
    if not of_kind or _bits(reported) >= _bits(name):
        return False
    return same(values_of(call.target, call.result), _narrow(call.producer.values, reported))


def _narrow(values: Any, name: str) -> Any:
    """Converts numbers as a C cast does."""
    if isinstance(values, list):
        return [_narrow(each, name) for each in values]
    bits = _bits(name)
    if name.startswith("uint"):
        return values % 2**bits
    if name.startswith("int"):
        return (values + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    return elements.decode(elements.encode(values, name), name)


def _bits(name: str) -> int:
    triple = next((it for it, known in samples.READABLE.items() if known == name), None)
    return triple[1] if triple else 0


def _is_preserved(call: ConsumerCall) -> bool:
    """Whether the result exports the dtype and the bytes of the producer."""
    try:
        contents = export_of(call.result)
    except Exception:
        return False
    dtype = call.producer.fields["dtype"]
    if contents.dtype != dtype:
        return False
    size = samples.itemsize(dtype)
    content = device_memory.read(contents.first, size, contents.device)
    return content == call.producer.read(size)


def _preserved_or_refused(target: Target, cases: dict[str, Triple], *, times: int = 1) -> str:
    """Judges dtypes without values here: exported again as they came, or refused."""
    readers(target)
    fields: Cases = {
        name: {"dtype": dtype, "shape": (4,), "strides": (1,)} for name, dtype in cases.items()
    }
    wrong: list[str] = []
    refused: list[str] = []
    unknown: list[str] = []
    kept: list[str] = []
    for title, call in each_import(target, fields, times=times):
        dtype = call.producer.fields["dtype"]
        if call.refusal is not None:
            refused.append(f"{title}: {call.error_text}")
        elif (
            _is_preserved(call)
            or reported_dtype(call.result) == dtypes.name(dtype)
            or _is_pairs(target, call)
        ):
            kept.append(title)
        else:
            how = _how_it_is_read(target, call)
            (wrong if how else unknown).append(f"{title}, {dtype}{how}")
    if wrong:
        raise Broken(summed_up(wrong))
    if unknown and not kept and not refused:
        raise Skip(f"accepted, and cannot be read: {summed_up(unknown)}")
    text = f"{len(kept)} preserved"
    text += f", {len(unknown)} cannot be read: {unknown[0]}" if unknown else ""
    return note(target, text, refused)


def _is_pairs(target: Target, call: ConsumerCall) -> bool:
    """Whether lanes became another dimension."""
    code, bits, lanes = call.producer.fields["dtype"]
    element = (code, bits, 1)
    if lanes < 2 or element not in samples.READABLE:
        return False
    content = call.producer.read(4 * lanes * samples.itemsize(element))
    each = samples.itemsize(element)
    numbers = [
        samples.decode(content[i * each : (i + 1) * each], element) for i in range(4 * lanes)
    ]
    try:
        return bool(
            values_of(target, call.result)
            == [numbers[i : i + lanes] for i in range(0, 4 * lanes, lanes)]
        )
    except CannotRead:
        return False


def _how_it_is_read(target: Target, call: ConsumerCall) -> str:
    """Describes elements of another dtype; "" where nothing can be seen."""
    reported = reported_dtype(call.result)
    try:
        values: Any = values_of(target, call.result)
    except CannotRead:
        return f" is reported as {reported}" if reported else ""
    return f" is read as {reported or 'numbers'}: {short(repr(values))}"


@probe("C-12", hostile=True)
def other_dtypes_are_preserved_or_refused(target: Target) -> str:
    return _preserved_or_refused(target, OTHERS)


@probe("C-12", hostile=True)
def other_dtypes_at_one_address(target: Target) -> str:
    """A consumer that remembers an address or a type would return the dtype of the last tensor."""
    readers(target)
    for kind in kinds(target):
        content = samples.encode(samples.FLOAT32, 0, 64)
        pointer = device_memory.upload(content, device_memory.selected())
        flat: dict[str, Any] = {"pointer": pointer, "shape": (4,), "strides": (1,)}
        first = import_as(target, kind, **flat, dtype=samples.FLOAT32)
        call = import_as(target, kind, **flat, dtype=(0, 32, 1))
        first.release()
        if call.refusal is not None:
            continue
        bits = content[:16]
        expected = [samples.decode(bits[i : i + 4], (0, 32, 1)) for i in range(0, 16, 4)]
        try:
            values = values_of(target, call.result)
        except CannotRead as why:
            raise Skip(f"accepted, and cannot be read: {why}") from None
        if values != expected:
            raise Broken(
                f"{kind}, int32 at the address of a float32 tensor: expected {expected}; got"
                f" {short(repr(values))}",
                fix="Read the dtype of every import; do not remember that of an address.",
            )
    return note(target, "right", [])


@probe("C-26")
def booleans_are_accepted_where_bytes_are(target: Target) -> str | None:
    refused = []
    for kind in kinds(target):
        byte, boolean = (import_as(target, kind, dtype=(code, 8, 1)) for code in (1, 6))
        if boolean.refusal is None:
            continue
        if byte.refusal is None:
            raise Broken(f"{kind}: bool is refused, and uint8 is not: {boolean.error_text}")
        refused.append(f"{kind}: refused, and so are bytes: {boolean.error_text}")
    return note(target, "", refused).removeprefix(", ") if refused else None


@probe("C-27", hostile=True)
def small_floats_of_other_sizes_are_refused(target: Target) -> str:
    _tells_dtypes(target)
    taken, refused, kept, unknown = [], [], [], []
    cases: Cases = {
        f"{dtypes.CODES[code].name} of {bits} bits": {"dtype": (code, bits, 1)}
        for code in (15, 16, 17)
        for bits in (8, 16)
    }
    for title, call in each_import(target, cases):
        if call.refusal is not None:
            refused.append(f"{title}: {call.error_text}")
            continue
        was_lazy = call.is_lazy
        if _is_preserved(call):
            kept.append(title)
            continue
        name = reported_dtype(call.result)  # at which a lazy consumer may refuse
        if was_lazy and name is None:
            refused.append(f"{title}: {LAZY}")
        elif name is None:
            unknown.append(f"{title} was accepted, and reports no dtype")
        else:
            taken.append(f"{title} was accepted, as {name}")
    if taken:
        raise Broken(summed_up(taken))
    if unknown and not kept and not refused:
        raise Skip(summed_up(unknown))
    text = f"{len(kept)} preserved" if kept else ""
    return note(target, text, refused).removeprefix(", ")


def _tells_dtypes(target: Target) -> None:
    """Raises Skip for a library that carries bytes, and reports all tensors as such."""
    call = import_as(target, kinds(target)[0])
    plain, reported = dtypes.name(call.producer.fields["dtype"]), reported_dtype(call.result)
    if reported not in (plain, None):
        raise Skip(f"it reports {plain} as {reported} too: it tells nothing of dtypes")


NO_DTYPES: dict[str, Triple] = {
    "an unknown code": (200, 32, 1),
    "the code after the last one": (19, 8, 1),
    "no bits": (2, 0, 1),
    "33 bits": (2, 33, 1),
    "float of 8 bits": (2, 8, 1),
    "int of 24 bits": (0, 24, 1),
    "bfloat of 32 bits": (4, 32, 1),
    "complex of 16 bits": (5, 16, 1),
    "bool of 32 bits": (6, 32, 1),
    "float8_e4m3fn of 16 bits": (10, 16, 1),
    "no lanes": (2, 32, 0),
    # A consumer that rounds to the next width, or to bytes, finds one that exists.
    **{
        f"{dtypes.CODES[code].name} of {bits} bits": (code, bits, 1)
        for code, widths in {
            **dict.fromkeys((0, 1), (7, 12, 15, 31, 33, 48, 63, 96)),
            2: (7, 12, 15, 24, 31, 48, 63, 96),
            4: (8, 12, 15, 31),
            5: (24, 31, 63, 65, 96, 127),
            6: (7, 9, 16),
            **dict.fromkeys(samples.SMALL_FLOATS, (7, 9)),
        }.items()
        for bits in widths
    },
}


@probe("C-28", hostile=True)
def dtypes_that_do_not_exist(target: Target) -> str:
    return _preserved_or_refused(target, NO_DTYPES)

# SPDX-License-Identifier: BSD-3-Clause
"""Checks that compare what the protocols of one object say: dtype, shape, bounds, access."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ... import abi, devices, dtypes
from ...output import plural
from ..cases.case import Level
from ..reading.description import Description
from ..reading.observation import Observation
from ..reading.protocols import COPIES, DLPACK, TITLES
from .differences import FACETS

# The level, the sentence, the effect on consumers, the protocols, the repair.
Findings = Iterator[tuple[Level, str, str, tuple[str, ...], str]]

NOT_DLPACK = ("buffer", "array", "cuda array")
HEADER = (1, 3)  # the newest dlpack.h whose flags and devices are known here
MOST_MINOR = 99  # a higher minor version is none
INDEX_ZERO = {*devices.PINNED, devices.CUDA_MANAGED}  # and the CPU, which is a case


def exports_of(x: Observation) -> list[tuple[str, Description]]:
    """The exports that are no requested copies, with their descriptions."""
    return [
        (each.name, each.description)
        for each in x.responses
        if each.description is not None and each.name in DLPACK and each.name not in COPIES
    ]


def others_of(x: Observation) -> list[tuple[str, Description]]:
    return [
        (each.name, each.description)
        for each in x.responses
        if each.description is not None and each.name in NOT_DLPACK
    ]


def meet(one: Description, other: Description) -> bool:
    """Whether two tensors share memory."""
    if one.memory is None or other.memory is None:
        return False
    return one.memory[0] < other.memory[1] and other.memory[0] < one.memory[1]


# No protocol ------------------------------------------------------------------------------------


def no_tensor(x: Observation) -> Findings:
    if x.tensor is not None or any(each.outcome == "unreadable" for each in x.responses):
        return
    refusals = [each for each in x.responses if each.outcome == "raised" and each.name != "device"]
    if refusals:
        yield (
            "risk",
            f"No protocol gives a tensor: {refusals[0].title} raises {refusals[0].said}",
            "refused by all",
            tuple(each.name for each in refusals),
            "",
        )
    elif x.subject.is_class:
        yield (
            "defect",
            f"It is the class {x.subject.type}, and no array.",
            "refused by all",
            (),
            f"pass an array that it creates, as in {x.title or x.subject.type}(...)",
        )
    elif not any(each.outcome == "skipped" for each in x.responses):
        names = "__dlpack__, exchange table, buffer protocol and array interface"
        yield (
            "defect",
            f"It is no tensor: {x.subject.type} has none of {names}.",
            "refused by all",
            (),
            "pass an array, a tensor, a buffer or a capsule",
        )


# Exports that disagree --------------------------------------------------------------------------


def exports_disagree(x: Observation) -> Findings:
    """The ways of DLPack describe one object, so they must agree with each other."""
    exports = exports_of(x)
    for facet in ("device", "dtype", "shape", "strides"):
        read, text = FACETS[facet]
        for name, description in exports[1:]:
            first_name, first = exports[0]
            if facet == "strides" and (
                first.first != description.first or _shapes(first, description)
            ):
                continue  # a copy may have other strides
            values = read(first), read(description)
            if None not in values and values[0] != values[1]:
                yield (
                    "defect",
                    f"Exports of one object disagree: {TITLES[first_name]} gives {text(first)}, "
                    f"{TITLES[name]} gives {text(description)}.",
                    "what a consumer reads depends on how it asks",
                    (),
                    "fill both structs from the same fields",
                )
                break


def _shapes(one: Description, other: Description) -> bool:
    return one.shape != other.shape


def interfaces_disagree(x: Observation) -> Findings:
    """The buffer protocol and the array interfaces describe the same object."""
    exports = exports_of(x)
    if not exports:
        return
    name, export = exports[0]
    for other_name, other in others_of(x):
        for facet in ("dtype", "shape", "strides"):
            read, text = FACETS[facet]
            values = read(export), read(other)
            if None in values or values[0] == values[1] or _is_bool(x, export):
                continue
            if facet == "strides" and (export.shape != other.shape or export.first != other.first):
                continue
            yield (
                "defect",
                f"{TITLES[name]} gives {text(export)}, the object's {TITLES[other_name]} "
                f"{text(other)}.",
                "consumers of one of them read other values",
                (),
                "fill both descriptions from the same fields",
            )
            break


def _is_bool(x: Observation, export: Description) -> bool:
    """bool that is exported as integers is another oddity."""
    return export.dtype is not None and export.dtype[0] != dtypes.BOOL and own_is_bool(x)


def own_is_bool(x: Observation) -> bool:
    return own_dtype(x) == (dtypes.BOOL, 8, 1) or any(
        other.dtype == (dtypes.BOOL, 8, 1) for _, other in others_of(x)
    )


NAMED = {
    dtypes.name((code, bits, 1)): (code, bits, 1)
    for code, row in dtypes.CODES.items()
    for bits in (row.widths or ())
    if dtypes.is_known((code, bits, 1)) and (bits >= 8 or code in (dtypes.INT, dtypes.UINT))
}
# numpy's str(dtype), torch.float32, <dtype: 'float32'>, <class 'numpy.float32'>
OWN_DTYPE = re.compile(r"^(?:<(?:dtype: |class )')?(?:\w+\.)*(\w+?)(?:'>)?$")


def own_dtype(x: Observation) -> dtypes.Triple | None:
    """The dtype that the object's attribute names, None where the name is not one of DLPack's."""
    match = OWN_DTYPE.match(x.subject.own_dtype)
    return NAMED.get(match.group(1).rstrip("_")) if match else None


def dtype_disagrees(x: Observation) -> Findings:
    own, exports = own_dtype(x), exports_of(x)
    if own is None or not exports or _is_bool(x, exports[0][1]):
        return
    wrong = [(name, each) for name, each in exports if each.dtype != own and _has_one_lane(each)]
    if wrong:
        yield (
            "defect",
            f"The object's dtype is {x.subject.own_dtype}, its export is {wrong[0][1].dtype_text} "
            f"{wrong[0][1].dtype}.",
            "every consumer reads other values",
            tuple(name for name, _ in wrong),
            f"export {dtypes.name(own)}: {own} (code, bits, lanes)",
        )


def _has_one_lane(x: Description) -> bool:
    return x.dtype is not None and x.dtype[2] == 1


def outside_memory(x: Observation) -> Findings:
    """The buffer protocol and the array interface tell the bounds of the memory."""
    for name, export in exports_of(x):
        for other_name, other in others_of(x):
            if not meet(export, other) or export.memory is None or other.memory is None:
                continue
            before = other.memory[0] - export.memory[0]
            after = export.memory[1] - other.memory[1]
            if before <= 0 and after <= 0:
                continue
            parts = [
                f"{plural(count, 'byte')} {where}"
                for count, where in ((before, "before"), (after, "after"))
                if count > 0
            ]
            yield (
                "defect",
                f"The export reaches {' and '.join(parts)} the memory that the object's "
                f"{TITLES[other_name]} describes.",
                "consumers read and write memory of others",
                (name,),
                "let data, byte_offset, shape and strides stay within the memory of the object",
            )
            return


# Access -----------------------------------------------------------------------------------------


def copied_but_shared(x: Observation) -> Findings:
    marked = [
        name
        for name, each in exports_of(x)
        if (each.flags or 0) & abi.IS_COPIED and any(meet(each, other) for _, other in others_of(x))
    ]
    if marked and not any(sign.kind == "marked as a copy" for sign in x.signs):
        yield (
            "defect",
            "The tensor is marked as copied, but it is the memory of the object.",
            "a consumer may overwrite memory that others use",
            tuple(marked),
            "set DLPACK_FLAG_BITMASK_IS_COPIED for copies only",
        )


# Fields -----------------------------------------------------------------------------------------


def reserved_flags(x: Observation) -> Findings:
    for name, each in exports_of(x):
        version = min(each.version or HEADER, HEADER)
        reserved = abi.reserved(each.flags or 0, version)
        if reserved:
            yield (
                "risk" if each.version == version else "note",
                f"The flags {each.flags:#x} have bits that dlpack.h {version[0]}.{version[1]} "
                f"reserves: {reserved:#x}.",
                "a later version of DLPack may give them a meaning",
                (name,),
                "set flags to 0, then only the bits of dlpack.h",
            )
            return


def absurd_version(x: Observation) -> Findings:
    for name, each in exports_of(x):
        if each.version is not None and each.version[1] > MOST_MINOR:
            yield (
                "risk",
                f"The version is {each.version[0]}.{each.version[1]}, which does not exist.",
                "a consumer expects features that the struct has not",
                (name,),
                "store the version of the dlpack.h that the producer was compiled with",
            )
            return


def device_index(x: Observation) -> Findings:
    response = x.response("device")
    pairs = [] if response is None or response.device is None else [("device", response.device)]
    for name, each in exports_of(x):
        if each.device is not None:
            pairs.append((name, each.device))
    seen = set()
    for name, (type_, index) in pairs:
        if index is None or (type_, index) in seen:
            continue
        seen.add((type_, index))
        if index < 0:
            yield (
                "defect",
                f"The index of the device is {index}; expected 0 or more.",
                "consumers reject it, or use it as an index of a table",
                (name,),
                "count devices from 0",
            )
        elif index and type_ in INDEX_ZERO:
            yield (
                "risk",
                f"The device is {devices.name((type_, index))}; dlpack.h sets the index to 0 for "
                "CPU, pinned and managed memory.",
                "consumers that compare devices do not recognise it",
                (name,),
                "set device_id to 0",
            )


CHECKS = (
    no_tensor, exports_disagree, interfaces_disagree, dtype_disagrees, outside_memory,
    copied_but_shared, reserved_flags, absurd_version, device_index,
)  # fmt: skip

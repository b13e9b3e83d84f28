# SPDX-License-Identifier: BSD-3-Clause
"""The sentences of the signs that the readers report: one row for each kind."""

from __future__ import annotations

from dataclasses import dataclass

from ..cases.case import Level
from ..reading.signs import Sign


@dataclass(frozen=True)
class Fault:
    """What a sign means. The texts have the words of the sign in braces."""

    level: Level
    what: str  # what was expected, and what came
    who: str  # the effect on consumers
    repair: str  # what the author of the producer should change


FAULTS: dict[str, Fault] = {
    # Values -------------------------------------------------------------------------------------
    "values": Fault(
        "defect",
        "Element {index} is exported as {got}; expected {expected}, which {truth} gives "
        "({unequal} of {count} compared elements differ).",
        "every consumer reads other values",
        "let data, byte_offset, strides and dtype describe the memory of the object",
    ),
    "values of the interface": Fault(
        "defect",
        "Element {index} is {got}; expected {expected}, which {truth} gives ({unequal} of {count} "
        "compared elements differ).",
        "users of that protocol read other values",
        "let the address, the strides and the type describe the memory of the object",
    ),
    "conversion": Fault(
        "risk",
        "Its __array__() gives {got}, its export {export}.",
        "numpy.asarray(x) and consumers of DLPack read different arrays",
        "convert the memory that is exported, with its dtype",
    ),
    "masked": Fault(
        "risk",
        "It has masked elements, and DLPack has no mask.",
        "every consumer of DLPack reads them as numbers",
        "raise BufferError in __dlpack__ while elements are masked",
    ),
    "shape of the object": Fault(
        "defect",
        "{method} has the shape {own}, the export {export}.",
        "every consumer reads the second",
        "export the shape of the object",
    ),
    # Two exports in a row -----------------------------------------------------------------------
    "same capsule": Fault(
        "defect",
        "Two calls return the same capsule; expected a new one for each.",
        "the first consumer renames it, and the second one refuses it as used",
        "create a capsule in each call",
    ),
    "same managed tensor": Fault(
        "risk",
        "Two capsules that are alive have the same managed tensor, at {address}. Each consumer "
        "calls its deleter, which by dlpack.h deletes the managed tensor itself.",
        "the second consumer uses freed memory, unless the deleter counts",
        "allocate a managed tensor for each export",
    ),
    "refuses by turns": Fault(
        "defect",
        "Of two equal calls one succeeds and the other raises.",
        "a second consumer cannot import the object",
        "let a call leave the object as it was",
    ),
    "no destructor": Fault(
        "defect",
        "The capsule has no destructor; expected one that calls the deleter of a tensor that no "
        "consumer took.",
        "each capsule that a consumer refuses leaks",
        "pass a destructor to PyCapsule_New that calls the deleter unless the capsule is used",
    ),
    "name of the other struct": Fault(
        "defect",
        "The capsule is named {told!r}, but its memory looks like the struct of {actual!r}.",
        "every consumer reads the wrong fields",
        "name the capsule after its struct",
    ),
    "changes from call to call": Fault(
        "defect",
        "Two equal calls differ in {facet}: first {first}, then {second}.",
        "what a consumer reads depends on the calls before",
        "let an export leave the object as it was",
    ),
    "marked as a copy": Fault(
        "defect",
        "The tensor is marked as copied, but two exports share their memory; dlpack.h says of such "
        "a tensor that its consumer is the only owner.",
        "a consumer may overwrite memory that others use",
        "set DLPACK_FLAG_BITMASK_IS_COPIED for copies only",
    ),
    # Keywords -----------------------------------------------------------------------------------
    "copies the requested version": Fault(
        "risk",
        "For max_version=({version}) the struct has version {version}, which does not exist.",
        "a consumer expects features that the struct has not",
        "store the version of the dlpack.h that the producer was compiled with",
    ),
    "None differs": Fault(
        "defect",
        "{keyword}=None is the default and must change nothing; it gives {got}.",
        "consumers that pass every keyword fail",
        "handle None as if the keyword were absent",
    ),
    "refuses enum devices": Fault(
        "defect",
        "dl_device={device} is accepted, but not with a member of IntEnum as its type, as the "
        "standard declares it: {got}.",
        "refused where a consumer passes the enum",
        "convert the type of the device with int()",
    ),
    # Copies -------------------------------------------------------------------------------------
    "copy=False copies": Fault(
        "defect",
        "Two exports with copy=False have different memory, so they are copies; expected the "
        "memory of the object, or BufferError.",
        "writing to the result is lost",
        "raise BufferError where copy=False cannot be met",
    ),
    "copy=False is marked as a copy": Fault(
        "defect",
        "With copy=False the tensor is marked as copied.",
        "a consumer assumes that it is the only owner",
        "set DLPACK_FLAG_BITMASK_IS_COPIED for copies only",
    ),
    "copy=True shares memory": Fault(
        "defect",
        "copy=True returns the same memory; expected a copy, or BufferError.",
        "writing to one changes both",
        "copy the elements, or raise BufferError",
    ),
    "copies share memory": Fault(
        "defect",
        "Two copies, both alive, share their memory.",
        "writing to one changes both, although each consumer is the only owner",
        "allocate memory for each copy",
    ),
    "copy is not marked": Fault(
        "defect",
        "copy=True copies, but does not mark the tensor as copied, which the array API standard "
        "requires since 2023.12.",
        "a consumer cannot detect that it is the only owner",
        "set DLPACK_FLAG_BITMASK_IS_COPIED",
    ),
    "copy is read-only": Fault(
        "risk",
        "A copy is marked read-only, although its consumer is the only owner: unusual, permitted.",
        "consumers that need writable memory refuse it, or copy again",
        "clear DLPACK_FLAG_BITMASK_READ_ONLY in copies",
    ),
    "dl_device switches copies off": Fault(
        "defect",
        "copy=True with dl_device={device} returns the same memory; without dl_device it copies.",
        "writing to one changes both",
        "copy for copy=True also when the device is the object's own",
    ),
    # Lifetime -----------------------------------------------------------------------------------
    "leaks a reference": Fault(
        "defect",
        "After {times} exports that were dropped the object has {grown} references more.",
        "it is never freed",
        "release the reference in the deleter, and on every path that fails",
    ),
    "drops a reference": Fault(
        "defect",
        "After {times} exports that were dropped the object has {grown} references fewer.",
        "it is freed while it is in use",
        "take a reference in each export",
    ),
    "changes with its object": Fault(
        "defect",
        "When the object is deleted, its export changes: {what} was {first}, and is {second}.",
        "consumers read freed memory",
        "keep the memory, the shape and the strides alive until the deleter is called",
    ),
    "memory freed with its object": Fault(
        "defect",
        "When the object is deleted, {what} of its export can no longer be read.",
        "consumers read freed memory",
        "keep the memory, the shape and the strides alive until the deleter is called",
    ),
    "release crashes": Fault(
        "defect",
        "Dropping a capsule after its object ends the process: {how}.",
        "a consumer that outlives the object crashes",
        "let the deleter free only what belongs to the export",
    ),
}


def judged(sign: Sign) -> tuple[Level, str, str, tuple[str, ...], str]:
    """Returns the arguments of the oddity of a sign."""
    fault = FAULTS[sign.kind]
    repair = sign.words.get("repair") or fault.repair
    return fault.level, fault.what.format_map(sign.words), fault.who, sign.protocols, repair

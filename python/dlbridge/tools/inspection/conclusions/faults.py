# SPDX-License-Identifier: BSD-3-Clause
"""What a sign means: its level, and its effect on consumers."""

from __future__ import annotations

from dataclasses import dataclass

from ...conformance.rules import RULES
from ..cases.case import Level
from ..reading.signs import Sign
from .oddity import Oddity

# By the kind of a rule, unless LEVELS has it.
OF_KINDS: dict[str, Level] = {
    "unsound": "defect",
    "must": "defect",
    "should": "risk",
    "hardening": "note",
    "courtesy": "note",
}
LEVELS: dict[str, Level] = {
    # No standard demands them; consumers read other values, write where they must not, or refuse.
    **dict.fromkeys(("P-17", "P-22", "P-34", "S-04", "S-08"), "defect"),
    "P-35": "risk",  # older versions of the standard have fewer keywords
    "P-49": "risk",
}
VALUES = "every consumer reads other values"
EFFECTS = {
    "P-02": "consumers that require a pair of integers refuse it, or pass it back as dl_device",
    "P-04": "every consumer reads the wrong fields",
    "P-06": "a consumer expects features that the struct has not",
    "P-10": "JAX uses the first, others the second; PyTorch refuses",
    "P-11": "every consumer reads the second",
    "P-13": "consumers read and write memory of others",
    "P-16": VALUES,
    "P-17": "every consumer reads integers",
    "P-22": "consumers write to memory that must not change",
    "P-23": "writing to the result is lost, or reaches memory that others use",
    "P-24": "the consumer gets memory that others use, or other elements",
    "P-32": "a second consumer is refused, or uses freed memory",
    "P-33": "consumers that compare devices do not recognise it",
    "P-38": VALUES,
    "P-39": "a consumer cannot detect that it is the only owner",
    "P-40": "a consumer may overwrite memory that others use",
    "P-42": "consumers that need writable memory refuse it, or copy again",
    "P-44": "writing to one changes both, although each consumer is the only owner",
    "P-45": "refused where a consumer passes the enum",
    "P-47": "a later version of DLPack may give them a meaning",
    "P-48": "consumers that pass every keyword fail",
    "P-49": "consumers of legacy capsules may write to it",
    "P-50": "some consumers refuse it",
    "P-53": VALUES,
    "S-04": "users of that protocol read other values",
    "S-08": "what a consumer reads depends on how it asks",
    "X-01": "each capsule that a consumer refuses leaks",
    "X-07": "consumers read freed memory",
    "X-08": "objects are never freed, or are freed while they are in use",
}


@dataclass(frozen=True)
class Fault:
    """What a sign means that belongs to no rule. The texts have its words in braces."""

    level: Level
    what: str  # what was expected, and what came
    who: str  # the effect on consumers
    repair: str  # what the author of the producer should change


FAULTS: dict[str, Fault] = {
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
    "refuses by turns": Fault(
        "defect",
        "Of two equal calls one succeeds and the other raises.",
        "a second consumer cannot import the object",
        "let a call leave the object as it was",
    ),
    "changes from call to call": Fault(
        "defect",
        "Two equal calls differ in {facet}: first {first}, then {second}.",
        "what a consumer reads depends on the calls before",
        "let an export leave the object as it was",
    ),
    "shared tensor": Fault(
        "note",
        "Two capsules, both in use, have the same managed tensor.",
        "each consumer calls its deleter, which is right where it counts the capsules",
        "allocate a managed tensor for each export, or count; conformance examines it (P-32)",
    ),
    "release crashes": Fault(
        "defect",
        "Dropping a capsule after its object ends the process: {how}.",
        "a consumer that outlives the object crashes",
        "let the deleter free only what belongs to the export",
    ),
}


def level_of(rule: str) -> Level:
    """Returns the level of a violation of a rule."""
    return LEVELS.get(rule) or OF_KINDS[RULES[rule].kind]


def judged(sign: Sign) -> Oddity:
    """Returns the oddity of a sign."""
    if sign.kind in RULES:
        text = sign.words["text"]
        first = text.partition(" ")[0].rstrip(",:")
        what = f"{text[0].upper()}{text[1:]}." if first.isalpha() else f"{text}."
        repair = RULES[sign.kind].fix
        level, who, rule = level_of(sign.kind), EFFECTS.get(sign.kind, ""), sign.kind
    else:
        fault = FAULTS[sign.kind]
        what, repair = fault.what.format_map(sign.words), fault.repair
        level, who, rule = fault.level, fault.who, ""
    return Oddity(level, what, who, sign.protocols, sign.words.get("repair") or repair, rule)

# SPDX-License-Identifier: BSD-3-Clause
"""The probes of flags: read-only memory, and the bits that no version defines."""

from __future__ import annotations

from dataclasses import replace

from ... import abi
from ...marks import is_read_only
from ..helpers.exports import make, obtain, requests_of_kinds
from ..helpers.survey import judge, survey
from ..judgement import copies, flags
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target

NOT_TOLD = "no array states whether it is read-only, and the factory has no `readonly`"


@probe("P-22")
def read_only_is_marked(target: Target) -> None:
    every = survey(target)
    told = any(sample.readonly is not None for sample in every.exports())
    judge(every.versioned(), flags.read_only, "no array is read-only" if told else NOT_TOLD)


@probe("P-22", twice=True, extra=True)
def marked_without_dimensions_too(target: Target) -> None:
    """Where arrays do not tell whether they must not be written, their marks must agree."""
    arrays = [make(target, shape=shape) for shape in ((6,), ())]
    if type(arrays[0]) is not type(arrays[1]):
        raise Skip("an array without dimensions is of another type")
    if any(is_read_only(x) is not None for x in arrays):
        raise Skip("the arrays state whether they are read-only; their exports need no comparison")
    tensors = [obtain(x, **requests_of_kinds(x)[-1]).contents for x in arrays]
    if any(tensor.version is None or tensor.flags & abi.IS_COPIED for tensor in tensors):
        raise Skip("the exports have no flags, or are copies")
    marks = [bool(tensor.flags & abi.READ_ONLY) for tensor in tensors]
    if marks[0] != marks[1]:
        names = ["an array of six numbers", "one without dimensions"]
        raise Broken(f"{names[marks.index(True)]} is marked READ_ONLY, and "
                     f"{names[marks.index(False)]} is not")  # fmt: skip


@probe("P-50")
def writable_is_not_marked(target: Target) -> None:
    judge(survey(target).versioned(), flags.writable, "no array states that it is writable")


@probe("P-49")
def no_legacy_of_read_only(target: Target) -> None:
    exports = survey(target).exports()
    marked = {
        sample.array
        for sample in exports
        if sample.contents.flags & abi.READ_ONLY and flags.is_shared(sample)
    }
    must_not = [
        replace(sample, readonly=True)
        for sample in exports
        if sample.readonly or (sample.readonly is None and sample.array in marked)
    ]
    if not must_not:
        raise Skip("no array is known to be read-only")
    for sample in must_not:
        found = flags.legacy_of_read_only(sample)
        if found:
            raise Broken(f"{sample}: {found}")


@probe("P-47")
def defined_flags(target: Target) -> None:
    judge(survey(target).versioned(), flags.defined, "there are no versioned exports")


@probe("P-42")
def a_copy_may_be_written(target: Target) -> None:
    why = "no copy is exported in a versioned capsule"
    judge(survey(target).copies(), copies.writable, why)

# SPDX-License-Identifier: BSD-3-Clause
"""The probes of flags: read-only memory, and the bits that no version defines."""

from __future__ import annotations

from ... import abi
from ..helpers.exports import make, obtain, requests_of_kinds, size
from ..helpers.readings import is_readonly
from ..helpers.survey import Sample, judge, survey
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target

NOT_TOLD = "no array states whether it is read-only, and the factory has no `readonly`"


def _is_shared(sample: Sample) -> bool:
    is_copied = sample.contents.flags & abi.IS_COPIED or sample.is_silent_copy
    return bool(size(sample.contents)) and not is_copied


@probe("P-22")
def read_only_is_marked(target: Target) -> None:
    def check(sample: Sample) -> bool:
        if sample.is_copy or not sample.readonly or not _is_shared(sample):
            return False
        if not sample.contents.flags & abi.READ_ONLY:
            raise Broken(f"{sample}: the flags are {sample.contents.flags}, and the array must not "
                         "be written")  # fmt: skip
        return True

    every = survey(target)
    told = any(sample.readonly is not None for sample in every.exports())
    judge(every.versioned(), check, "no array is read-only" if told else NOT_TOLD)


@probe("P-22", twice=True, extra=True)
def marked_without_dimensions_too(target: Target) -> None:
    """Where arrays do not tell whether they must not be written, their marks must agree."""
    arrays = [make(target, shape=shape) for shape in ((6,), ())]
    if type(arrays[0]) is not type(arrays[1]):
        raise Skip("an array without dimensions is of another type")
    if any(is_readonly(x) is not None for x in arrays):
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
    def check(sample: Sample) -> bool:
        if sample.is_copy or sample.readonly is not False or not _is_shared(sample):
            return False
        if sample.contents.flags & abi.READ_ONLY:
            raise Broken(f"{sample}: the array is writable, and its capsule is marked READ_ONLY")
        return True

    judge(survey(target).versioned(), check, "no array states that it is writable")


@probe("P-49")
def no_legacy_of_read_only(target: Target) -> None:
    every = survey(target)
    must_not = {sample.array for sample in every.exports() if sample.readonly}
    must_not |= {
        sample.array
        for sample in every.exports()
        if sample.readonly is None and sample.contents.flags & abi.READ_ONLY and _is_shared(sample)
    }
    for sample in every.exports():
        if sample.array in must_not and sample.contents.version is None and _is_shared(sample):
            raise Broken(f"{sample}: read-only memory in a legacy capsule, which has no flags")
    if not must_not:
        raise Skip("no array is known to be read-only")


@probe("P-47")
def defined_flags(target: Target) -> None:
    def check(sample: Sample) -> bool:
        flags, version = sample.contents.flags, sample.contents.version
        assert version is not None
        reserved = abi.reserved(flags, version)
        if reserved:
            raise Broken(f"{sample}: the flags are {flags:#x}; version {version} does not define "
                         f"{reserved:#x}")  # fmt: skip
        return True

    judge(survey(target).versioned(), check, "there are no versioned exports")


@probe("P-42")
def a_copy_may_be_written(target: Target) -> None:
    def check(sample: Sample) -> bool:
        if not sample.is_copy or sample.shares:
            return False
        if sample.contents.flags & abi.READ_ONLY:
            raise Broken(f"{sample}: the flags of the copy are {sample.contents.flags}")
        return True

    every = survey(target)
    every.copies()
    judge(every.versioned(), check, "no copy is exported in a versioned capsule")

# SPDX-License-Identifier: BSD-3-Clause
"""The rules of flags: read-only memory, and the bits that no version defines."""

from __future__ import annotations

from ... import abi
from ..helpers.exports import size
from ..helpers.survey import Sample
from .verdict import HOLDS, Verdict


def is_shared(sample: Sample) -> bool:
    """Whether an export has elements, and is no copy as far as that is known."""
    is_copied = sample.contents.flags & abi.IS_COPIED or sample.is_silent_copy
    return bool(size(sample.contents)) and not is_copied


def read_only(sample: Sample) -> Verdict:
    if sample.contents.version is None or sample.is_copy:
        return None
    if not sample.readonly or not is_shared(sample):
        return None
    if not sample.contents.flags & abi.READ_ONLY:
        by = f": it is read-only by its {sample.protected_by}" if sample.protected_by else ""
        return f"the flags are {sample.contents.flags}, and the array must not be written{by}"
    return HOLDS


def writable(sample: Sample) -> Verdict:
    if sample.contents.version is None or sample.is_copy:
        return None
    if sample.readonly is not False or not is_shared(sample):
        return None
    if sample.contents.flags & abi.READ_ONLY:
        return "the array is writable, and its capsule is marked READ_ONLY"
    return HOLDS


def legacy_of_read_only(sample: Sample) -> Verdict:
    if sample.is_copy or not sample.readonly or not is_shared(sample):
        return None
    if sample.contents.version is None:
        return "it is read-only memory in a legacy capsule, which has no flags"
    return HOLDS


def defined(sample: Sample) -> Verdict:
    flags, version = sample.contents.flags, sample.contents.version
    if version is None:
        return None
    reserved = abi.reserved(flags, version)
    if reserved:
        return (
            f"the flags are {flags:#x}; version {version[0]}.{version[1]} does not define "
            f"{reserved:#x}"
        )
    return HOLDS

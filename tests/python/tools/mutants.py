"""The defects that are planted in the small library, and the rule that each of them violates.

The variable DLBRIDGE_MUTANT names the planted defect, also in the child processes of a tool.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """One incorrect behaviour."""

    name: str
    rule: str  # whose probes must detect it
    text: str
    also: tuple[str, ...] = ()  # other rules of severity F that it necessarily violates


PRODUCER = [
    Defect("no_device_method", "P-01", "__dlpack_device__ is missing"),
    Defect("device_is_a_number", "P-02", "__dlpack_device__() returns 1 and no pair"),
    Defect("versioned_only", "P-03", "a bare call is refused", ("P-28",)),
    Defect("versioned_to_bare", "P-04", "a bare call returns a versioned capsule"),
    Defect("wrong_name", "P-04", "the capsule is named dltensor_v1", ("P-06",)),
    Defect("legacy_only", "P-05", "max_version is accepted and ignored"),
    Defect("major_of_request", "P-06", "the header has the requested major version"),
    Defect("positional_stream", "P-07", "a positional stream is ignored"),
    Defect("unknown_keywords", "P-08", "unknown keywords are ignored"),
    Defect("any_max_version", "P-09", "max_version is not checked"),
    Defect("other_device", "P-10", "the device of the capsule differs from that of the object"),
    Defect(
        "shape_freed_early",
        "P-11",
        "the shape is read after it was freed",
        ("P-13", "P-19", "P-24", "S-04"),
    ),
    Defect("null_strides", "P-12", "the strides of a versioned tensor are NULL"),
    Defect(
        "strides_in_bytes",
        "P-13",
        "the strides count bytes",
        ("P-24", "X-03", "X-07", "X-11", "S-04"),
    ),
    Defect("odd_offset", "P-14", "the byte offset is no multiple of the element"),
    Defect("no_bits", "P-16", "bits is 0"),
    Defect("half_complex", "P-16", "complex numbers have the bits of one part"),
    Defect("bool_as_uint8", "P-17", "bool is exported as an unsigned integer"),
    Defect("size_0_raises", "P-19", "an empty array raises ZeroDivisionError", ("P-11", "X-08")),
    Defect("rank_0_as_vector", "P-20", "an array without dimensions gets one"),
    Defect("read_only_dropped", "P-22", "READ_ONLY is not set, and legacy not refused", ("C-13",)),
    Defect("copy_false_copies", "P-23", "copy=False copies"),
    Defect("copy_true_shares", "P-24", "copy=True exports the same memory, marked as a copy"),
    Defect("is_copied_missing", "P-24", "a copy is not marked"),
    Defect("copy_by_truth", "P-25", "copy='yes' counts as True"),
    Defect("device_ignored", "P-26", "dl_device is ignored"),
    Defect("stream_none_refused", "P-28", "an explicit stream=None is refused"),
    Defect("type_error", "P-30", "an impossible export raises TypeError"),
    Defect("one_capsule", "P-32", "every export returns the same capsule"),
    Defect("destructor_leaks", "X-01", "a capsule that was not consumed is not freed", ("X-08",)),
    Defect(
        "destructor_frees_twice",
        "X-01",
        "a capsule that was not consumed is freed twice",
        ("X-08",),
    ),
    Defect("destructor_clobbers", "X-02", "the destructor clears a pending exception"),
    Defect("destructor_blind", "X-03", "the destructor does not check the name", ("X-01", "X-08")),
    Defect(
        "deleter_needs_gil",
        "X-04",
        "the deleter requires the GIL",
        ("P-32", "X-01", "X-03", "X-05", "X-07", "X-08", "X-10", "X-12"),
    ),
    Defect("deleter_needs_python", "X-05", "the deleter is a Python function"),
    Defect("source_not_kept", "X-07", "the memory is freed with the array", ("P-24",)),
    Defect("leaks", "X-08", "the deleter frees the struct only", ("X-01",)),
    Defect("pickles_addresses", "X-11", "a pickle contains the address"),
]

CONSUMER = [
    Defect("no_legacy", "C-01", "legacy capsules are refused", ("C-03",)),
    Defect("no_versioned", "C-01", "versioned capsules are refused", ("X-06", "X-09")),
    Defect("never_asks_version", "C-02", "no max_version is passed"),
    Defect("any_error_retries", "C-02", "BufferError leads to the fallback too"),
    Defect("copy_dropped", "C-02", "copy=False is dropped in the fallback"),
    Defect("name_unread", "C-03", "the request determines the struct, not the name", ("C-07",)),
    Defect("major_ignored", "C-04", "major version 2 is read as 1"),
    Defect("major_leaks", "C-04", "major version 2 is refused and never freed"),
    Defect("minor_refused", "C-05", "a newer minor version is refused"),
    Defect("flags_refused", "C-05", "unknown flags are refused"),
    Defect("used_accepted", "C-06", "a used capsule is consumed again", ("X-09", "X-10")),
    Defect("non_capsule_read", "C-06", "another object is read as a capsule"),
    Defect(
        "not_renamed",
        "C-07",
        "the capsule is not renamed, and frees the tensor too",
        ("X-08", "X-09", "X-10", "X-12"),
    ),
    Defect("renamed_early", "C-07", "a refused capsule is renamed and never freed", ("C-04",)),
    Defect("freed_early", "C-07", "the deleter is called while the memory is in use"),
    Defect("never_freed", "C-07", "the deleter is never called", ("C-04",)),
    Defect("null_strides_read", "C-08", "NULL strides are read", ("C-09",)),
    Defect("offset_ignored", "C-09", "byte_offset is ignored"),
    Defect("offset_in_elements", "C-09", "byte_offset counts elements"),
    Defect("negative_as_positive", "C-10", "negative strides count forwards"),
    Defect("zero_as_one", "C-10", "a stride of 0 counts as 1"),
    Defect("ndim_unchecked", "C-11", "ndim is not checked"),
    Defect("extents_unchecked", "C-11", "negative extents are not checked"),
    Defect("overflow_unchecked", "C-11", "the number of elements overflows"),
    Defect("lanes_ignored", "C-12", "lanes are ignored"),
    Defect("code_ignored", "C-12", "an unknown code counts as float"),
    Defect("read_only_ignored", "C-13", "READ_ONLY is ignored"),
    Defect("device_ignored_on_import", "C-14", "memory of a device is read"),
    Defect("rounds_down", "C-15", "the address is rounded down to its alignment"),
    Defect("null_refused", "C-16", "an empty tensor with NULL data is refused"),
    Defect("null_deleter_called", "X-06", "a NULL deleter is called"),
    Defect("racing", "X-09", "a capsule's name is compared and changed in two steps"),
    Defect("stream_sent", "S-02", "stream=-1 is passed to every producer"),
]

DEFECTS = {defect.name: defect for defect in [*PRODUCER, *CONSUMER]}

_planted = os.environ.get("DLBRIDGE_MUTANT", "")
if _planted and _planted not in DEFECTS:
    raise KeyError(f"DLBRIDGE_MUTANT names no defect: {_planted}")


def planted(name: str) -> bool:
    """Whether this process has the defect."""
    assert name in DEFECTS, name
    return name == _planted

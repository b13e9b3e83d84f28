# SPDX-License-Identifier: BSD-3-Clause
"""Defects in how __dlpack__ and __dlpack_device__ answer a request."""

from __future__ import annotations

import threading
import time
from enum import Enum
from typing import Any, Callable

from planted import native, producer
from planted.array import Array
from planted.planting import change, defect, instead_of
from planted.spoiling import request, spoil

# The methods -------------------------------------------------------------------------------------


@defect("P-01", known=True)
def no_device_method() -> None:
    """__dlpack_device__ is missing."""
    del Array.__dlpack_device__


@defect("P-02", known=True)
def device_is_a_number() -> None:
    """__dlpack_device__() returns 1 and no pair."""
    change(Array, "__dlpack_device__", lambda original, self: 1)


@defect("P-02")
def device_is_a_list() -> None:
    """__dlpack_device__() returns a list and no tuple."""
    change(Array, "__dlpack_device__", lambda original, self: [1, 0])


@defect("P-02")
def device_pair_of_floats() -> None:
    """__dlpack_device__() returns (1.0, 0.0)."""
    change(Array, "__dlpack_device__", lambda original, self: (1.0, 0.0))


@defect("P-02")
def device_without_index() -> None:
    """__dlpack_device__() returns (1, None), as the CPU has no index."""
    change(Array, "__dlpack_device__", lambda original, self: (1, None))


@defect("P-33")
def device_index_of_a_socket() -> None:
    """The memory of the host has the device index 1, in the method and in the capsules."""
    producer.CPU = (1, 1)


@defect("P-37")
def announced_as_pinned() -> None:
    """__dlpack_device__() says pinned memory, and the capsules say CPU."""
    change(Array, "__dlpack_device__", lambda original, self: (3, 0))
    change(producer, "check_device", lambda original, wanted: wanted == (3, 0) or original(wanted))


@defect("P-35")
def no_keyword_dl_device() -> None:
    """__dlpack__ has no keyword dl_device."""
    whole = Array.__dlpack__

    def without(
        self: Array, *, stream: Any = None, max_version: Any = None, copy: Any = None
    ) -> Any:
        return whole(self, stream=stream, max_version=max_version, copy=copy)

    Array.__dlpack__ = without  # type: ignore[method-assign, assignment]


@defect("P-07", known=True)
def positional_stream() -> None:
    """A positional stream is ignored, whatever it is."""
    change(Array, "__dlpack__", lambda original, self, *lost, **words: original(self, **words))


@defect("P-08", known=True)
@instead_of(Array, "__dlpack__")
def unknown_keywords(original: Any, self: Array, **words: Any) -> Any:
    """Unknown keywords are ignored."""
    known = ("stream", "max_version", "dl_device", "copy")
    return original(self, **{name: words[name] for name in known if name in words})


# What is returned --------------------------------------------------------------------------------


@defect("P-03", known=True)
@instead_of(producer, "wants_versioned")
def bare_call_raises(original: Any, wanted: Any) -> Any:
    """A call without max_version raises RuntimeError."""
    if wanted is None:
        raise RuntimeError("max_version is required")
    return original(wanted)


@defect("P-03")
@instead_of(producer, "enclose")
def bare_call_returns_an_address(original: Any, export: Any) -> Any:
    """A call without max_version returns the address of the struct, and no capsule."""
    return original(export) if export.versioned else export.address


@defect("P-03")
@instead_of(producer, "enclose")
def bare_call_returns_none_for_views(original: Any, export: Any) -> Any:
    """The legacy export of a view returns None."""
    return original(export) if export.versioned or export.array.base is None else None


@defect("P-34", known=True)
def versioned_to_bare() -> None:
    """A call without max_version returns a versioned capsule."""
    change(producer, "wants_versioned", lambda original, wanted: wanted is None or original(wanted))


@defect("P-34")
def versioned_to_version_0() -> None:
    """max_version=(0, 8) returns a versioned capsule."""
    change(producer, "wants_versioned", lambda original, wanted: wanted is not None)


@defect("P-34")
@instead_of(producer, "wants_versioned")
def version_0_is_an_attribute_error(original: Any, wanted: Any) -> Any:
    """max_version=(0, 8) raises AttributeError."""
    if not original(wanted) and wanted is not None:
        raise AttributeError("there is no function of DLPack 0")
    return original(wanted)


@defect("P-04", known=True)
def wrong_name() -> None:
    """The versioned capsule is named dltensor_v1."""
    _rename(versioned=b"dltensor_v1")


@defect("P-04")
def used_name() -> None:
    """The legacy capsule is born with the name used_dltensor."""
    _rename(legacy=b"used_dltensor")


@defect("P-04", "*")
def versioned_struct_in_a_legacy_name() -> None:
    """The versioned capsule is named dltensor, and a consumer reads it as the legacy struct."""
    _rename(versioned=native.LEGACY)


def _rename(legacy: bytes = native.LEGACY, versioned: bytes = native.VERSIONED) -> None:
    def enclose(original: Any, export: producer.Export) -> Any:
        name = versioned if export.versioned else legacy  # which this function keeps
        return native.new_capsule(export.address, name, producer.destructor(export))

    change(producer, "enclose", enclose)


@defect("P-05", known=True)
def legacy_only() -> None:
    """max_version is accepted and ignored: every capsule is a legacy one."""
    change(producer, "wants_versioned", lambda original, wanted: False)


@defect("P-05")
@instead_of(producer, "wants_versioned")
def versioned_from_the_own_version_on(original: Any, wanted: Any) -> Any:
    """max_version=(1, 0) returns a legacy capsule, as the library writes version 1.3."""
    return original(wanted) and tuple(wanted) >= producer.VERSION


@defect("P-09", known=True)
@instead_of(producer, "wants_versioned")
def any_max_version(original: Any, wanted: Any) -> Any:
    """max_version is not checked: "1.0" and 1 count as version 1."""
    try:
        return original(wanted)
    except TypeError:
        return True


@defect("P-36")
@instead_of(producer, "wants_versioned")
def newer_max_version_refused(original: Any, wanted: Any) -> Any:
    """max_version=(2, 0) raises BufferError, although the consumer also understands 1.x."""
    if wanted is not None and wanted[0] > 1:
        raise BufferError(f"expected max_version 1.x; got {wanted}")
    return original(wanted)


@defect("P-36")
@instead_of(producer, "wants_versioned")
def newer_minor_refused(original: Any, wanted: Any) -> Any:
    """max_version=(1, 99) raises ValueError."""
    if wanted is not None and tuple(wanted) > producer.VERSION:
        raise ValueError(f"expected max_version up to {producer.VERSION}; got {wanted}")
    return original(wanted)


@defect("P-06")
def minor_of_request() -> None:
    """The header has the requested minor version, such as 1.99."""
    words = request()

    def version(original: Any) -> Any:
        return (1, words["max_version"][1]) if words else original()

    change(producer, "version", version)


@defect("P-06")
def version_before_1() -> None:
    """The header of the versioned struct says 0.8."""
    producer.VERSION = (0, 8)


@defect("P-06")
def minor_is_a_date() -> None:
    """The minor version in the header is 20250117."""
    producer.VERSION = (1, 20250117)


# Keywords ----------------------------------------------------------------------------------------


@defect("P-25", known=True)
@instead_of(producer, "dlpack")
def copy_by_truth(original: Any, array: Array, *, copy: Any = None, **words: Any) -> Any:
    """copy="yes" counts as True."""
    return original(array, copy=None if copy is None else bool(copy), **words)


@defect("P-48")
def max_version_none_refused() -> None:
    """max_version=None raises TypeError; leaving it out does not."""
    _refuse_explicit_none("max_version")


@defect("P-48")
def dl_device_none_refused() -> None:
    """dl_device=None raises TypeError; leaving it out does not."""
    _refuse_explicit_none("dl_device")


@defect("P-48")
def copy_none_refused() -> None:
    """copy=None raises ValueError; leaving it out does not."""
    _refuse_explicit_none("copy", ValueError)


@defect("P-28", "P-48", known=True)
def stream_none_refused() -> None:
    """stream=None raises ValueError; leaving it out does not."""
    _refuse_explicit_none("stream", ValueError)


def _refuse_explicit_none(keyword: str, error: type[Exception] = TypeError) -> None:
    def method(original: Any, self: Array, **words: Any) -> Any:
        if keyword in words and words[keyword] is None:
            raise error(f"{keyword} is None")
        return original(self, **words)

    change(Array, "__dlpack__", method)


@defect("P-48", "P-44", "P-23")
@instead_of(Array, "__dlpack__")
def copy_none_copies(original: Any, self: Array, **words: Any) -> Any:
    """copy=None, given explicitly, copies; leaving it out does not."""
    if "copy" in words and words["copy"] is None:
        words["copy"] = True
    return original(self, **words)


@defect("P-26", known=True)
def device_ignored() -> None:
    """dl_device is ignored: a request for CUDA returns memory of the CPU."""
    change(producer, "check_device", lambda original, wanted: None)


@defect("P-26")
def device_relabelled() -> None:
    """A request for CUDA returns memory of the CPU that is marked as memory of CUDA."""
    words = request()

    def mark(export: producer.Export, tensor: Any) -> None:
        tensor.device.type = int((words.get("dl_device") or producer.CPU)[0])

    change(producer, "check_device", lambda original, wanted: None)
    spoil(mark)


@defect("P-26")
@instead_of(producer, "check_device")
def other_device_raises_value_error(original: Any, wanted: Any) -> None:
    """dl_device of a GPU raises ValueError and not BufferError."""
    try:
        original(wanted)
    except BufferError as refusal:
        raise ValueError(*refusal.args) from None


@defect("P-45")
@instead_of(producer, "check_device")
def enum_devices_refused(original: Any, wanted: Any) -> None:
    """dl_device=(IntEnum member, 0) raises BufferError, as the types are compared."""
    if wanted is not None and isinstance(wanted[0], Enum):
        raise BufferError(f"unknown device {wanted}")
    original(wanted)


@defect("P-45")
@instead_of(producer, "check_device")
def enum_devices_raise_type_error(original: Any, wanted: Any) -> None:
    """dl_device=(IntEnum member, 0) raises TypeError, as only int itself is accepted."""
    if wanted is not None and {type(each) for each in wanted} != {int}:
        raise TypeError(f"expected integers; got {wanted}")
    original(wanted)


@defect("P-27")
@instead_of(producer, "check_device")
def own_device_refused(original: Any, wanted: Any) -> None:
    """Every dl_device raises BufferError, also the pair of __dlpack_device__()."""
    if wanted is not None:
        raise BufferError("dl_device is not supported")


@defect("P-51")
@instead_of(producer, "check_device")
def device_of_any_form(original: Any, wanted: Any) -> None:
    """dl_device="cpu" and dl_device=1 are accepted."""
    if isinstance(wanted, tuple) and len(wanted) == 2:
        original(wanted)


# Refusals and threads ----------------------------------------------------------------------------


@defect("P-30", known=True)
@instead_of(producer, "check_content")
def type_error_for_content(original: Any, array: Array, versioned: bool, copied: bool) -> None:
    """An export that DLPack cannot describe raises TypeError and not BufferError."""
    try:
        original(array, versioned, copied)
    except BufferError as refusal:
        raise TypeError(*refusal.args) from None


@defect("P-30")
@instead_of(producer, "check_content")
def key_error_for_an_element_type(
    original: Any, array: Array, versioned: bool, copied: bool
) -> None:
    """The export of an element type that DLPack does not have raises KeyError."""
    if array.kind.code is None:
        raise KeyError(array.dtype)
    original(array, versioned, copied)


@defect("P-43")
@instead_of(producer, "dlpack")
def copy_to_the_cpu_raises_value_error(original: Any, array: Array, **words: Any) -> Any:
    """copy=True together with dl_device raises ValueError."""
    if words["copy"] and words["dl_device"] is not None:
        raise ValueError("copy and dl_device exclude each other")
    return original(array, **words)


@defect("P-31")
def state_of_the_first_thread() -> None:
    """__dlpack__ raises RuntimeError on a thread that has not imported the library."""
    state = threading.local()
    state.is_ready = True

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        if not getattr(state, "is_ready", False):
            raise RuntimeError("no context is current on this thread")
        return original(array, **words)

    change(producer, "dlpack", dlpack)


def _one_capsule(is_shared: Callable[[], bool]) -> None:
    """Returns the last capsule again for the same request, where a condition holds."""
    last: dict[Any, Any] = {}

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        nonlocal last
        key = (id(array), tuple(map(repr, words.items())))
        if not is_shared():
            return original(array, **words)
        if key not in last:
            last = {key: original(array, **words)}
        return last[key]

    change(producer, "dlpack", dlpack)


@defect("P-32", known=True)
def one_capsule() -> None:
    """Every export of an array returns the same capsule."""
    _one_capsule(lambda: True)


@defect("P-32")
def one_capsule_for_other_threads() -> None:
    """A capsule is kept for the other threads: all but the main one get the same."""
    _one_capsule(lambda: threading.current_thread() is not threading.main_thread())


@defect("P-03", "P-32", "P-26")
@instead_of(producer, "dlpack")
def exported_once(original: Any, array: Array, **words: Any) -> Any:
    """The second export of an array raises RuntimeError."""
    if getattr(array, "is_exported", False):
        raise RuntimeError("the array was already exported")
    result = original(array, **words)
    array.is_exported = True  # type: ignore[attr-defined]
    return result


@defect("P-32", "X-01", "X-03", "X-07", "X-08")
def one_struct_for_two_capsules() -> None:
    """Capsules of one array hold one managed tensor, which the first consumer frees for all."""
    kept: dict[int, Any] = {}

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        key = id(array) * 2 + versioned
        if copied or array.base is not None:
            return original(array, versioned, copied)
        if key not in kept:
            kept[key] = original(array, versioned, copied)
        return kept[key]

    def free(address: int) -> None:
        for key in [key for key, export in kept.items() if export.address == address]:
            kept.pop(key).managed.tensor.data = 8

    delete = native.Deleter(free)
    change(producer, "build", build)
    change(producer, "deleter", lambda original, export: native.address_of(delete))


@defect("P-32")
def arrays_share_a_variable() -> None:
    """An export keeps its array in a global variable, which another thread may replace."""
    current: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        current[:] = [array]
        time.sleep(1e-5)
        return original(current[0], versioned, copied)

    change(producer, "build", build)


@defect("P-32")
def shapes_share_a_variable() -> None:
    """An export keeps the shape in a global variable, which another thread may replace."""
    current: list[tuple[int, ...]] = []

    def fill(original: Any, export: producer.Export) -> None:
        current[:] = [export.array.shape]
        time.sleep(1e-5)
        original(export)
        if len(current[0]) == export.array.ndim:
            producer.write(export.managed.tensor.shape, current[0])

    change(producer, "fill", fill)

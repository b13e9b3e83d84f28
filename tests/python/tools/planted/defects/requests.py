# SPDX-License-Identifier: BSD-3-Clause
"""Defects in how __dlpack__ and __dlpack_device__ answer a request."""

from __future__ import annotations

import threading
from enum import Enum
from typing import Any

from planted import native, producer
from planted.array import Array
from planted.planting import change, defect

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
def device_pair_of_text() -> None:
    """__dlpack_device__() returns the name of the device: ("cpu", 0)."""
    change(Array, "__dlpack_device__", lambda original, self: ("cpu", 0))


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

    def check_device(original: Any, wanted: Any) -> None:
        if wanted != (3, 0):
            original(wanted)

    change(producer, "check_device", check_device)


@defect("P-35")
def signature_of_2022() -> None:
    """__dlpack__ has the keyword stream alone, as the array API 2022.12 had it."""
    whole = Array.__dlpack__

    def of_2022(self: Array, *, stream: Any = None) -> Any:
        return whole(self, stream=stream)

    Array.__dlpack__ = of_2022  # type: ignore[method-assign, assignment]


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
def unknown_keywords() -> None:
    """Unknown keywords are ignored."""
    known = ("stream", "max_version", "dl_device", "copy")

    def tolerant(original: Any, self: Array, **words: Any) -> Any:
        return original(self, **{name: words[name] for name in known if name in words})

    change(Array, "__dlpack__", tolerant)


# What is returned --------------------------------------------------------------------------------


@defect("P-03", known=True)
def bare_call_raises() -> None:
    """A call without max_version raises RuntimeError."""

    def wants_versioned(original: Any, wanted: Any) -> bool:
        if wanted is None:
            raise RuntimeError("max_version is required")
        return bool(original(wanted))

    change(producer, "wants_versioned", wants_versioned)


@defect("P-03")
def bare_call_returns_an_address() -> None:
    """A call without max_version returns the address of the struct, and no capsule."""
    change(
        producer,
        "enclose",
        lambda original, export: original(export) if export.versioned else export.address,
    )


@defect("P-03")
def bare_call_returns_none_for_views() -> None:
    """The legacy export of a view returns None."""
    change(
        producer,
        "enclose",
        lambda original, export: (
            original(export) if export.versioned or export.array.base is None else None
        ),
    )


@defect("P-34", known=True)
def versioned_to_bare() -> None:
    """A call without max_version returns a versioned capsule."""
    change(
        producer,
        "wants_versioned",
        lambda original, wanted: wanted is None or original(wanted),
    )


@defect("P-34")
def versioned_to_version_0() -> None:
    """max_version=(0, 8) returns a versioned capsule."""
    change(producer, "wants_versioned", lambda original, wanted: wanted is not None)


@defect("P-34")
def version_0_is_an_attribute_error() -> None:
    """max_version=(0, 8) raises AttributeError."""

    def wants_versioned(original: Any, wanted: Any) -> bool:
        if not original(wanted) and wanted is not None:
            raise AttributeError("there is no function of DLPack 0")
        return bool(original(wanted))

    change(producer, "wants_versioned", wants_versioned)


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
    _keep_names.extend((legacy, versioned))  # a capsule does not copy its name

    def enclose(original: Any, export: producer.Export) -> Any:
        name = _keep_names[1] if export.versioned else _keep_names[0]
        return native.new_capsule(export.address, name, producer.destructor(export))

    change(producer, "enclose", enclose)


_keep_names: list[bytes] = []


@defect("P-05", known=True)
def legacy_only() -> None:
    """max_version is accepted and ignored: every capsule is a legacy one."""
    change(producer, "wants_versioned", lambda original, wanted: False)


@defect("P-05")
def versioned_from_the_own_version_on() -> None:
    """max_version=(1, 0) returns a legacy capsule, as the library writes version 1.3."""
    change(
        producer,
        "wants_versioned",
        lambda original, wanted: original(wanted) and tuple(wanted) >= producer.VERSION,
    )


@defect("P-09", known=True)
def any_max_version() -> None:
    """max_version is not checked: "1.0" and 1 count as version 1."""

    def wants_versioned(original: Any, wanted: Any) -> bool:
        try:
            return bool(original(wanted))
        except TypeError:
            return True

    change(producer, "wants_versioned", wants_versioned)


@defect("P-36")
def newer_max_version_refused() -> None:
    """max_version=(2, 0) raises BufferError, although the consumer also understands 1.x."""

    def wants_versioned(original: Any, wanted: Any) -> bool:
        if wanted is not None and wanted[0] > 1:
            raise BufferError(f"expected max_version 1.x; got {wanted}")
        return bool(original(wanted))

    change(producer, "wants_versioned", wants_versioned)


@defect("P-36")
def newer_minor_refused() -> None:
    """max_version=(1, 99) raises ValueError."""

    def wants_versioned(original: Any, wanted: Any) -> bool:
        if wanted is not None and tuple(wanted) > producer.VERSION:
            raise ValueError(f"expected max_version up to {producer.VERSION}; got {wanted}")
        return bool(original(wanted))

    change(producer, "wants_versioned", wants_versioned)


@defect("P-06", known=True)
def major_of_request() -> None:
    """The header has the requested major version."""
    _version_of_request(lambda wanted: (wanted[0], 0))


@defect("P-06")
def minor_of_request() -> None:
    """The header has the requested minor version, such as 1.99."""
    _version_of_request(lambda wanted: (1, wanted[1]))


def _version_of_request(version: Any) -> None:
    requests = [(1, 0)]

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        requests.append(words["max_version"] or (1, 0))
        return original(array, **words)

    change(producer, "dlpack", dlpack)
    change(producer, "version", lambda original: version(requests[-1]))


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
def copy_by_truth() -> None:
    """copy="yes" counts as True."""

    def dlpack(original: Any, array: Array, *, copy: Any = None, **words: Any) -> Any:
        return original(array, copy=None if copy is None else bool(copy), **words)

    change(producer, "dlpack", dlpack)


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
def copy_none_copies() -> None:
    """copy=None, given explicitly, copies; leaving it out does not."""

    def method(original: Any, self: Array, **words: Any) -> Any:
        if "copy" in words and words["copy"] is None:
            words["copy"] = True
        return original(self, **words)

    change(Array, "__dlpack__", method)


@defect("P-26", known=True)
def device_ignored() -> None:
    """dl_device is ignored: a request for CUDA returns memory of the CPU."""
    change(producer, "check_device", lambda original, wanted: None)


@defect("P-26")
def device_relabelled() -> None:
    """A request for CUDA returns memory of the CPU that is marked as memory of CUDA."""
    requests = [producer.CPU]

    def check_device(original: Any, wanted: Any) -> None:
        requests.append(wanted or producer.CPU)

    def fill(original: Any, export: producer.Export) -> None:
        original(export)
        export.managed.tensor.device.type = int(requests[-1][0])

    change(producer, "check_device", check_device)
    change(producer, "fill", fill)


@defect("P-26")
def other_device_raises_value_error() -> None:
    """dl_device of a GPU raises ValueError and not BufferError."""
    _refuse_devices_with(ValueError)


@defect("P-26")
def other_device_raises_runtime_error() -> None:
    """dl_device of a GPU raises RuntimeError and not BufferError."""
    _refuse_devices_with(RuntimeError)


def _refuse_devices_with(error: type[Exception]) -> None:
    def check_device(original: Any, wanted: Any) -> None:
        try:
            original(wanted)
        except BufferError as refusal:
            raise error(*refusal.args) from None

    change(producer, "check_device", check_device)


@defect("P-45")
def enum_devices_refused() -> None:
    """dl_device=(IntEnum member, 0) raises BufferError, as the types are compared."""

    def check_device(original: Any, wanted: Any) -> None:
        if wanted is not None and isinstance(wanted[0], Enum):
            raise BufferError(f"unknown device {wanted}")
        original(wanted)

    change(producer, "check_device", check_device)


@defect("P-45")
def enum_devices_raise_type_error() -> None:
    """dl_device=(IntEnum member, 0) raises TypeError, as only int itself is accepted."""

    def check_device(original: Any, wanted: Any) -> None:
        if wanted is not None and {type(each) for each in wanted} != {int}:
            raise TypeError(f"expected integers; got {wanted}")
        original(wanted)

    change(producer, "check_device", check_device)


@defect("P-27")
def own_device_refused() -> None:
    """Every dl_device raises BufferError, also the pair of __dlpack_device__()."""

    def check_device(original: Any, wanted: Any) -> None:
        if wanted is not None:
            raise BufferError("dl_device is not supported")

    change(producer, "check_device", check_device)


@defect("P-51")
def device_of_any_form() -> None:
    """dl_device="cpu" and dl_device=1 are accepted."""

    def check_device(original: Any, wanted: Any) -> None:
        if isinstance(wanted, tuple) and len(wanted) == 2:
            original(wanted)

    change(producer, "check_device", check_device)


# Refusals and threads ----------------------------------------------------------------------------


@defect("P-30", known=True)
def type_error_for_content() -> None:
    """An export that DLPack cannot describe raises TypeError and not BufferError."""

    def check_content(original: Any, array: Array, versioned: bool, copied: bool) -> None:
        try:
            original(array, versioned, copied)
        except BufferError as refusal:
            raise TypeError(*refusal.args) from None

    change(producer, "check_content", check_content)


@defect("P-30")
def key_error_for_an_element_type() -> None:
    """The export of an element type that DLPack does not have raises KeyError."""

    def check_content(original: Any, array: Array, versioned: bool, copied: bool) -> None:
        if array.kind.code is None:
            raise KeyError(array.dtype)
        original(array, versioned, copied)

    change(producer, "check_content", check_content)


@defect("P-43")
def copy_raises_not_implemented() -> None:
    """copy=True raises NotImplementedError and not BufferError."""

    def check_copy(original: Any, copy: Any) -> None:
        original(copy)
        if copy:
            raise NotImplementedError("copies are not supported")

    change(producer, "check_copy", check_copy)


@defect("P-43")
def copy_to_the_cpu_raises_value_error() -> None:
    """copy=True together with dl_device raises ValueError."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        if words["copy"] and words["dl_device"] is not None:
            raise ValueError("copy and dl_device exclude each other")
        return original(array, **words)

    change(producer, "dlpack", dlpack)


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


@defect("P-32", known=True)
def one_capsule() -> None:
    """Every export of an array returns the same capsule."""
    last: dict[Any, Any] = {}

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        key = (id(array), tuple(map(repr, words.items())))
        if key not in last:
            last.clear()
            last[key] = original(array, **words)
        return last[key]

    change(producer, "dlpack", dlpack)


@defect("P-32")
def one_capsule_for_other_threads() -> None:
    """A capsule is kept for the other threads: all but the main one get the same."""
    kept: dict[Any, Any] = {}

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return original(array, **words)
        key = (id(array), tuple(map(repr, words.items())))
        if key not in kept:
            kept[key] = original(array, **words)
        return kept[key]

    change(producer, "dlpack", dlpack)


@defect("P-03", "P-32", "P-26")
def exported_once() -> None:
    """The second export of an array raises RuntimeError."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        if getattr(array, "is_exported", False):
            raise RuntimeError("the array was already exported")
        result = original(array, **words)
        array.is_exported = True  # type: ignore[attr-defined]
        return result

    change(producer, "dlpack", dlpack)


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

"""Defects of requests: the device, the keywords, the capsule, and which export is returned."""

from __future__ import annotations

import enum
import threading
from typing import Any, Callable

from planted_array import (
    BEFORE,
    CPU,
    DESTRUCTORS,
    NAMES,
    REPLACED,
    REPORTED,
    VERSION,
    Array,
    Managed,
    Request,
    allocate,
    checked,
    destroy_named,
    forever,
    live,
)

from dlbridge.tools import abi


class Kind(enum.Enum):
    CPU = 1


# The device ---------------------------------------------------------------------------------------


class Pair(tuple):  # type: ignore[type-arg]
    """A tuple with names, as some libraries return."""


REPORTED.update(
    {
        "device_float": (1.0, 0),
        "device_text": ("1", "0"),
        "device_none": (1, None),
        "device_list": [1, 0],
        "device_three": (1, 0, 0),
        "device_zero": (0, 0),
        "device_negative": (1, -1),
        "device_other": (2, 0),
        "device_pinned": (3, 0),
        "device_index_1": (1, 1),
        "permitted_enum": (Kind.CPU, 0),
        "permitted_pair": Pair((1, 0)),
        "enum_refused": (enum.IntEnum("Type", {"CPU": 1}).CPU, 0),  # type: ignore[attr-defined]
    }
)


# What a defect does -------------------------------------------------------------------------------


def _refuse_bare(request: Request) -> None:
    checked(request)
    if request.version is None:
        raise BufferError("expected max_version (1, 0)")


def _refuse_copies(request: Request) -> None:
    checked(request)
    if request.copy:
        raise BufferError("no copies")


def _no_copies_by_value_error(request: Request) -> None:
    checked(request)
    if request.copy:
        raise ValueError("no copies")


def _refuse_copy_false(request: Request) -> None:
    checked(request)
    if request.copy is False:
        raise BufferError("it may copy")


def _accept_minus_one(request: Request) -> None:
    if request.stream == -1:
        request.stream = None
    checked(request)


def _always_legacy(request: Request) -> None:
    checked(request)
    request.is_versioned = False


def _always_versioned(request: Request) -> None:
    checked(request)
    request.is_versioned = True


def _copy_dropped_for_device(request: Request) -> None:
    checked(request)
    if request.device is not None:
        request.copy = None


def _copy_dropped_for_version(request: Request) -> None:
    checked(request)
    if request.is_versioned:
        request.copy = None


def _copy_dropped_for_legacy(request: Request) -> None:
    checked(request)
    if not request.is_versioned:
        request.copy = None


def _copy_for_false(request: Request) -> None:
    checked(request)
    if request.copy is False:
        request.copy = True


def _int_device_only(request: Request) -> None:
    if request.device is not None and type(request.device[0]) is not int:
        raise TypeError("expected integers")
    checked(request)


def _none_is_odd(request: Request) -> None:
    """Takes an explicit max_version=None as a request of the newest version."""
    checked(request)
    request.is_versioned = True


def _plus(action: Callable[[Request], None]) -> Callable[[Request], None]:
    def check(request: Request) -> None:
        checked(request)
        action(request)

    return check


def _refuse_newer(request: Request) -> None:
    if request.version is not None and request.version > VERSION:
        raise BufferError("too new")


def _type_error_of_old(request: Request) -> None:
    if request.version is not None and request.version[0] == 0:
        raise TypeError("too old")


def _empties(request: Request) -> None:
    if request.x.size == 0:
        raise BufferError("nothing to export")


def _scalars(request: Request) -> None:
    if not request.x.shape:
        raise BufferError("no dimensions")


def _leak_on_refusal(request: Request) -> None:
    if request.device is not None and request.device != CPU:
        forever.append(request.x)
    checked(request)


def _leak_memory_on_refusal(request: Request) -> None:
    if request.device is not None and request.device != CPU:
        allocate(200)
    checked(request)


def _ignore_device(request: Request) -> None:
    request.device = None
    checked(request)


def _checked_writable(request: Request) -> None:
    readonly, request.x.readonly = request.x.readonly, False
    try:
        checked(request)
    finally:
        request.x.readonly = readonly


def _unreachable(request: Request) -> None:
    try:
        checked(request)
    except BufferError as error:
        raise ValueError(str(error)) from None


BEFORE.update(
    {
        "permitted_no_bare": _refuse_bare,
        "permitted_no_copies": _refuse_copies,
        "permitted_no_copy_false": _refuse_copy_false,
        "permitted_minus_one": _accept_minus_one,
        "copies_by_value_error": _no_copies_by_value_error,
        "refusals_leak": _leak_on_refusal,
        "refusals_leak_memory": _leak_memory_on_refusal,
        "always_legacy": _always_legacy,
        "always_versioned": _always_versioned,
        "copy_dropped_for_device": _copy_dropped_for_device,
        "copy_dropped_for_version": _copy_dropped_for_version,
        "copy_dropped_for_legacy": _copy_dropped_for_legacy,
        "copy_for_false": _copy_for_false,
        "enum_refused": _int_device_only,
        "newer_refused": _plus(_refuse_newer),
        "older_type_error": _plus(_type_error_of_old),
        "empties_refused": _plus(_empties),
        "scalars_refused": _plus(_scalars),
        "device_ignored": _ignore_device,
        "read_only_in_legacy": _checked_writable,
        "unreachable_value_error": _unreachable,
    }
)


# Capsules -----------------------------------------------------------------------------------------


def _destroy_blindly(capsule: int) -> None:
    name = abi._name_at(capsule) or b""
    address = abi._pointer_at(capsule, name)
    abi.Deleter(abi.STRUCTS[name.decode().replace("used_", "")].from_address(address).deleter)(
        address
    )


def _destroy_only_legacy_checked(capsule: int) -> None:
    name = abi._name_at(capsule) or b""
    if name.decode() == abi.USED[abi.LEGACY]:
        return
    _destroy_blindly(capsule)


NAMES.update(
    {
        "named_v1": lambda managed: "dltensor_v1",
        "struct_of_other_name": lambda managed: (
            abi.LEGACY if managed.name == abi.VERSIONED else managed.name
        ),
    }
)
DESTRUCTORS.update(
    {
        "no_destructor": None,
        "destructor_twice": abi._Destructor(lambda capsule: destroy_named(capsule, 2)),
        "destructor_blind": abi._Destructor(_destroy_blindly),
        "destructor_knows_legacy": abi._Destructor(_destroy_only_legacy_checked),
    }
)


# Exports that are not what was asked for ----------------------------------------------------------

_capsules: dict[Any, Any] = {}


def _cached_capsule(request: Request) -> Any:
    key = (request.x.memory.address, request.is_versioned, request.copy)
    if key not in _capsules:
        _capsules.clear()
        _capsules[key] = request.export()
    return _capsules[key]


def _cached_on_other_threads(request: Request) -> Any:
    if threading.current_thread() is threading.main_thread():
        return request.export()
    return _cached_capsule(request)


def _same_struct(request: Request) -> Any:
    state = request.x.state
    key = (request.is_versioned, request.copy)
    managed = state.get(key)
    if managed is None or managed.address not in live:
        state[key] = Managed(request.x, request.is_versioned, 0)
    return state[key].capsule()


_shared_copies: dict[Any, Array] = {}


def _shared_copy(request: Request) -> Any:
    """Gives every copy the same memory."""
    x = request.x
    if not request.copy:
        return request.export()
    key = (x.first, x.shape, x.strides)
    if key not in _shared_copies:
        _shared_copies.clear()
        _shared_copies[key] = x.copied()
    return Managed(_shared_copies[key], request.is_versioned, abi.IS_COPIED).capsule()


def _silent_copy(request: Request) -> Any:
    return Managed(request.x.copied(), request.is_versioned, 0).capsule()


def _marked_copy(request: Request) -> Any:
    if request.copy is False:
        raise BufferError("it always copies")
    return Managed(request.x.copied(), request.is_versioned, abi.IS_COPIED).capsule()


def _cached_silent_copy(request: Request) -> Any:
    x = request.x
    if request.copy:
        return request.export()
    copied = x.state.setdefault("copy", x.copied())
    return Managed(copied, request.is_versioned, 0).capsule()


def _kind_sticks(request: Request) -> Any:
    """Once asked for a versioned capsule, it returns no other."""
    if request.is_versioned:
        request.x.state["versioned"] = True
    request.is_versioned = request.is_versioned or "versioned" in request.x.state
    return request.export()


REPLACED.update(
    {
        "capsule_cached": _cached_capsule,
        "capsule_cached_on_threads": _cached_on_other_threads,
        "same_struct": _same_struct,
        "shared_copies": _shared_copy,
        "silent_copy": _silent_copy,
        "permitted_marked_copy": _marked_copy,
        "cached_silent_copy": _cached_silent_copy,
        "kind_sticks": _kind_sticks,
        "returns_number": lambda request: 7,
    }
)


# Objects of other forms ---------------------------------------------------------------------------


class NoDeviceMethod:
    def __init__(self, x: Array) -> None:
        self.x = x

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.x.__dlpack__(**keywords)


class NeitherMethod:
    pass


class InstanceMethods:
    """Has the two methods as attributes of the object, as the standard permits."""

    def __init__(self, x: Array) -> None:
        self.__dlpack__ = x.__dlpack__
        self.__dlpack_device__ = x.__dlpack_device__
        self.shape, self.tolist = x.shape, x.tolist


class NoKeywords:
    def __init__(self, x: Array) -> None:
        self.x = x

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.x.__dlpack__()


class AnyKeyword(NoDeviceMethod):
    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, **keywords: Any) -> Any:
        known = ("stream", "max_version", "dl_device", "copy")
        return self.x.__dlpack__(**{k: v for k, v in keywords.items() if k in known})


class NoneIsNewest(AnyKeyword):
    """Takes an explicit max_version=None for a request of the newest version."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("max_version", 0) is None:
            keywords["max_version"] = VERSION
        return self.x.__dlpack__(**keywords)


class NoneRefused(AnyKeyword):
    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("stream", 0) is None:
            raise ValueError("expected a stream")
        return self.x.__dlpack__(**keywords)


class BareTypeError(AnyKeyword):
    def __dlpack__(self, **keywords: Any) -> Any:
        if "max_version" not in keywords:
            raise ValueError("expected max_version")
        return self.x.__dlpack__(**keywords)


OBJECTS: dict[str, Callable[[Array], Any]] = {
    "no_device_method": NoDeviceMethod,
    "permitted_neither": lambda x: NeitherMethod(),
    "permitted_instance_methods": InstanceMethods,
    "no_keywords": NoKeywords,
    "unknown_keywords": AnyKeyword,
    "none_is_newest": NoneIsNewest,
    "stream_none_refused": NoneRefused,
    "bare_value_error": BareTypeError,
}

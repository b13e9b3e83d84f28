"""The probes of the protocol: the methods and their keywords, P-01 to P-09."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi, devices
from dlbridge.tools.conformance.helpers.exports import accepts_keyword, export, make
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

NO_STREAM = -7  # an invalid stream on every device


@probe("P-01")
def methods_of_the_type(target: Target) -> None:
    x = target.make()
    for name in ("__dlpack__", "__dlpack_device__"):
        if not callable(getattr(type(x), name, None)):
            where = "the object has one, its type does not" if hasattr(x, name) else "none"
            raise Broken(f"type {type(x).__name__}, method {name}: {where}")


@probe("P-02")
def two_integers(target: Target) -> str | None:
    x = make(target)
    if not hasattr(x, "__dlpack_device__"):
        raise Skip("there is no __dlpack_device__")
    try:
        result = x.__dlpack_device__()
    except Exception as error:
        raise Broken(f"__dlpack_device__() raised {name_error(error)}") from None
    try:
        type_, index = result
        pair = int(type_), int(index)
    except (TypeError, ValueError) as error:
        raise Broken(f"__dlpack_device__() returned {result!r}: {error}") from None
    if pair[0] <= 0:
        raise Broken(f"device type {pair[0]}, expected a positive number of DLDeviceType")
    if pair[1] < 0:
        raise Broken(f"device index {pair[1]}")
    if not isinstance(result, tuple):
        raise Broken(f"a {type(result).__name__} instead of a tuple: {result!r}", severity="W")
    if not devices.is_known(pair):
        return f"device type {pair[0]} is not in dlbridge's table: it may be newer"
    return None


@probe("P-03")
def bare_call(target: Target) -> None:
    x = make(target)
    try:
        result = x.__dlpack__()
    except BufferError as error:
        raise Broken(
            f"{name_error(error)}: allowed since 2025, but many consumers make no other call",
            severity="W",
        ) from None
    except Exception as error:
        raise Broken(f"__dlpack__() raised {name_error(error)}") from None
    if not abi.is_capsule(result):
        raise Broken(f"__dlpack__() returned {type(result).__name__} instead of a capsule")


def _name_of_export(x: Any, **keywords: Any) -> str | None:
    """Returns the name of the exported capsule; "" where there is none, which P-03 reports."""
    try:
        result = x.__dlpack__(**keywords)
    except BufferError:
        return ""
    return abi.name_of(result) if abi.is_capsule(result) else ""


@probe("P-04")
def names_of_capsules(target: Target) -> str | None:
    x = make(target)
    requests: list[dict[str, Any]] = [{}]
    if accepts_keyword(x, "max_version"):
        requests += [{"max_version": None}, {"max_version": (1, 0)}, {"max_version": (1, 3)}]
    for keywords in requests:
        name = _name_of_export(x, **keywords)
        allowed = ["", abi.LEGACY]
        if keywords.get("max_version") is not None:
            allowed.append(abi.VERSIONED)
        if name not in allowed:
            text = ", ".join(f"{keyword}={value}" for keyword, value in keywords.items())
            raise Broken(f"__dlpack__({text}) returned a capsule named {name!r}")
    return None if len(requests) > 1 else "__dlpack__ has no keyword max_version"


@probe("P-05")
def versioned_at_all(target: Target) -> None:
    x = make(target)
    if not accepts_keyword(x, "max_version"):
        raise Broken("__dlpack__ has no keyword max_version")
    try:
        name = abi.name_of(x.__dlpack__(max_version=(1, 0)))
    except Exception as error:
        raise Broken(f"__dlpack__(max_version=(1, 0)) raised {name_error(error)}") from None
    if name != abi.VERSIONED:
        raise Broken(f"max_version=(1, 0) returned a capsule named {name!r}")


@probe("P-06")
def requested_versions(target: Target) -> None:
    x = make(target)
    if not accepts_keyword(x, "max_version"):
        raise Skip("__dlpack__ has no keyword max_version")
    versions: list[tuple[int, int]] = [(1, 0), (1, 99), (2, 0), (0, 8)]
    for value in versions:
        call = f"__dlpack__(max_version={value})"
        try:
            capsule = x.__dlpack__(max_version=value)
        except BufferError as error:
            if value[0] == 0:
                continue
            raise Broken(f"{call} raised {name_error(error)}") from None
        except Exception as error:
            raise Broken(f"{call} raised {name_error(error)}") from None
        if abi.name_of(capsule) == abi.LEGACY:
            continue
        if value[0] == 0:
            raise Broken(f"{call} returned a capsule named {abi.name_of(capsule)!r}")
        try:
            abi.read(capsule)  # accepts major version 1 only
        except abi.Unreadable as unreadable:
            raise Broken(f"{call}: {unreadable}") from None


@probe("P-07")
def stream_by_position(target: Target) -> str | None:
    x = make(target)
    try:
        by_position = x.__dlpack__(None)
    except TypeError:
        return None
    except Exception as error:
        raise Broken(f"__dlpack__(None) raised {name_error(error)}") from None
    try:
        by_keyword = x.__dlpack__(stream=None)
    except Exception as error:
        raise Broken(
            f"__dlpack__(None) was accepted, and __dlpack__(stream=None) raised {name_error(error)}"
        ) from None
    if abi.name_of(by_position) != abi.name_of(by_keyword):
        raise Broken(
            f"__dlpack__(None) returned {abi.name_of(by_position)!r}, "
            f"__dlpack__(stream=None) returned {abi.name_of(by_keyword)!r}"
        )
    return "stream may be given by position"


@probe("P-07")
def a_stream_by_position_counts(target: Target) -> None:
    x = make(target)
    try:
        x.__dlpack__(stream=NO_STREAM)
    except Exception:
        pass
    else:
        raise Skip(f"stream={NO_STREAM} is accepted, so the position makes no difference")
    try:
        x.__dlpack__(NO_STREAM)
    except Exception:
        return
    raise Broken(f"__dlpack__({NO_STREAM}) was accepted, but stream={NO_STREAM} is refused")


@probe("P-08")
def unknown_keyword(target: Target) -> None:
    x = make(target)
    export(x)  # without the keyword it succeeds
    try:
        x.__dlpack__(max_versoin=(1, 0))
    except TypeError:
        return
    except Exception as error:
        raise Broken(f"__dlpack__(max_versoin=(1, 0)) raised {name_error(error)}") from None
    raise Broken("__dlpack__(max_versoin=(1, 0)) was accepted")


@probe("P-09")
def malformed_versions(target: Target) -> None:
    x = make(target)
    if not accepts_keyword(x, "max_version"):
        raise Skip("__dlpack__ has no keyword max_version")
    for value in ((1,), "1.0", 1, (1, 0, 0), ("1", "0")):
        call = f"__dlpack__(max_version={value!r})"
        try:
            x.__dlpack__(max_version=value)
        except (TypeError, ValueError):
            continue
        except Exception as error:
            raise Broken(f"{call} raised {name_error(error)}") from None
        raise Broken(f"{call} was accepted")

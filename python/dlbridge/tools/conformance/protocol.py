"""The probes of the protocol: which methods there are and what they answer to, P-01 to P-09."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.exports import export, knows, make
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

# Of DLDeviceType: 1 to 18 in DLPack 1.3, but for 5 and 6; 19 to 21 are agreed and not released.
KNOWN_DEVICES = frozenset(range(1, 22)) - {5, 6}
NO_STREAM = -7  # means nothing on any device


@probe("P-01")
def methods_of_the_type(target: Target) -> None:
    made = target.make()
    for name in ("__dlpack__", "__dlpack_device__"):
        if not callable(getattr(type(made), name, None)):
            where = "the object has one, its type does not" if hasattr(made, name) else "none"
            raise Broken(f"type {type(made).__name__}, method {name}: {where}")


@probe("P-02")
def two_integers(target: Target) -> str | None:
    x = make(target)
    if not hasattr(x, "__dlpack_device__"):
        raise Skip("there is no __dlpack_device__")
    try:
        found = x.__dlpack_device__()
    except Exception as raised:
        raise Broken(f"__dlpack_device__() raised {name_error(raised)}") from None
    try:
        type_, index = found
        pair = int(type_), int(index)
    except (TypeError, ValueError) as raised:
        raise Broken(f"__dlpack_device__() gave {found!r}: {raised}") from None
    if pair[0] not in KNOWN_DEVICES:
        raise Broken(f"device type {pair[0]} is none of DLDeviceType")
    if pair[1] < 0:
        raise Broken(f"device index {pair[1]}")
    if not isinstance(found, tuple):
        raise Broken(f"a {type(found).__name__} instead of a tuple: {found!r}", severity="W")
    return None


@probe("P-03")
def bare_call(target: Target) -> None:
    x = make(target)
    try:
        found = x.__dlpack__()
    except BufferError as refused:
        raise Broken(
            f"{name_error(refused)}: allowed since 2025, but many consumers make no other call",
            severity="W",
        ) from None
    except Exception as raised:
        raise Broken(f"__dlpack__() raised {name_error(raised)}") from None
    if not abi.is_capsule(found):
        raise Broken(f"__dlpack__() gave no capsule but {type(found).__name__}")


def _name_given(x: Any, **keywords: Any) -> str | None:
    """The name of the capsule that comes; "" where none does, of which P-03 tells."""
    try:
        found = x.__dlpack__(**keywords)
    except BufferError:
        return ""
    return abi.name_of(found) if abi.is_capsule(found) else ""


@probe("P-04")
def names_of_capsules(target: Target) -> str | None:
    x = make(target)
    asked: list[dict[str, Any]] = [{}]
    if knows(x, "max_version"):
        asked += [{"max_version": None}, {"max_version": (1, 0)}, {"max_version": (1, 3)}]
    for keywords in asked:
        name = _name_given(x, **keywords)
        allowed = ["", abi.LEGACY]
        if keywords.get("max_version") is not None:
            allowed.append(abi.VERSIONED)
        if name not in allowed:
            words = ", ".join(f"{word}={value}" for word, value in keywords.items())
            raise Broken(f"__dlpack__({words}) gave a capsule named {name!r}")
    return None if len(asked) > 1 else "__dlpack__ has no keyword max_version"


@probe("P-05")
def versioned_at_all(target: Target) -> None:
    x = make(target)
    if not knows(x, "max_version"):
        raise Broken("__dlpack__ has no keyword max_version")
    try:
        name = abi.name_of(x.__dlpack__(max_version=(1, 0)))
    except Exception as raised:
        raise Broken(f"__dlpack__(max_version=(1, 0)) raised {name_error(raised)}") from None
    if name != abi.VERSIONED:
        raise Broken(f"max_version=(1, 0) gave a capsule named {name!r}")


@probe("P-06")
def versions_asked_for(target: Target) -> None:
    x = make(target)
    if not knows(x, "max_version"):
        raise Skip("__dlpack__ has no keyword max_version")
    versions: list[tuple[int, int]] = [(1, 0), (1, 99), (2, 0), (0, 8)]
    for asked in versions:
        call = f"__dlpack__(max_version={asked})"
        try:
            capsule = x.__dlpack__(max_version=asked)
        except BufferError as refused:
            if asked[0] == 0:
                continue
            raise Broken(f"{call} raised {name_error(refused)}") from None
        except Exception as raised:
            raise Broken(f"{call} raised {name_error(raised)}") from None
        if abi.name_of(capsule) == abi.LEGACY:
            continue
        if asked[0] == 0:
            raise Broken(f"{call} gave a capsule named {abi.name_of(capsule)!r}")
        try:
            abi.read(capsule)  # takes major version 1 only
        except abi.Unreadable as unreadable:
            raise Broken(f"{call}: {unreadable}") from None


@probe("P-07")
def stream_by_position(target: Target) -> str | None:
    x = make(target)
    try:
        by_position = x.__dlpack__(None)
    except TypeError:
        return None
    except Exception as raised:
        raise Broken(f"__dlpack__(None) raised {name_error(raised)}") from None
    try:
        by_keyword = x.__dlpack__(stream=None)
    except Exception as raised:
        raise Broken(
            f"__dlpack__(None) was accepted, and __dlpack__(stream=None) raised "
            f"{name_error(raised)}"
        ) from None
    if abi.name_of(by_position) != abi.name_of(by_keyword):
        raise Broken(
            f"__dlpack__(None) gave {abi.name_of(by_position)!r}, "
            f"__dlpack__(stream=None) gave {abi.name_of(by_keyword)!r}"
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
        raise Skip(f"stream={NO_STREAM} is accepted, so nothing shows where it goes")
    try:
        x.__dlpack__(NO_STREAM)
    except Exception:
        return
    raise Broken(f"__dlpack__({NO_STREAM}) was accepted, which stream={NO_STREAM} is not")


@probe("P-08")
def unknown_keyword(target: Target) -> None:
    x = make(target)
    export(x)  # without the keyword it works
    try:
        x.__dlpack__(max_versoin=(1, 0))
    except TypeError:
        return
    except Exception as raised:
        raise Broken(f"__dlpack__(max_versoin=(1, 0)) raised {name_error(raised)}") from None
    raise Broken("__dlpack__(max_versoin=(1, 0)) was accepted")


@probe("P-09")
def malformed_versions(target: Target) -> None:
    x = make(target)
    if not knows(x, "max_version"):
        raise Skip("__dlpack__ has no keyword max_version")
    for asked in ((1,), "1.0", 1, (1, 0, 0), ("1", "0")):
        call = f"__dlpack__(max_version={asked!r})"
        try:
            x.__dlpack__(max_version=asked)
        except (TypeError, ValueError):
            continue
        except Exception as raised:
            raise Broken(f"{call} raised {name_error(raised)}") from None
        raise Broken(f"{call} was accepted")

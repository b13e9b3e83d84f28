# SPDX-License-Identifier: BSD-3-Clause
"""The probes of the protocol: the methods, their results and their keywords."""

from __future__ import annotations

import contextlib
from typing import Any

from ... import abi, devices
from ..helpers.arrays import arrays
from ..helpers.exports import (
    NEWEST,
    NO_CAPSULE,
    Keywords,
    accepts_keyword,
    call_text,
    device_of,
    export,
    first_array,
    make,
    needs_keyword,
    obtain,
    reported_device,
    request,
    requests_of_kinds,
    without_excluded,
)
from ..judgement import calls
from ..outcomes import Broken, Skip, library_code, name_error
from ..registry import probe
from ..target import Target

NO_STREAM = -7  # the CPU has no streams
KEYWORDS = ("max_version", "dl_device", "copy")


# The two methods ---------------------------------------------------------------------------------


@probe("P-01", twice=True)
def both_methods(target: Target) -> None:
    x = first_array(target)
    names = ("__dlpack__", "__dlpack_device__")
    missing = [name for name in names if not callable(getattr(x, name, None))]
    if len(missing) == len(names):
        raise Skip(f"{type(x).__name__} has neither method: it exports nothing by DLPack")
    if missing:
        raise Broken(f"{type(x).__name__} has no method {missing[0]}")


@probe("P-02", twice=True)
def a_type_and_an_index(target: Target) -> str | None:
    x = make(target)
    if not callable(getattr(x, "__dlpack_device__", None)):
        raise Skip("there is no __dlpack_device__")
    try:
        result = reported_device(x)
    except BufferError as error:
        raise Skip(f"__dlpack_device__() raised {name_error(error)}") from None
    except Exception as error:
        raise Broken(f"__dlpack_device__() raised {name_error(error)}") from None
    found = calls.device_pair(result)
    if found:
        raise Broken(found)
    pair = device_of(x)
    with contextlib.suppress(Skip, Exception):  # the array must not end with its first capsule
        request(x)
    try:
        reported_device(x)
    except BufferError:
        pass
    except Exception as error:
        raise Broken("__dlpack_device__(), after a capsule of the array was dropped, raised "
                     f"{name_error(error)}") from None  # fmt: skip
    if not devices.is_known(pair):
        return f"device type {pair[0]} is not in dlbridge's table: it may be newer"
    return None


# The capsule -------------------------------------------------------------------------------------


@probe("P-03", twice=True)
def bare_call(target: Target) -> str | None:
    x = make(target)
    kept: list[Any] = []
    for which in (
        "__dlpack__()",
        "the second __dlpack__() of an array",
        "__dlpack__(), after its capsules were dropped,",
    ):
        if len(kept) == 2:
            kept.clear()
        try:
            with library_code():
                kept.append(request(x))
        except BufferError as error:
            return f"refused: {name_error(error)}"
        except Exception as error:
            raise Broken(f"{which} raised {name_error(error)}") from None
        _is_a_capsule(which, kept[-1])
    return None


def _is_a_capsule(call: str, result: object) -> None:
    if not abi.is_capsule(result):
        raise Broken(f"{call} returned {type(result).__name__} and no capsule")


@probe("P-03", extra=True)
def bare_calls_of_every_array(target: Target) -> None:
    """Judges what is returned: P-30 judges the errors of arrays that are not exported."""
    for array in arrays(target):
        try:
            result = request(array.x)
        except Exception:
            continue
        _is_a_capsule(f"{array.what}, __dlpack__()", result)


def _requests(x: Any) -> list[Keywords]:
    """Returns requests that may change the kind of the capsule."""
    requests: list[Keywords] = [{}]
    if accepts_keyword(x, "max_version"):
        requests += [{"max_version": value} for value in (None, (0, 8), (1, 0), NEWEST)]
    if accepts_keyword(x, "copy"):
        requests += [{**each, "copy": True} for each in requests_of_kinds(x)]
    if accepts_keyword(x, "dl_device"):
        requests += [{**each, "dl_device": abi.CPU} for each in requests_of_kinds(x)]
    return without_excluded(requests)


@probe("P-04", twice=True)
def names_of_capsules(target: Target) -> None:
    x = make(target)
    examined = 0
    for keywords in _requests(x):
        try:
            result = request(x, **keywords)
        except Exception:  # other rules judge refusals
            continue
        if not abi.is_capsule(result):
            continue
        examined += 1
        name = abi.name_of(result)
        if name not in abi.STRUCTS:
            raise Broken(f"{call_text(keywords)} returned a capsule named {name!r}")
        found = calls.other_struct(abi.pointer_of(result), name)
        if found:
            abi.rename(result, abi.USED[name])  # its destructor would read the wrong struct
            raise Broken(f"{call_text(keywords)}: {found}")
    if not examined:
        raise Skip(NO_CAPSULE)


# Keywords ----------------------------------------------------------------------------------------


@probe("P-35", twice=True)
def keywords_of_2023(target: Target) -> None:
    x = make(target)
    missing = [name for name in KEYWORDS if not accepts_keyword(x, name)]
    if not missing:
        return
    try:
        request(x)
    except TypeError as error:
        raise Skip(f"__dlpack__() without keywords raised {name_error(error)}") from None
    except Exception:  # it refuses something else than the keywords
        pass
    raise Broken(f"__dlpack__ has no keyword {' and no '.join(missing)}")


@probe("P-48", twice=True)
def defaults_change_nothing(target: Target) -> None:
    x = make(target)
    obtain(x)
    names = [name for name in calls.DEFAULTS if accepts_keyword(x, name)]
    if not names:
        raise Skip("__dlpack__ has no keywords")
    for kind in requests_of_kinds(x):
        others = [name for name in names if name not in kind]
        for added in [{name: None} for name in others] + [dict.fromkeys(others)]:
            _are_alike(x, kind, {**kind, **added})


def _are_alike(x: Any, keywords: Keywords, other_keywords: Keywords) -> None:
    call, other_call = call_text(keywords), call_text(other_keywords)
    items = [obtain(x, **keywords) for _ in range(2)]
    try:
        other = export(x, **other_keywords)
    except Exception as error:
        raise Broken(f"{other_call} raised {name_error(error)}, and {call} does not") from None
    # Where exports are no copies, also the address.
    more = ["first"] if items[0].contents.first == items[1].contents.first else []
    found = calls.alike(items[0].contents, other.contents, *more)
    if found is not None:
        name, one, two = found
        raise Broken(f"{other_call} returned the {name} {two!r}, and {call} {one!r}")


@probe("P-07", twice=True)
def stream_by_position(target: Target) -> str | None:
    x = make(target)
    by_keyword = obtain(x, stream=None)
    try:
        by_position = request(x, None)
    except TypeError:
        return None
    except Exception as error:
        raise Broken(f"__dlpack__(None) raised {name_error(error)}") from None
    if not abi.is_capsule(by_position) or abi.name_of(by_position) != by_keyword.contents.name:
        raise Broken(f"__dlpack__(None) returned {by_position!r}, "
                     f"__dlpack__(stream=None) {by_keyword.contents.name!r}")  # fmt: skip
    return "stream may be given by position"


@probe("P-07", twice=True, extra=True)
def a_stream_by_position_counts(target: Target) -> None:
    x = make(target)
    obtain(x)  # it exports without a stream
    if device_of(x)[0] != devices.CPU:  # a producer may use the number as a handle: P-29 judges it
        raise Skip("only on the CPU is a number surely no stream")
    try:
        request(x, stream=NO_STREAM)
    except Exception:
        pass
    else:
        raise Skip(f"stream={NO_STREAM} is accepted, so the position makes no difference")
    try:
        request(x, NO_STREAM)
    except Exception:
        return
    raise Broken(f"__dlpack__({NO_STREAM}) was accepted, but stream={NO_STREAM} is refused")


@probe("P-08", twice=True)
def unknown_keyword(target: Target) -> None:
    x = make(target)
    keywords = {**requests_of_kinds(x)[-1], "max_versoin": (1, 0)}
    obtain(x, **requests_of_kinds(x)[-1])  # without the keyword it succeeds
    try:
        request(x, **keywords)
    except TypeError:
        return
    except Exception as error:
        raise Broken(f"{call_text(keywords)} raised {name_error(error)}") from None
    raise Broken(f"{call_text(keywords)} was accepted")


@probe("P-09", twice=True)
def malformed_versions(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "max_version")
    values: tuple[Any, ...] = ((1,), "1.0", 1, (1, 0, 0), ("1", "0"))
    for value in values:
        call = call_text({"max_version": value})
        try:
            request(x, max_version=value)
        except (TypeError, ValueError):
            continue
        except Exception as error:
            raise Broken(f"{call} raised {name_error(error)}") from None
        raise Broken(f"{call} was accepted")

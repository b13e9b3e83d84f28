# SPDX-License-Identifier: BSD-3-Clause
"""Compares versions without the package packaging; reads the version of DLPack."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator

from . import core

Key = tuple[tuple[int, ...], int]


def _key(version: str) -> Key | None:
    """Returns the sort key of a version: the release, then pre-release, release or post-release."""
    match = re.match(r"(\d+(?:[.]\d+)*)[.-]?(a|b|rc|dev|post)?(\d*)", version.split("+")[0])
    if match is None:
        return None
    release = tuple(map(int, re.sub(r"([.]0+)+$", "", match[1]).split(".")))
    if match[2] is None:
        return release, 0
    return release, int(match[3] or 0) + 1 if match[2] == "post" else -1


def contains(seen_in: str, version: str) -> bool:
    """Whether a list of versions and ranges contains a version.

    A text that is no version, such as "unknown", is in no range. Raises ValueError for such a text
    in seen_in.

    >>> contains("1.23.5, 2.1 to 2.4.6", "2.4.6"), contains("2.13", "2.13.0+cpu")
    (True, True)
    """
    key = _key(version)
    return any(key is not None and first <= key <= last for first, last in _ranges(seen_in))


def _ranges(seen_in: str) -> Iterator[tuple[Key, Key]]:
    for each in seen_in.split(", "):
        ends = each.split(" to ")
        first, last = _key(ends[0]), _key(ends[-1])
        if first is None or last is None:
            raise ValueError(f"expected versions such as 2.1 to 2.4.6; got {each!r}")
        yield first, last


def reaches(version: str, first: str) -> bool:
    """Whether a version is the first one or newer; a text that is no version reaches none.

    >>> reaches("2.14.1+cpu", "2.14.0"), reaches("2.14.0.dev1", "2.14.0"), reaches("2.14", "")
    (True, False, False)
    """
    key, first_key = _key(version), _key(first)
    return key is not None and first_key is not None and key >= first_key


_OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def meets(version: str, limits: str) -> bool:
    """Whether a version meets requirements such as ">=1.26,<2.2"; unsupported ones are ignored.

    >>> meets("2.4.6", ">=1.26, <2.2"), meets("2.4.6", ">=1.26, !=2.0.*")
    (False, True)
    """
    key = _key(version)
    for sign, limit in re.findall(r"([<>=!]=?)\s*([^,\s<>=!]+)", limits):
        limit_key = _key(limit)
        if key is None or limit_key is None or sign not in _OPERATORS or limit.endswith("*"):
            continue
        if not _OPERATORS[sign](key, limit_key):
            return False
    return True


def of_dlpack() -> str:
    """Returns the version of DLPack that dlbridge was compiled with, "unknown" without _core."""
    if core.is_missing():
        return "unknown"
    import dlbridge

    return ".".join(map(str, dlbridge.DLPACK_VERSION))

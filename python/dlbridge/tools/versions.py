"""Versions compared, without the library packaging: for what is known of some and not of others."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator

Key = tuple[tuple[int, ...], int]


def _key(version: str) -> Key | None:
    """What versions are ordered by: the release, then whether it is before, it, or after."""
    found = re.match(r"(\d+(?:[.]\d+)*)[.-]?(a|b|rc|dev|post)?(\d*)", version.split("+")[0])
    if found is None:
        return None
    release = tuple(map(int, re.sub(r"([.]0+)+$", "", found[1]).split(".")))
    if found[2] is None:
        return release, 0
    return release, int(found[3] or 0) + 1 if found[2] == "post" else -1


def contains(seen_in: str, version: str) -> bool:
    """Whether a version is one of these: versions, and ranges from the first to the last.

    One that is no version, such as "unknown", is in none. Raises ValueError for such in seen_in.

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


_OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def meets(version: str, limits: str) -> bool:
    """Whether a version is within limits such as ">=1.26,<2.2"; what cannot be read limits nothing.

    >>> meets("2.4.6", ">=1.26, <2.2"), meets("2.4.6", ">=1.26, !=2.0.*")
    (False, True)
    """
    key = _key(version)
    for sign, limit in re.findall(r"([<>=!]=?)\s*([^,\s<>=!]+)", limits):
        against = _key(limit)
        if key is None or against is None or sign not in _OPERATORS or limit.endswith("*"):
            continue
        if not _OPERATORS[sign](key, against):
            return False
    return True

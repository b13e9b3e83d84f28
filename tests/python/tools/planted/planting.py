# SPDX-License-Identifier: BSD-3-Clause
"""The rows of what a test can plant in the library, and how one replaces the library's functions.

The variable DLBRIDGE_PLANTED names the planted defect or variant, also in the child processes of a
tool. A row is a function: its docstring says what is planted, and calling it plants it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable

Plant = Callable[[], None]


@dataclass(frozen=True)
class Defect:
    """One incorrect behaviour."""

    name: str
    rule: str  # which must find it
    text: str  # what is wrong
    is_new: bool  # of a kind that the mutation test before this one did not have
    # Other rules of the kinds must and unsound that it necessarily breaks; "*": all.
    also: frozenset[str]
    plant: Plant


@dataclass(frozen=True)
class Variant:
    """One behaviour that differs from the library's, and that the standards permit."""

    name: str
    text: str  # what differs
    permitted_by: str  # the sentence of the standard
    warns: frozenset[str]  # the rules of the kind should from which it differs
    plant: Plant


DEFECTS: dict[str, Defect] = {}
VARIANTS: dict[str, Variant] = {}


def name_of(plant_it: Plant) -> str:
    """Returns the name of a row: its module and its function, as in "flags.reserved_flag"."""
    return f"{plant_it.__module__.rpartition('.')[2]}.{plant_it.__name__}"


def defect(rule: str, *also: str, known: bool = False) -> Callable[[Plant], Plant]:
    """Makes a row of a function that plants a defect."""

    def register(plant_it: Plant) -> Plant:
        name, text = name_of(plant_it), " ".join((plant_it.__doc__ or "").split())
        assert text and name not in DEFECTS, name
        DEFECTS[name] = Defect(name, rule, text, not known, frozenset(also), plant_it)
        return plant_it

    return register


def variant(permitted_by: str, *warns: str) -> Callable[[Plant], Plant]:
    """Makes a row of a function that plants a permitted behaviour."""

    def register(plant_it: Plant) -> Plant:
        name, text = name_of(plant_it), " ".join((plant_it.__doc__ or "").split())
        assert text and name not in VARIANTS, name
        VARIANTS[name] = Variant(name, text, permitted_by, frozenset(warns), plant_it)
        return plant_it

    return register


def change(owner: Any, name: str, function: Callable[..., Any]) -> None:
    """Replaces a function by one that gets the original as its first argument."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def changed(*arguments: Any, **keywords: Any) -> Any:
        return function(original, *arguments, **keywords)

    setattr(owner, name, changed)


def through(helper: Callable[..., None], *arguments: Any) -> Callable[[Callable[..., Any]], Plant]:
    """Makes the function of a row of one that a helper plants: helper(function, *arguments)."""

    def make(function: Callable[..., Any]) -> Plant:
        @functools.wraps(function)
        def plant_it() -> None:
            helper(function, *arguments)

        return plant_it

    return make


def instead_of(owner: Any, name: str) -> Callable[[Callable[..., Any]], Plant]:
    """Makes the function of a row of one that replaces another, as change() does."""
    return through(lambda function: change(owner, name, function))


def plant(name: str) -> None:
    """Plants the defect or the variant of this name; "" plants nothing."""
    if not name:
        return
    from planted import defects, variants

    assert defects and variants  # their modules fill the tables
    rows: dict[str, Any] = {**DEFECTS, **VARIANTS}
    rows[name].plant()

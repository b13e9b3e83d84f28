# SPDX-License-Identifier: BSD-3-Clause
"""The probes, by subject. Each module registers its own when it is imported."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from ..registry import PROBES, Probe
from ..rules import RULES

MODULES = (
    # of producers
    "protocol",
    "versions",
    "description",
    "contents",
    "flags",
    "copies",
    "marked_copies",
    "requests",
    "threads",
    "lifetime",
    "ownership",
    "leaks",
    # of consumers
    "negotiation",
    "layouts",
    "dtypes",
    "devices",
    "read_only",
    "release",
    "refusals",
    "views",
    # of both
    "sharing",
    "single_use",
    "streams",
    "from_dlpack",
    "exchange_table",
    "other_protocols",
)


def in_order() -> Iterator[Probe]:
    """Yields every probe: the safe ones first, in the order of their rules, then the hostile.

    Of these, the probes of invalid input are the last: it may damage a process, and a crash that
    follows is not the fault of a rule of permitted input.
    """
    for module in MODULES:
        importlib.import_module(f"{__name__}.{module}")
    ranks = {rule: rank for rank, rule in enumerate(RULES)}

    def order(it: Probe) -> tuple[bool, bool, int]:
        is_invalid = it.hostile and RULES[it.rule].kind == "hardening"
        return it.hostile, is_invalid, ranks[it.rule]

    yield from sorted(PROBES.values(), key=order)

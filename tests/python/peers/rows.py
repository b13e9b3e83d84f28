# SPDX-License-Identifier: BSD-3-Clause
"""The libraries of the table in dlbridge.tools, and the extension modules of the tests."""

from __future__ import annotations

import importlib
from typing import Any

from dlbridge.tools import elements
from dlbridge.tools.libraries import LIBRARIES as TABLE
from dlbridge.tools.libraries import Library, values_in
from dlbridge.tools.versions import reaches

VERSION = (1, 0)


def _make(module: Any, values: Any, dtype: str) -> Any:
    code, bits, _ = elements.DTYPES[dtype][0]
    return module.make(elements.encode(values, dtype), elements.shape_of(values), code, bits)


NANOBIND = Library(
    "nanobind_peer",  # tests/fakes/nanobind_peer.cpp
    "nanobind",
    ("nanobind",),
    array=_make,
    take=lambda m, x: m.take(x),
    address=lambda m, x: x.address,
    values=lambda m, x: values_in(x.give().__dlpack__(max_version=VERSION)),
    give=lambda m, x: x.give(),
    from_capsule=lambda m, x: m.take(x),
)

LIBRARIES = {**TABLE, "nanobind": NANOBIND}


def is_from(name: str, first: str) -> bool:
    """Whether the installed version of a library is the first one or newer; so is the newest, which
    counts where none is installed."""
    version = TABLE[name].version
    return version is None or reaches(version, first)


JAX_IS_VERSIONED = is_from("jax", "0.12.0")  # it also marks its exports as read-only


def load(name: str) -> Any:
    """A library of the table, or any other module."""
    return LIBRARIES[name].load() if name in LIBRARIES else importlib.import_module(name)

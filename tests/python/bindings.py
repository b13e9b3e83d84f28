# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the test extensions by binding, and a check that their arguments are freed."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import producers

# The modules of the same functions, by pybind11 and by nanobind, that were built.
MODULES = [name for name in ("extension", "nanobind_extension") if importlib.util.find_spec(name)]


def bindings(*ways: str) -> list[str]:
    """The names of the submodules of all extensions that bind functions in one of the ways."""
    return [f"{module}.{way}" for module in MODULES for way in ways]


BINDINGS = bindings("by_def", "by_library", "by_fast")
DETAILED = bindings("by_def", "by_fast")  # their errors have the reason, unlike the libraries'
OWNING = "nanobind_extension.by_library"  # its spans own their tensors during the call


def function(binding: str, name: str) -> Any:
    module, _, way = binding.partition(".")
    return getattr(getattr(importlib.import_module(module), way), name)


def freed_once(*arguments: producers.Producer) -> bool:
    """Whether `__dlpack__` of each producer was called once, and its tensor freed once."""
    return all(len(p.requests) == 1 and p.exports == p.calls == [1] for p in arguments)

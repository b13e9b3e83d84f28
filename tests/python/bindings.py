# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the test extension by binding, and a check that their arguments are freed."""

from __future__ import annotations

from typing import Any

import extension
import producers

BINDINGS = ["by_def", "by_pybind11", "by_fast"]  # submodules of the extension
DETAILED = ["by_def", "by_fast"]  # their errors have the reason, unlike those of plain pybind11


def function(binding: str, name: str) -> Any:
    return getattr(getattr(extension, binding), name)


def freed_once(*arguments: producers.Producer) -> bool:
    """Whether `__dlpack__` of each producer was called once, and its tensor freed once."""
    return all(len(p.requests) == 1 and p.exports == p.calls == [1] for p in arguments)

# SPDX-License-Identifier: BSD-3-Clause
"""A producer whose metaclass raises for every attribute of the type."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi, ctypes_arrays


class Silent(type):
    """Refuses every attribute of its classes."""

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError("no attributes here")


class Array(metaclass=Silent):
    def __init__(self) -> None:
        self.capsule = ctypes_arrays.array([1.0, 2.0], "float32")

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, **keywords: Any) -> Any:
        contents = abi.read(object.__getattribute__(self, "capsule"))
        return ctypes_arrays.view(self.capsule, contents.shape or (), contents.strides or ())

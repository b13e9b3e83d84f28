# SPDX-License-Identifier: BSD-3-Clause
"""A module that tests/extension/device_module.cpp builds."""

from typing import Any

def __getattr__(name: str) -> Any: ...

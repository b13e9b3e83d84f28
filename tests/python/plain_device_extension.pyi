"""A module that tests/extension/device_module.cpp builds."""

from typing import Any

def __getattr__(name: str) -> Any: ...

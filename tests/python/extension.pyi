"""The module that tests/extension makes: its functions are described there."""

from typing import Any

def __getattr__(name: str) -> Any: ...

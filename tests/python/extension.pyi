# SPDX-License-Identifier: BSD-3-Clause
"""The module that tests/extension builds. Its source files describe the functions."""

from typing import Any

def __getattr__(name: str) -> Any: ...

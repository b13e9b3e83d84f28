# SPDX-License-Identifier: BSD-3-Clause
"""A factory for `conformance` whose arrays are in device memory, with work on a given stream."""

from __future__ import annotations

import importlib
from typing import Any

torch: Any = importlib.import_module("torch")


# [factory]
def make(shape: Any = (2, 3), device: str = "cpu", stream: int | None = None) -> Any:
    if stream is not None:
        torch.cuda.set_stream(torch.cuda.ExternalStream(stream))
    return torch.ones(shape, device=device)


# [/factory]

# SPDX-License-Identifier: BSD-3-Clause
"""Makes the same calls to the extension by hand and to the one with dlbridge."""

from __future__ import annotations

import after
import before
import numpy as np
import torch

CALLS = {
    "mean of a Parameter": lambda m: m.mean(torch.nn.Parameter(torch.ones(2, 2))),
    "type of normalized(tensor)": lambda m: type(m.normalized(torch.ones(2, 2))),
    "mean of int64": lambda m: m.mean(np.ones(3, "int64")),
}

for name, call in CALLS.items():
    print(name)
    for module in (before, after):
        try:
            outcome = str(call(module))
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(f"  {module.__name__:6} {outcome}")

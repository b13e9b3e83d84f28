# SPDX-License-Identifier: BSD-3-Clause
"""Makes calls whose outcomes differ between two bindings and the same with dlbridge."""

from __future__ import annotations

import importlib

import numpy as np

WHITE = np.full((1, 1, 3), 300)  # of int64
BLACK = np.zeros((1, 1, 3), "uint8")
CALLS = {
    "image: rms() of 300": lambda m: round(m.rms(WHITE, BLACK)[0], 2),
    "storage: from_array() of int64": lambda m: m.StorageView.from_array(np.ones(3, "int64")),
    "storage: numpy.from_dlpack": lambda m: np.from_dlpack(
        m.StorageView.from_array(np.ones(2, "float32"))
    ),
}

for name, call in CALLS.items():
    print(name)
    for when in ("before", "after"):
        module = importlib.import_module(f"moved_bindings.{name.split(':')[0]}_{when}")
        try:
            outcome = str(call(module))
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(f"  {when:6} {outcome}")

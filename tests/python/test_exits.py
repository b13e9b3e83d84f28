# SPDX-License-Identifier: BSD-3-Clause
"""The interpreter ends while threads exchange tensors, and while a C thread calls deleters: every
process exits with its own status. `python exits.py storm 1000` runs more of them."""

from __future__ import annotations

import exits
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", exits.ALL)
def test_exit_while_threads_exchange_tensors(kind: str) -> None:
    if "numpy" in kind or kind == "copy":
        pytest.importorskip("numpy")
    assert exits.storm([kind], 6, seed=len(kind)) == []

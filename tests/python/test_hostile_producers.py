# SPDX-License-Identifier: BSD-3-Clause
"""Producers that misbehave at random: every call returns or raises an Exception, and every deleter
runs once.

DLBRIDGE_SOAK multiplies the number of rounds, as in test_soak.py.
"""

from __future__ import annotations

import os

import pytest

import hostile_producers

# A few thousand rounds by default, and more where a session chooses the number.
SOAK = os.environ.get("DLBRIDGE_SOAK")
PARTS = 4
ROUNDS = (10_000 * int(SOAK) if SOAK else 3_000) // PARTS


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_producers(part: int) -> None:
    refused = hostile_producers.run(ROUNDS, 1, part * ROUNDS)
    assert refused > ROUNDS // 4

# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges of all kinds in several threads: memory, references and deleter calls balance."""

from __future__ import annotations

import os

import mixed_exchanges

ROUNDS = 50_000 * int(os.environ.get("DLBRIDGE_SOAK", "1"))


def test_mixed_exchanges_in_threads() -> None:
    assert mixed_exchanges.check(ROUNDS) == []

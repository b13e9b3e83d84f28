# SPDX-License-Identifier: BSD-3-Clause
"""The result of judging one export by one rule."""

from __future__ import annotations

from typing import Callable, Optional

HOLDS = ""
Verdict = Optional[str]  # None: it cannot be judged. HOLDS, or what is broken.
Judge = Callable[..., Verdict]  # of a Sample

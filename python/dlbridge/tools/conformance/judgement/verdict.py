# SPDX-License-Identifier: BSD-3-Clause
"""The result of judging one export by one rule."""

from __future__ import annotations

from typing import Callable, Optional

from dlbridge.tools.conformance.helpers.survey import Sample

HOLDS = ""
Verdict = Optional[str]  # None: it cannot be judged. HOLDS, or what is broken.
Judge = Callable[[Sample], Verdict]

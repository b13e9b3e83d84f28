# SPDX-License-Identifier: BSD-3-Clause
"""The soft threshold, for arrays of any library."""

from __future__ import annotations

from soft_threshold._core import soft_threshold, soft_threshold_gradient

__all__ = ["soft_threshold", "soft_threshold_gradient"]

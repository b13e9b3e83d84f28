# SPDX-License-Identifier: BSD-3-Clause
"""The planted variants: behaviour that differs from the library's, and that the standards permit.

Importing the package fills planting.VARIANTS.
"""

from __future__ import annotations

from planted.variants import consuming, producing

__all__ = ["consuming", "producing"]

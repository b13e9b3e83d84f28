# SPDX-License-Identifier: BSD-3-Clause
"""MLX: the exchanges of the table."""

from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is

LIBRARY = "mlx"

__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

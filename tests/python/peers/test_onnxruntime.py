# SPDX-License-Identifier: BSD-3-Clause
"""ONNX Runtime: the exchanges of the table."""

from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is

LIBRARY = "onnxruntime"

__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

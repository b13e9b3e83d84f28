# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges arrays with NumPy by the installed dlbridge: the test of each wheel of a release."""

import numpy as np

import dlbridge

array = np.arange(6, dtype="float32").reshape(2, 3)
tensor = dlbridge.from_dlpack(array)
result = np.from_dlpack(tensor)
assert result.ctypes.data == tensor.data_ptr == array.ctypes.data
assert (result == array).all()
print(f"dlbridge {dlbridge.__version__} shares memory with NumPy {np.__version__}: {tensor!r}")

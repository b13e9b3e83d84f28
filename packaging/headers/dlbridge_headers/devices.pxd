# SPDX-License-Identifier: BSD-3-Clause
# The C++ API of <dlbridge/python/devices.hpp> for Cython.
cdef extern from "dlbridge/python/devices.hpp" namespace "dlbridge":
    # Lets the extension types of this module order streams, and copy tensors between devices.
    void use_devices()

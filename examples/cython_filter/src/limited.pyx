# SPDX-License-Identifier: BSD-3-Clause
# cython: language_level=3, cpp_locals=True
# distutils: language = c++
"""A function of tensors in the limited API."""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName
from libc.stdint cimport int64_t

from dlbridge_headers.core cimport (
    DLManagedTensor, DLManagedTensorVersioned, managed_tensor, rank1, tensor_span
)

ctypedef tensor_span[const float, rank1] vector


# [total]
def total(x):
    """The sum of a float32 vector of any library that exports DLPack 1.0."""
    capsule = x.__dlpack__(max_version=(1, 0))
    cdef managed_tensor owned
    cdef void* raw
    # After SetName, the destructor of the capsule no longer frees the tensor.
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        raw = PyCapsule_GetPointer(capsule, "dltensor_versioned")
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
        owned = managed_tensor.steal(<DLManagedTensorVersioned*> raw)
    else:
        raw = PyCapsule_GetPointer(capsule, "dltensor")
        PyCapsule_SetName(capsule, "used_dltensor")
        owned = managed_tensor.steal(<DLManagedTensor*> raw)
    cdef vector values = vector(owned.view())  # BufferError for another dtype, rank or device
    cdef double sum = 0
    cdef int64_t i
    with nogil:
        for i in range(values.extent(0)):
            sum += values(i)
    return sum
# [/total]

# cython: language_level=3, cpp_locals=True
# distutils: language = c++
"""A function of tensors in the limited API."""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_SetName
from libc.stdint cimport int64_t

from dlbridge_headers.core cimport DLManagedTensorVersioned, managed_tensor, rank1, tensor_span

ctypedef tensor_span[const float, rank1] vector


# [total]
def total(x):
    """The sum of a float32 vector of any library that exports DLPack 1.0."""
    capsule = x.__dlpack__(max_version=(1, 0))
    cdef void* raw = PyCapsule_GetPointer(capsule, "dltensor_versioned")
    PyCapsule_SetName(capsule, "used_dltensor_versioned")  # its destructor no longer frees the tensor
    cdef managed_tensor owned = managed_tensor.steal(<DLManagedTensorVersioned*> raw)
    cdef vector values = vector(owned.view())  # BufferError for another dtype, rank or device
    cdef double sum = 0
    cdef int64_t i
    with nogil:
        for i in range(values.extent(0)):
            sum += values(i)
    return sum
# [/total]

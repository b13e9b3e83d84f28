# SPDX-License-Identifier: BSD-3-Clause
# [luma]
# cython: language_level=3, cpp_locals=True, cdivision=True
# distutils: language = c++
"""Filters of images, written in Cython."""
from libc.stdint cimport int64_t, uint8_t, uintptr_t
from libcpp.utility cimport move

from dlbridge_headers.core cimport bytes_for, dims, dynamic_rank, managed_tensor, rank2, tensor_view
from dlbridge_headers.python cimport argument, cast, tensor

cdef extern from *:
    cdef cppclass rgb "dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent, 3>":
        pass

ctypedef argument[const uint8_t, rgb] image_argument
ctypedef argument[float, rank2] gray_argument


def luma(image):
    """Brightness of an 8-bit image, 0 to 255, as an array of the image's library."""
    cdef image_argument pixels = cast[image_argument](image, "image", "luma")
    cdef int64_t rows = pixels.extent(0), columns = pixels.extent(1), i, j
    cdef gray_argument out = pixels.empty_like[float, rank2](dims(rows, columns))
    cdef float* row
    with nogil:
        for i in range(rows):
            row = out.data() + i * columns
            for j in range(columns):
                row[j] = 0.299 * pixels(i, j, 0) + 0.587 * pixels(i, j, 1) + 0.114 * pixels(i, j, 2)
    return move(out).give().release()
# [/luma]


# [scale]
ctypedef tensor[float, rank2] writable


def scale(pixels, float factor=2):
    """Multiplies an image in place."""
    cdef writable values = cast[writable](pixels, "pixels", "scale")
    cdef int64_t i, j
    with nogil:
        for i in range(values.extent(0)):
            for j in range(values.extent(1)):
                (&values(i, j))[0] *= factor
# [/scale]


# [mean]
cdef extern from *:
    cdef cppclass dense "dlbridge::tensor<float const, dlbridge::dynamic_rank, dlbridge::row_major>"(
        tensor[const float, dynamic_rank]
    ):
        pass


def mean(values):
    """The mean of a row-major array of any rank."""
    cdef dense x = cast[dense](values, "values", "mean")
    cdef const float* elements = x.data()
    cdef double sum = 0
    cdef int64_t i
    with nogil:
        for i in range(x.count()):
            sum += elements[i]
    return sum / x.count()
# [/mean]


# [describe]
def describe(x):
    """The memory of a tensor of any dtype, rank and device, for a library that sends its bytes."""
    cdef managed_tensor owned = cast[managed_tensor](x, "x", "describe")
    cdef tensor_view view = owned.view()  # valid as long as owned
    if not view.is_compact():
        raise BufferError("describe(): argument 'x' has gaps between its elements")
    return {
        "address": <uintptr_t> view.data(),
        "bytes": bytes_for(view.count(), view.dtype(), view.is_padded()),
        "dtype": (view.dtype().code, view.dtype().bits),
        "device": (view.device().type, view.device().id),
        "read_only": view.read_only(),
    }
# [/describe]

# SPDX-License-Identifier: BSD-3-Clause
# [image]
# cython: language_level=3, cpp_locals=True
# distutils: language = c++
"""Extension types that own memory, and export it."""
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from dlbridge_headers.core cimport description, dims, dtype, flag_read_only, kDLFloat, kDLInt
from dlbridge_headers.python cimport def_dlpack


cdef class Image:
    """A gray image of float32, black at first."""

    cdef float* pixels
    cdef int64_t shape[2]

    def __cinit__(self, int rows, int columns):
        if rows <= 0 or columns <= 0:
            raise ValueError(f"an image of {rows} rows and {columns} columns")
        self.pixels = <float*> calloc(rows, columns * sizeof(float))
        if self.pixels is NULL:
            raise MemoryError()
        self.shape[0], self.shape[1] = rows, columns

    def __dealloc__(self):
        free(self.pixels)


cdef description describe_image(object self) noexcept:
    cdef Image image = <Image> self
    return description.of(image.pixels, dims.from_(image.shape, 2))


def_dlpack(Image, describe_image)
# [/image]


# [column]
cdef class Column:
    """The bytes of a column of a file. A column of numbers is a read-only tensor."""

    cdef bytes stored
    cdef dtype type
    cdef bint is_text

    def __cinit__(self, bytes stored not None, str type not None):
        self.stored = stored
        self.is_text = type == "text"
        if type == "int64":
            self.type = dtype(kDLInt, 64)
        elif type == "float32":
            self.type = dtype(kDLFloat, 32)
        elif not self.is_text:
            raise ValueError(f"a column of {type}")


cdef description describe_column(object self) noexcept:
    cdef Column column = <Column> self
    cdef description d = description()
    if not column.is_text:
        d.data = <char*> column.stored
        d.type = column.type
        d.shape = dims(len(column.stored) * 8 // column.type.bits)
        d.flags = flag_read_only
    return d


cdef int prepare_column(object self) except -1:
    if (<Column> self).is_text:
        raise BufferError("a column of text is no tensor")
    return 0


def_dlpack(Column, describe_column, prepare_column)
# [/column]

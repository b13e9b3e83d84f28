# The C++ API of <dlbridge/python.hpp> for Cython: arguments of functions, and their results. The doc
# comments of the headers describe each name. A function without nogil requires the GIL. Refused tensors raise TypeError, other errors of dlbridge
# the exception of their reason. Needs Cython 3, with the directive cpp_locals.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from dlbridge_headers.core cimport dims

cdef extern from "dlbridge/python.hpp" namespace "dlbridge::python":
    # Handles a C++ exception: declare your own functions with `except +raise_in_python`.
    void raise_in_python "dlbridge::python::set_error_thrown"()

    cdef cppclass ref:
        object release() except *  # a new reference, or the pending exception

    # cast[P](object, name of the argument, name of the function)
    P cast[P](object, const char*, const char*) except +raise_in_python

cdef extern from "dlbridge/python.hpp" namespace "dlbridge":
    # Owning parameters, valid without the GIL. T is const for a tensor that is only read.
    cdef cppclass tensor[T, Shape=*]:
        T* data() nogil
        int rank() nogil
        int64_t extent(int) nogil
        int64_t stride(int) nogil
        int64_t count() nogil
        T& operator()(int64_t) nogil
        T& operator()(int64_t, int64_t) nogil
        T& operator()(int64_t, int64_t, int64_t) nogil

    cdef cppclass argument[T, Shape=*]:
        T* data() nogil
        int rank() nogil
        int64_t extent(int) nogil
        int64_t stride(int) nogil
        int64_t count() nogil
        T& operator()(int64_t) nogil
        T& operator()(int64_t, int64_t) nogil
        T& operator()(int64_t, int64_t, int64_t) nogil
        # A row-major tensor of the same library; U is no const.
        argument[U, S] empty_like[U, S](dims) except +raise_in_python nogil
        ref give()  # move(x).give().release() is an object of the library

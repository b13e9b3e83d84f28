# SPDX-License-Identifier: BSD-3-Clause
# [cython]
# cython: language_level=3, cpp_locals=True, freethreading_compatible=True
"""The extension with Cython."""
from libcpp.utility cimport move

from dlbridge_headers.core cimport description, dims, rank1
from dlbridge_headers.python cimport argument, cast, def_dlpack, raise_in_python, tensor

ctypedef argument[const float, rank1] samples
ctypedef argument[float, rank1] result
ctypedef tensor[float, rank1] writable_samples

cdef extern from "signal.hpp" namespace "signal_core":
    result c_smooth "signal_core::smooth"(samples) except +raise_in_python
    void c_scale "signal_core::scale"(writable_samples, float) except +raise_in_python
    cppclass track:
        track(size_t) except +raise_in_python
        float* data()
        size_t count()


def smooth(x):
    """The mean of each three samples."""
    cdef result out = c_smooth(cast[samples](x, "x", "smooth"))
    return move(out).give().release()


def scale(x, float factor):
    c_scale(cast[writable_samples](x, "x", "scale"), factor)


cdef class Track:
    cdef track* value

    def __cinit__(self, size_t count):
        self.value = new track(count)

    def __dealloc__(self):
        del self.value


cdef description describe_track(object self) noexcept:
    cdef track* value = (<Track> self).value
    return description.of(value.data(), dims(value.count()))


def_dlpack(Track, describe_track)
# [/cython]

# SPDX-License-Identifier: BSD-3-Clause
# The C++ API of <dlbridge/python.hpp> for Cython: arguments of functions, their results, and extension
# types that export their memory. The doc comments of the headers describe each name. A function without
# nogil requires the GIL. Refused tensors raise TypeError, other errors of dlbridge the exception of
# their reason. Needs Cython 3, with the directive cpp_locals.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from dlbridge_headers.core cimport description, dims

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

cdef extern from *:
    """
    namespace dlbridge_cython {
    // An object of an extension type, as the T of array_traits: they call functions of the module.
    template <auto Describe, auto Prepare, auto Stream>
    struct object_of {
      PyObject object;
    };
    template <class T>
    T& get(PyObject* self) {
      return reinterpret_cast<T&>(*self);
    }

    template <auto Stream>
    struct stream_of {
      template <class T>
      static dlbridge::stream_ref stream(T& self) noexcept {
        return dlbridge::stream_ref(dlbridge::describe(self).device, Stream(&self.object));
      }
    };
    template <>
    struct stream_of<nullptr> {};

    template <auto Describe, auto Prepare = nullptr, auto Stream = nullptr>
    void def_dlpack(PyTypeObject* type) {
      static_assert(sizeof(Describe) != 0 && CYTHON_USE_TYPE_SPECS,
                    "dlbridge: the extension type of def_dlpack must be a heap type. Compile the "
                    "module with -DCYTHON_USE_TYPE_SPECS=1");
      dlbridge::python::def_dlpack<&get<object_of<Describe, Prepare, Stream>>>(type);
    }
    }  // namespace dlbridge_cython

    template <auto Describe, auto Prepare, auto Stream>
    struct dlbridge::array_traits<dlbridge_cython::object_of<Describe, Prepare, Stream>>
        : dlbridge_cython::stream_of<Stream> {
      using array = dlbridge_cython::object_of<Describe, Prepare, Stream>;

      static description describe(array& self) noexcept { return Describe(&self.object); }
      static void prepare([[maybe_unused]] array& self) {
        if constexpr (!std::is_same_v<decltype(Prepare), std::nullptr_t>) {
          if (Prepare(&self.object) != 0) {
            throw dlbridge::python::python_error();
          }
        }
      }
    };

    // The functions are template arguments, so that each extension type has methods of its own.
    #define DLBRIDGE_CYTHON_DEF_DLPACK(type, ...) ::dlbridge_cython::def_dlpack<__VA_ARGS__>(type)
    """
    # Makes an extension type a DLPack producer, by cdef functions of the module, whose purposes are
    # those of array_traits: prepare may raise, and stream returns the handle of the stream that
    # orders the work on the memory. Needs -DCYTHON_USE_TYPE_SPECS=1.
    void def_dlpack "DLBRIDGE_CYTHON_DEF_DLPACK"(
        type extension_type, description (*describe)(object) noexcept
    ) except +raise_in_python
    void def_dlpack "DLBRIDGE_CYTHON_DEF_DLPACK"(
        type extension_type, description (*describe)(object) noexcept,
        int (*prepare)(object) except -1
    ) except +raise_in_python
    void def_dlpack "DLBRIDGE_CYTHON_DEF_DLPACK"(
        type extension_type, description (*describe)(object) noexcept,
        int (*prepare)(object) except -1, void* (*stream)(object) noexcept
    ) except +raise_in_python

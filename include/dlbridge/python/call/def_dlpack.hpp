// python::def_dlpack, buffer_slot: make a class that Python's C API defines a DLPack producer, by
// means of array_traits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Makes a class that Python's C API defines a DLPack producer: adds `__dlpack__`,
/// `__dlpack_device__`, the exchange table and, unless the class or a base has them, `__array__`
/// and `__iter__`, by which np.asarray and pandas read an object. Of pybind11's and nanobind's
/// classes, dlbridge::def_dlpack does so.
/// @tparam Get a function T& (PyObject* self), which returns the array of an object of the class.
///   T has array_traits. It may throw; of a python_error, the Python exception is raised.
/// @tparam Make a function PyObject* (T value), which returns a new object with an array that
///   array_traits<T>::adopt imported, or null with an exception set; or nullptr. Without it, and
///   without adopt, the exchange table imports a tensor as init states, or as a dlbridge.Tensor.
/// @param type a heap type, as of PyType_FromSpec
/// @param options dlbridge::shares, dlbridge::no_ufuncs
/// @throws python_error when the class refuses an attribute, as static types do
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists. With the option shares, an
/// exported tensor keeps a share of the memory instead.
/// @par Thread and GIL
/// The caller holds the GIL. Get and Make are called with it.
template <auto Get, auto Make = nullptr, class... Options>
void def_dlpack(PyTypeObject* type, [[maybe_unused]] Options... options);

/// The slot that gives a class with def_dlpack the buffer protocol: memoryview(x), for
/// PyType_FromSpec, and for nanobind in nb::type_slots. The CPU must be able to read the memory.
PyType_Slot buffer_slot() noexcept;

namespace detail {
// Adds __dlpack__, __dlpack_device__, the exchange table and, unless the class has them, __array__
// and __iter__. Returns false with an exception set when the class refuses an attribute.
// Operations: class_operations
// docs: of the four methods, in the form that the stub generator of the class reads
template <class Operations>
DLBRIDGE_LOCAL bool add_dlpack(PyTypeObject* type, char const* const (&docs)[4]) noexcept;
// The docstrings with the signature that inspect.signature reads, as nanobind's stubgen does.
constexpr char const* docs_to_inspect[] = {
    ("__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A capsule with the array's memory, which keeps the memory alive."),
    "__dlpack_device__($self, /)\n--\n\nThe device of the memory, (type, id).",
    "__array__($self, /, dtype=None, copy=None)\n--\n\nA NumPy array on the memory.",
    "__iter__($self, /)\n--\n\n"
    "An iterator over x[0], x[1], ... or, without __getitem__, over the rows of the array."};

// The Library of class_operations for a class of Python's C API.
template <auto Get, auto Make>
struct object_functions {
  static constexpr bool makes_objects = !std::is_same_v<decltype(Make), std::nullptr_t>;

  template <class T>
  static T& get(PyObject* self) {
    return Get(self);
  }
  template <class T>
  static PyObject* make(T value);
  static void translate() noexcept { set_standard_error_thrown(); }
};
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/def_dlpack.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/def_dlpack.ipp>
#endif

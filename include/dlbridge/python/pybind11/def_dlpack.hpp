// dlbridge::def_dlpack: makes a class that pybind11 binds a DLPack producer, by means of its
// array_traits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include <dlbridge/python/call/def_dlpack.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
// The Library of class_operations.
struct object_access : translator {
  static constexpr bool makes_objects = true;

  template <class T>
  static T& get(PyObject* self);
  template <class T>
  static PyObject* make(T value) {
    return py::cast(std::move(value)).release().ptr();
  }
};

// Gives a class the buffer that Python asks for if its author passed py::buffer_protocol(), unless
// the class or a base has one.
template <class T, class... Extra>
void add_buffer(py::class_<T, Extra...>& bound_class);
}  // namespace python::on_pybind11

/// Makes a class with array_traits a DLPack producer: adds `__dlpack__`, `__dlpack_device__`, the
/// exchange table and, unless the class or a base has them, `__array__` and `__iter__`, by which
/// np.asarray and pandas read an object. With py::buffer_protocol(), the class also gets the buffer
/// protocol, unless it or a base has one.
/// @param bound_class the class
/// @param options dlbridge::shares, dlbridge::no_ufuncs
/// @throws pybind11::error_already_set when the class refuses an attribute
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists. With the option shares, an
/// exported tensor keeps a share of the memory instead.
template <class T, class... Extra, class... Options>
DLBRIDGE_LOCAL void def_dlpack(pybind11::class_<T, Extra...>& bound_class,
                               [[maybe_unused]] Options... options);

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/pybind11/def_dlpack.inl>

// dlbridge::def_dlpack: makes a class that nanobind binds a DLPack producer, by means of its
// array_traits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/def_dlpack.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
// The Library of class_operations.
struct object_access : translator {
  static constexpr bool makes_objects = true;

  template <class T>
  static T& get(PyObject* self);
  template <class T>
  static PyObject* make(T value) {
    return nb::cast(std::move(value)).release().ptr();
  }
};
}  // namespace python::on_nanobind

/// Makes a class with array_traits a DLPack producer: adds `__dlpack__`, `__dlpack_device__`, the
/// exchange table and, unless the class or a base has them, `__array__` and `__iter__`, by which
/// np.asarray and pandas read an object. For the buffer protocol, pass
/// dlbridge::python::buffer_slot() in nb::type_slots.
/// @param bound_class the class
/// @param options dlbridge::shares, dlbridge::no_ufuncs
/// @throws nanobind::python_error when the class refuses an attribute
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists. With the option shares, an
/// exported tensor keeps a share of the memory instead.
template <class T, class... Extra, class... Options>
DLBRIDGE_LOCAL void def_dlpack(::nanobind::class_<T, Extra...>& bound_class,
                               [[maybe_unused]] Options... options);

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/nanobind/def_dlpack.inl>

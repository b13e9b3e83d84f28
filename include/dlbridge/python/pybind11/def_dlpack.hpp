// dlbridge::def_dlpack: makes a class that pybind11 binds a DLPack producer, by means of its
// array_traits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include <dlbridge/python/call/binding/class_operations.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/def_dlpack.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// The Library of class_operations.
struct object_access : translator {
  static constexpr bool makes_objects = true;

  template <class T>
  static T& get(PyObject* self) {
    if (!is_initialized(self)) {
      throw py::type_error(detail::not_initialized);
    }
    return py::cast<T&>(py::handle(self));
  }
  template <class T>
  static PyObject* make(T value) {
    return py::cast(std::move(value)).release().ptr();
  }

 private:
  // Whether the C++ object exists: pybind11's cast would allocate memory for it, which no
  // constructor has initialized.
  static bool is_initialized(PyObject* self) {
    auto* const object = reinterpret_cast<py::detail::instance*>(self);
    for (py::detail::value_and_holder const& each : py::detail::values_and_holders(object)) {
      if (each.value_ptr() == nullptr || (object->owned && !each.holder_constructed())) {
        return false;
      }
    }
    return true;
  }
};
}  // namespace on_pybind11
}  // namespace python

/// Makes a class with array_traits a DLPack producer: adds __dlpack__, __dlpack_device__ and the
/// exchange table.
/// @param bound_class the class
/// @throws pybind11::error_already_set when the class refuses an attribute
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists.
template <class T, class... Options>
DLBRIDGE_LOCAL void def_dlpack(pybind11::class_<T, Options...>& bound_class) {
  using operations = python::detail::class_operations<python::on_pybind11::object_access, T>;
  // The docstrings have pybind11's form, which stub generators read.
  if (!python::detail::add_dlpack<operations>(
          reinterpret_cast<PyTypeObject*>(bound_class.ptr()),
          "__dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = "
          "None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> "
          "typing.Any\n\nA capsule with the array's memory, which keeps the array alive.",
          "__dlpack_device__(self) -> tuple[int, int]\n\nThe device of the memory, (type, id).")) {
    throw pybind11::error_already_set();
  }
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

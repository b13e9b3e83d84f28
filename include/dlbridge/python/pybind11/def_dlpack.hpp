// dlbridge::def_dlpack: makes a class that pybind11 binds a DLPack producer, by means of its
// array_traits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include <dlbridge/python/call/def_dlpack.hpp>
#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

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
};

// Gives a class the buffer that Python asks for if its author passed py::buffer_protocol(), unless
// the class or a base has one.
template <class T, class... Extra>
void add_buffer(py::class_<T, Extra...>& bound_class) {
  auto* const type = reinterpret_cast<PyTypeObject*>(bound_class.ptr());
  if (type->tp_as_buffer == nullptr || has_buffer(type)) {
    return;
  }
  bound_class.def_buffer([](T& array) {
    py::object const self = py::cast(array, py::return_value_policy::reference);
    auto buffer = std::make_unique<Py_buffer>();
    if (detail::buffer_of_producer(self.ptr(), buffer.get(), PyBUF_FULL_RO) != 0) {
      throw py::error_already_set();
    }
    return py::buffer_info(buffer.release());  // which releases the buffer
  });
}
}  // namespace on_pybind11
}  // namespace python

/// Makes a class with array_traits a DLPack producer: adds __dlpack__, __dlpack_device__, the
/// exchange table and, unless the class or a base has them, __array__ and __iter__, by which
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
                               [[maybe_unused]] Options... options) {
  using operations = python::detail::class_operations<python::on_pybind11::object_access, T,
                                                      python::detail::export_options<Options...>>;
  auto* const type = reinterpret_cast<PyTypeObject*>(bound_class.ptr());
  // The docstrings have pybind11's form, which stub generators read.
  constexpr char const* docs[] = {
      ("__dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = None, "
       "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any\n\n"
       "A capsule with the array's memory, which keeps the memory alive."),
      "__dlpack_device__(self) -> tuple[int, int]\n\nThe device of the memory, (type, id).",
      ("__array__(self, dtype: typing.Any = None, copy: bool | None = None) -> typing.Any\n\n"
       "A NumPy array on the memory."),
      ("__iter__(self) -> collections.abc.Iterator[typing.Any]\n\n"
       "An iterator over the rows of the array.")};
  if (!python::detail::add_dlpack<operations>(type, docs)) {
    throw pybind11::error_already_set();
  }
  python::on_pybind11::add_buffer(bound_class);
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

// The inline bodies of def_dlpack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/pybind11/def_dlpack.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
template <class T>
inline T& object_access::get(PyObject* self) {
  if (!is_initialized(self)) {
    throw py::type_error(detail::not_initialized);
  }
  return py::cast<T&>(py::handle(self));
}

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
}  // namespace python::on_pybind11

template <class T, class... Extra, class... Options>
void def_dlpack(pybind11::class_<T, Extra...>& bound_class, [[maybe_unused]] Options... options) {
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
       "An iterator over x[0], x[1], ... or, without __getitem__, over the rows of the array.")};
  if (!python::detail::add_dlpack<operations>(type, docs)) {
    throw pybind11::error_already_set();
  }
  python::on_pybind11::add_buffer(bound_class);
}

DLBRIDGE_END_NAMESPACE

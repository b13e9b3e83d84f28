// The bodies of bind.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <utility>

#include <dlbridge/python/call/detail/typing_names.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/pybind11/detail/bind.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
DLBRIDGE_API py::object sibling_in(py::handle scope, char const* name) {
  ref attribute = optional_attribute(scope.ptr(), name);
  if (PyErr_Occurred() != nullptr) {
    throw_pending();
  }
  return attribute ? checked(std::move(attribute)) : py::none();
}

DLBRIDGE_API void add_attribute(py::handle scope, char const* name, py::object function) {
  scope.attr(name) = std::move(function);
  if (!add_typing_names(scope.ptr())) {
    throw_pending();
  }
  // As in Python, a class that defines __eq__ and no __hash__ is not hashable.
  if (std::strcmp(name, "__eq__") == 0 && PyType_Check(scope.ptr()) != 0 &&
      !scope.attr("__dict__").contains("__hash__")) {
    scope.attr("__hash__") = py::none();
  }
}

DLBRIDGE_API void insert_property(py::handle bound, char const* name, py::handle getter,
                                  py::handle setter, char const* doc) {
  py::handle const property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  py::setattr(bound, name, property(getter, setter, py::none(), doc));
}
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

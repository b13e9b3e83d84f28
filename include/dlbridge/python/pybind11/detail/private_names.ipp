// The bodies of private_names.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/pybind11/detail/private_names.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
DLBRIDGE_API bool is_initialized(PyObject* self) {
  auto* const object = reinterpret_cast<py::detail::instance*>(self);
  for (auto const& each : py::detail::values_and_holders(object)) {
    if (each.value_ptr() == nullptr || (object->owned && !each.holder_constructed())) {
      return false;
    }
  }
  return true;
}

DLBRIDGE_API bool has_buffer(PyTypeObject* type) {
  for (py::handle each : py::reinterpret_borrow<py::tuple>(type->tp_mro)) {
    auto* const info = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(each.ptr()));
    if (info != nullptr && info->get_buffer != nullptr) {
      return true;
    }
  }
  return false;
}
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

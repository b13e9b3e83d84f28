// The inline bodies of def_dlpack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/nanobind/def_dlpack.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
template <class T>
inline T& object_access::get(PyObject* self) {
  if (set_not_initialized(self)) {
    throw_pending();
  }
  return nb::cast<T&>(nb::handle(self));
}
}  // namespace python::on_nanobind

template <class T, class... Extra, class... Options>
void def_dlpack(::nanobind::class_<T, Extra...>& bound_class, [[maybe_unused]] Options... options) {
  using operations = python::detail::class_operations<python::on_nanobind::object_access, T,
                                                      python::detail::export_options<Options...>>;
  if (!python::detail::add_dlpack<operations>(reinterpret_cast<PyTypeObject*>(bound_class.ptr()),
                                              python::detail::docs_to_inspect)) {
    python::on_nanobind::throw_pending();
  }
}

DLBRIDGE_END_NAMESPACE

// The bodies of type_cache.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/python/import/detail/type_cache.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_NOINLINE DLBRIDGE_API void type_cache::set_export_path(PyTypeObject* type,
                                                                library_row const* library,
                                                                ref function) noexcept {
  type_entry& entry = slot(type);
  if (is_valid(entry, type)) {
    entry.library = library;
    entry.from_dlpack = function.release();
    entry.has_export_path = true;
  }
}

DLBRIDGE_API type_entry& type_cache::slot(PyTypeObject* type) noexcept {
  type_entry* const slots = slots_of(type);
  for (std::size_t i = 0; i < window; ++i) {
    if (slots[i].type == type || slots[i].type == nullptr) {
      return slots[i];
    }
  }
  return *slots;
}

DLBRIDGE_NOINLINE DLBRIDGE_API type_entry const* type_cache::find_further(
    PyTypeObject* type) noexcept {
  type_entry const& entry = slot(type);
  return is_valid(entry, type) ? &entry : nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API type_entry const& type_cache::renew(PyTypeObject* type) noexcept {
  type_entry& entry = slot(type);
  if (!is_valid(entry, type)) {
    api<detail::forget>(&entry.state);  // Python code may run
#if defined(Py_GIL_DISABLED)
    xdecref(std::exchange(entry.dlpack, nullptr));  // Python code may run
#endif
    entry = detail::look_up_type(type);
  }
  return entry;
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API bool may_import(PyObject* object, import_path path) noexcept {
  property_tests const tests = type_cache::get(Py_TYPE(object)).tests;
  return !tests || pass_tests(tests, object, path);
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool may_write(PyObject* object) noexcept {
  property_tests const tests = type_cache::get(Py_TYPE(object)).tests;
  return !tests || !is_recorded(tests, object);
}
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

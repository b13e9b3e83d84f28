// The bodies of lookups.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API ref optional_attribute(PyObject* object, PyObject* name) noexcept {
  ref attribute = ref::steal(api<PyObject_GetAttr>(object, name));
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    api<PyErr_Clear>();
  }
  return attribute;
}

DLBRIDGE_API ref optional_attribute(PyObject* object, char const* name) noexcept {
  ref attribute = ref::steal(api<PyObject_GetAttrString>(object, name));
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    api<PyErr_Clear>();
  }
  return attribute;
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API ref import_function(char const* module,
                                                   char const* function) noexcept {
  ref const owner = ref::steal(api<PyImport_ImportModule>(module));
  return owner ? ref::steal(api<PyObject_GetAttrString>(owner.get(), function)) : ref();
}
}  // namespace detail

DLBRIDGE_API ref type_attribute(PyTypeObject* type, PyObject* name) noexcept {
  return ref::steal(api<detail::stored_attribute>(type, name));
}

DLBRIDGE_API ref dict_item(PyObject* dict, PyObject* key) noexcept {
#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_LIMITED_API)
  PyObject* value = nullptr;
  static_cast<void>(api<PyDict_GetItemRef>(dict, key, &value));
  return ref::steal(value);
#else
  return ref::borrow(api<PyDict_GetItemWithError>(dict, key));
#endif
}

DLBRIDGE_API ref classes_of(PyTypeObject* type) noexcept {
  return ref::steal(api<detail::mro_of>(type));
}

DLBRIDGE_API ref base_of(PyTypeObject* type) noexcept {
  return ref::steal(api<detail::layout_base_of>(type));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

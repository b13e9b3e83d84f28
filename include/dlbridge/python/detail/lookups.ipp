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
#if defined(Py_GIL_DISABLED)
  return ref::steal(api<_PyType_LookupRef>(type, name));
#else
  return ref::borrow(api<_PyType_Lookup>(type, name));
#endif
}

DLBRIDGE_API ref dict_item(PyObject* dict, PyObject* key) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* value = nullptr;
  static_cast<void>(api<PyDict_GetItemRef>(dict, key, &value));
  return ref::steal(value);
#else
  return ref::borrow(api<PyDict_GetItemWithError>(dict, key));
#endif
}

#if defined(Py_GIL_DISABLED)
namespace detail {
// What a getter of type, such as that of __mro__, returns for a type. It takes the reference while
// no other thread changes the type, and no metaclass replaces it.
inline ref read_type(PyTypeObject* type, char const* name, lazy_object& getter) noexcept {
  PyObject* const found = getter.get([name]() noexcept {
    ref const interned = ref::steal(api<PyUnicode_InternFromString>(name));
    return interned ? type_attribute(&PyType_Type, interned.get()) : ref();
  });
  ref value = found != nullptr ? ref::steal(call_slot(Py_TYPE(found)->tp_descr_get, found,
                                                      reinterpret_cast<PyObject*>(type),
                                                      reinterpret_cast<PyObject*>(&PyType_Type)))
                               : ref();
  suppress_exception();
  return value.get() != Py_None ? std::move(value) : ref();
}
}  // namespace detail
#endif

DLBRIDGE_API ref classes_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  static lazy_object getter;
  return detail::read_type(type, "__mro__", getter);
#else
  return ref::borrow(type->tp_mro);
#endif
}

DLBRIDGE_API ref base_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  static lazy_object getter;
  return detail::read_type(type, "__base__", getter);
#else
  return ref::borrow(reinterpret_cast<PyObject*>(type->tp_base));
#endif
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

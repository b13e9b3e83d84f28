// optional_attribute, import_function, type_attribute, dict_item, classes_of, base_of: look up
// attributes, functions of modules, and the bases of classes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Looks up an attribute that an object may lack.
/// @return the attribute; empty when the lookup raised. The function clears an AttributeError; any
///   other exception stays pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
inline ref optional_attribute(PyObject* object, PyObject* name) noexcept {
  ref attribute = ref::steal(api<PyObject_GetAttr>(object, name));
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    api<PyErr_Clear>();
  }
  return attribute;
}
/// The same for a name of characters.
inline ref optional_attribute(PyObject* object, char const* name) noexcept {
  ref attribute = ref::steal(api<PyObject_GetAttrString>(object, name));
  if (!attribute && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    api<PyErr_Clear>();
  }
  return attribute;
}

namespace detail {
// An attribute of a module, which is imported if necessary; empty, with an exception set, on
// failure.
DLBRIDGE_COLD inline ref import_function(char const* module, char const* function) noexcept {
  ref const owner = ref::steal(api<PyImport_ImportModule>(module));
  return owner ? ref::steal(api<PyObject_GetAttrString>(owner.get(), function)) : ref();
}
}  // namespace detail

/// The attribute of a type or of its bases as it is stored, without a call of Python code.
/// @return the attribute; empty, without an exception, when there is none.
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref type_attribute(PyTypeObject* type, PyObject* name) noexcept {
#if defined(Py_GIL_DISABLED)
  return ref::steal(api<_PyType_LookupRef>(type, name));
#else
  return ref::borrow(api<_PyType_Lookup>(type, name));
#endif
}

/// The value of a key in a dict.
/// @return the value; empty, without an exception, when there is none; empty with one after an
///   exception of the key.
/// @par Thread and GIL
/// The caller holds the GIL. Another thread may change the dict meanwhile.
inline ref dict_item(PyObject* dict, PyObject* key) noexcept {
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

/// A class and those from which it is derived, in the order in which attributes are looked up. The
/// tuple stays as it is when Python code, or another thread, gives the class other bases.
/// @return the tuple; empty for a class that is not complete.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_LOCAL inline ref classes_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  static lazy_object getter;
  return detail::read_type(type, "__mro__", getter);
#else
  return ref::borrow(type->tp_mro);
#endif
}

/// The class from which the objects of a class have their layout.
/// @return the class; empty for object.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_LOCAL inline ref base_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  static lazy_object getter;
  return detail::read_type(type, "__base__", getter);
#else
  return ref::borrow(reinterpret_cast<PyObject*>(type->tp_base));
#endif
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

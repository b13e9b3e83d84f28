// Implements private_api.hpp with the full C API of one version of CPython.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != nullptr;
#else
  PyThreadState* const current = _PyThreadState_UncheckedGet();
  return current != nullptr && current == PyGILState_GetThisThreadState();
#endif
}

bool may_hold_gil() noexcept { return PyGILState_Check() != 0; }

bool finalizes_interpreter() noexcept {
  PyThreadState* const own = PyGILState_GetThisThreadState();
  PyInterpreterState* const main = own != nullptr ? PyInterpreterState_Main() : nullptr;
  return main != nullptr && PyInterpreterState_ThreadHead(main) == own;
}

Py_ssize_t tuple_size(PyObject* tuple) noexcept { return PyTuple_GET_SIZE(tuple); }
PyObject* tuple_item(PyObject* tuple, Py_ssize_t i) noexcept { return PyTuple_GET_ITEM(tuple, i); }
void set_tuple_item(PyObject* tuple, Py_ssize_t i, PyObject* item) noexcept {
  PyTuple_SET_ITEM(tuple, i, item);
}
Py_ssize_t list_size(PyObject* list) noexcept { return PyList_GET_SIZE(list); }
PyObject* list_item(PyObject* list, Py_ssize_t i) noexcept { return PyList_GET_ITEM(list, i); }
void set_list_item(PyObject* list, Py_ssize_t i, PyObject* item) noexcept {
  PyList_SET_ITEM(list, i, item);
}

double float_value(PyObject* number) noexcept { return PyFloat_AS_DOUBLE(number); }

complex_parts complex_value(PyObject* number) {
  Py_complex const value = PyComplex_AsCComplex(number);
  return {value.real, value.imag};
}

bool is_known_ascii(PyObject* text) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyUnicode_IS_ASCII(text) != 0;
#else  // a macro with a cast of C
  return reinterpret_cast<PyASCIIObject*>(text)->state.ascii != 0;
#endif
}

PyObject* call_with(PyObject* function, PyObject* argument) {
  return PyObject_CallOneArg(function, argument);
}
PyObject* run_source(char const* source, PyObject* space) {
  return (PyRun_String)(source, Py_file_input, space, space);  // the function, not a macro
}
PyObject* call_named(PyObject* object, PyObject* name) {
  return PyObject_CallMethodNoArgs(object, name);
}
PyObject* call_vector(PyObject* function, PyObject** arguments, std::size_t positional,
                      PyObject* names) {
  return PyObject_Vectorcall(function, arguments, positional | may_use_place_before, names);
}

vector_function** place_of_vectorcall(PyObject* function) noexcept {
  PyTypeObject const* const type = Py_TYPE(function);
  return type->tp_vectorcall_offset > 0 && type->tp_itemsize != 0
             ? reinterpret_cast<vector_function**>(reinterpret_cast<char*>(function) +
                                                   type->tp_vectorcall_offset)
             : nullptr;
}

inline type_name::type_name(PyTypeObject* type) noexcept : text_(type->tp_name) {}

PyObject* stored_attribute(PyTypeObject* type, PyObject* name) {
#if defined(Py_GIL_DISABLED)
  return _PyType_LookupRef(type, name);
#else
  PyObject* const attribute = _PyType_Lookup(type, name);
  Py_XINCREF(attribute);
  return attribute;
#endif
}

#if defined(Py_GIL_DISABLED)
// What a getter of type, such as that of __mro__, returns for a type. It takes the reference while
// no other thread changes the type, and no metaclass replaces it.
inline PyObject* read_type(PyTypeObject* type, char const* name) {
  PyObject* const interned = PyUnicode_InternFromString(name);
  PyObject* const getter = interned != nullptr ? stored_attribute(&PyType_Type, interned) : nullptr;
  Py_XDECREF(interned);
  PyObject* value = nullptr;
  if (getter != nullptr) {
    value = Py_TYPE(getter)->tp_descr_get(getter, reinterpret_cast<PyObject*>(type),
                                          reinterpret_cast<PyObject*>(&PyType_Type));
    Py_DECREF(getter);
  }
  if (value == nullptr) {
    PyErr_Clear();
  } else if (value == Py_None) {
    Py_CLEAR(value);
  }
  return value;
}
PyObject* mro_of(PyTypeObject* type) { return read_type(type, "__mro__"); }
PyObject* layout_base_of(PyTypeObject* type) { return read_type(type, "__base__"); }
#else
PyObject* mro_of(PyTypeObject* type) {
  Py_XINCREF(type->tp_mro);
  return type->tp_mro;
}
PyObject* layout_base_of(PyTypeObject* type) {
  Py_XINCREF(type->tp_base);
  return reinterpret_cast<PyObject*>(type->tp_base);
}
#endif

inline unsigned tag_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  return _Py_atomic_load_uint_relaxed(&type->tp_version_tag);  // another thread may assign it
#else
#if PY_VERSION_HEX < 0x030A0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
    return 0;
  }
#endif
  return type->tp_version_tag;
#endif
}
type_state state_of(PyTypeObject* type) { return {tag_of(type)}; }
void rely_on(type_state*, PyTypeObject*, PyObject*) {}
bool is_in(PyTypeObject* type, type_state const& state) noexcept {
  return state.tag != 0 && state.tag == tag_of(type);
}
void forget(type_state*) {}

bool has_generic_lookup(PyTypeObject* type) noexcept {
  return type->tp_getattro == &PyObject_GenericGetAttr;
}

bool has_type_attributes_only(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  if (PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) {
    return false;
  }
#endif
  return type->tp_dictoffset == 0 && has_generic_lookup(type);
}

bool may_have_own(PyObject* object, PyObject* name) {
  PyObject* const* const dict = _PyObject_GetDictPtr(object);
  if (dict == nullptr) {  // there is no memory for it
    return true;
  }
  return *dict != nullptr &&
         (PyDict_GetItemWithError(*dict, name) != nullptr || PyErr_Occurred() != nullptr);
}

Py_ssize_t object_size(PyTypeObject* type) noexcept { return type->tp_basicsize; }

bool converts_to_number(PyTypeObject* type) noexcept {
  PyNumberMethods const* const number = type->tp_as_number;
  return number != nullptr && (number->nb_float != nullptr || number->nb_index != nullptr);
}

bool has_len(PyTypeObject* type) noexcept {
  return (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_length != nullptr) ||
         (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr);
}

bool has_iter(PyTypeObject* type) noexcept { return type->tp_iter != nullptr; }
bool has_descr_get(PyTypeObject* type) noexcept { return type->tp_descr_get != nullptr; }

void forbid_calls(PyTypeObject* type) noexcept { type->tp_new = nullptr; }

void set_weak_references(PyTypeObject* type, Py_ssize_t offset) noexcept {
  type->tp_weaklistoffset = offset;
}
PyType_Slot weak_references_slot(Py_ssize_t) noexcept { return {0, nullptr}; }

bool is_python_function(PyObject* object) noexcept { return PyFunction_Check(object); }

bool is_method_of(PyObject* method, PyObject* function) noexcept {
  return PyMethod_Check(method) && reinterpret_cast<PyMethodObject*>(method)->im_func == function;
}

bool is_method_descriptor(PyObject* object) noexcept {
  return Py_TYPE(object) == &PyMethodDescr_Type;
}

bool lacks_parameter(PyObject* function, PyObject* keyword) {
  auto const& code = *reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
#if PY_VERSION_HEX >= 0x030B0000
  PyObject* const variables = code.co_localsplusnames;
#else
  PyObject* const variables = code.co_varnames;
#endif
  bool has = (code.co_flags & CO_VARKEYWORDS) != 0;
  for (Py_ssize_t i = 0; i < code.co_argcount + code.co_kwonlyargcount; ++i) {  // all interned
    has = has || PyTuple_GET_ITEM(variables, i) == keyword;
  }
  return !has;
}

property_reader reader_of(PyTypeObject* type, PyObject* name, bool is_method) {
  property_reader reader;
  PyObject* const attribute = has_generic_lookup(type) ? stored_attribute(type, name) : nullptr;
  if (attribute == nullptr) {
    return reader;
  }
  auto const serves = [&](PyTypeObject* kind) {
    return Py_TYPE(attribute) == kind &&
           PyType_IsSubtype(type, reinterpret_cast<PyDescrObject const*>(attribute)->d_type) != 0;
  };
  if (is_method && serves(&PyMethodDescr_Type)) {
    PyMethodDef const& method = *reinterpret_cast<PyMethodDescrObject*>(attribute)->d_method;
    reader.method = method.ml_flags == METH_NOARGS ? method.ml_meth : nullptr;
  } else if (!is_method && serves(&PyGetSetDescr_Type)) {
    PyGetSetDef const& property = *reinterpret_cast<PyGetSetDescrObject*>(attribute)->d_getset;
    reader.property = property.get;
    reader.closure = property.closure;
  }
  Py_DECREF(attribute);
  return reader;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

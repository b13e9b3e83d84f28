// Implements private_api.hpp with the limited API, for one binary that every version loads.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// A function that the running interpreter exports under one of two names; null without one.
template <class Function>
inline Function* find_exported([[maybe_unused]] char const* name,
                               [[maybe_unused]] char const* former = nullptr) noexcept {
#if defined(_WIN32)
  return nullptr;
#else
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Function*>(
      found != nullptr || former == nullptr ? found : ::dlsym(RTLD_DEFAULT, former));
#endif
}

bool is_finalizing() noexcept {
  static auto* const found = find_exported<int()>("Py_IsFinalizing", "_Py_IsFinalizing");
  return found != nullptr && found() != 0;
}

bool holds_gil() noexcept {
  static auto* const found =
      find_exported<PyThreadState*()>("PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");
  PyThreadState* const own = PyGILState_GetThisThreadState();
  return found != nullptr && own != nullptr && found() == own;
}

bool may_hold_gil() noexcept {
  static auto* const found = find_exported<int()>("PyGILState_Check");
  return found == nullptr || found() != 0;
}

bool finalizes_interpreter() noexcept {
  using state = PyInterpreterState;
  static auto* const main = find_exported<state*()>("PyInterpreterState_Main");
  static auto* const head = find_exported<PyThreadState*(state*)>("PyInterpreterState_ThreadHead");
  PyThreadState* const own = PyGILState_GetThisThreadState();
  return own != nullptr && main != nullptr && head != nullptr && main() != nullptr &&
         head(main()) == own;
}

Py_ssize_t tuple_size(PyObject* tuple) noexcept { return PyTuple_Size(tuple); }
PyObject* tuple_item(PyObject* tuple, Py_ssize_t i) noexcept { return PyTuple_GetItem(tuple, i); }
void set_tuple_item(PyObject* tuple, Py_ssize_t i, PyObject* item) noexcept {
  PyTuple_SetItem(tuple, i, item);
}
Py_ssize_t list_size(PyObject* list) noexcept { return PyList_Size(list); }
PyObject* list_item(PyObject* list, Py_ssize_t i) noexcept { return PyList_GetItem(list, i); }
void set_list_item(PyObject* list, Py_ssize_t i, PyObject* item) noexcept {
  PyList_SetItem(list, i, item);
}

double float_value(PyObject* number) noexcept { return PyFloat_AsDouble(number); }

complex_parts complex_value(PyObject* number) {
  if (PyUnicode_Check(number)) {  // which complex() would parse
    return {PyFloat_AsDouble(number), 0};
  }
  PyObject* const value =
      PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyComplex_Type), number, nullptr);
  if (value == nullptr) {
    return {-1, 0};
  }
  complex_parts const parts{PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
  Py_DECREF(value);
  return parts;
}

bool is_known_ascii(PyObject*) noexcept { return false; }

PyObject* call_with(PyObject* function, PyObject* argument) {
  return PyObject_CallFunctionObjArgs(function, argument, nullptr);
}
PyObject* run_source(char const* source, PyObject* space) {
  PyObject* const code = Py_CompileString(source, "<dlbridge>", Py_file_input);
  PyObject* const result = code != nullptr ? PyEval_EvalCode(code, space, space) : nullptr;
  Py_XDECREF(code);
  return result;
}
PyObject* call_named(PyObject* object, PyObject* name) {
  return PyObject_CallMethodObjArgs(object, name, nullptr);
}

PyObject* call_vector(PyObject* function, PyObject** arguments, std::size_t positional,
                      PyObject* names) {
  static auto* const found = find_exported<vector_function>("PyObject_Vectorcall");
  if (found != nullptr) {
    return found(function, arguments, positional | may_use_place_before, names);
  }
  auto const count = static_cast<Py_ssize_t>(positional);
  Py_ssize_t const named = names != nullptr ? PyTuple_Size(names) : 0;
  PyObject* const items = PyTuple_New(count);
  PyObject* const keywords = named != 0 ? PyDict_New() : nullptr;
  bool is_complete = items != nullptr && (named == 0 || keywords != nullptr);
  for (Py_ssize_t i = 0; is_complete && i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SetItem(items, i, arguments[i]);
  }
  for (Py_ssize_t i = 0; is_complete && i < named; ++i) {
    is_complete = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), arguments[count + i]) == 0;
  }
  PyObject* const result = is_complete ? PyObject_Call(function, items, keywords) : nullptr;
  Py_XDECREF(items);
  Py_XDECREF(keywords);
  return result;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/detail/limited_types.inl>
#if Py_LIMITED_API + 0 < 0x030B0000
#include <dlbridge/python/detail/limited_buffers.inl>
#endif

// The bodies of pending_exception.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API ref take_exception() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return ref::steal(PyErr_GetRaisedException());
#else
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) {
    return ref();
  }
  api<PyErr_NormalizeException>(&type, &value, &traceback);
  if (traceback != nullptr) {
    api<PyException_SetTraceback>(value, traceback);
  }
  xdecref(type);
  xdecref(traceback);
  return ref::steal(value);
#endif
}

DLBRIDGE_API void set_exception(ref exception) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  api<PyErr_SetRaisedException>(exception.release());
#else
  PyObject* const value = exception.release();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  Py_INCREF(type);
  api<PyErr_Restore>(type, value, PyException_GetTraceback(value));
#endif
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool is_raised_by_python() noexcept {
  ref exception = take_exception();
  bool const has_traceback =
      static_cast<bool>(ref::steal(PyException_GetTraceback(exception.get())));
  set_exception(std::move(exception));
  return has_traceback;
}

DLBRIDGE_API bool is_suppressible(PyObject* exception) noexcept {
  return PyErr_GivenExceptionMatches(exception, PyExc_Exception) != 0 &&
         PyErr_GivenExceptionMatches(exception, PyExc_MemoryError) == 0 &&
         PyErr_GivenExceptionMatches(exception, PyExc_RecursionError) == 0;
}

DLBRIDGE_API bool suppress_exception() noexcept {
  PyObject* const pending = PyErr_Occurred();
  if (pending != nullptr && !is_suppressible(pending)) {
    return false;
  }
  api<PyErr_Clear>();
  return true;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

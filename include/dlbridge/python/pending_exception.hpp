// take_exception, set_exception, suppress_exception, error_keeper: the pending Python exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Removes the pending exception for the lifetime of this object, and restores it at the end. A
/// destructor that runs while an exception is pending thereby preserves it (spec 3.4). The object
/// discards an exception that is pending at the end of its own lifetime: code that must not lose it
/// reports it first.
/// @par Thread and GIL
/// The thread holds the GIL at construction and destruction.
class error_keeper {
 public:
  error_keeper() noexcept : pending_(PyErr_Occurred() != nullptr) {
    if (pending_) {
#if PY_VERSION_HEX >= 0x030C0000
      value_ = PyErr_GetRaisedException();
#else
      PyErr_Fetch(&type_, &value_, &traceback_);
#endif
    }
  }
  ~error_keeper() {
    if (!pending_ && PyErr_Occurred() == nullptr) {
      return;  // the common case
    }
#if PY_VERSION_HEX >= 0x030C0000
    api<PyErr_SetRaisedException>(value_);
#else
    api<PyErr_Restore>(type_, value_, traceback_);
#endif
  }
  error_keeper(error_keeper const&) = delete;
  error_keeper& operator=(error_keeper const&) = delete;

 private:
  bool pending_;
#if PY_VERSION_HEX < 0x030C0000
  PyObject* type_ = nullptr;
  PyObject* traceback_ = nullptr;
#endif
  PyObject* value_ = nullptr;
};

/// Removes the pending exception and returns it as an object, normalized and with its traceback.
/// @return the exception; empty when none is pending.
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref take_exception() noexcept {
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

/// Makes an exception object the pending exception, in place of one that is pending.
/// @pre exception is not empty.
/// @par Thread and GIL
/// The caller holds the GIL.
inline void set_exception(ref exception) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  api<PyErr_SetRaisedException>(exception.release());
#else
  PyObject* const value = exception.release();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  Py_INCREF(type);
  api<PyErr_Restore>(type, value, PyException_GetTraceback(value));
#endif
}

/// Whether Python code raised the pending exception, which then has a traceback.
/// @pre an exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline bool is_raised_by_python() noexcept {
  ref exception = take_exception();
  bool const has_traceback =
      static_cast<bool>(ref::steal(PyException_GetTraceback(exception.get())));
  set_exception(std::move(exception));
  return has_traceback;
}

/// Whether code may go on after an exception of this object or class: one that derives from
/// Exception, and is no MemoryError and no RecursionError. Others, such as KeyboardInterrupt, reach
/// the caller.
/// @par Thread and GIL
/// The caller holds the GIL.
inline bool is_suppressible(PyObject* exception) noexcept {
  return PyErr_GivenExceptionMatches(exception, PyExc_Exception) != 0 &&
         PyErr_GivenExceptionMatches(exception, PyExc_MemoryError) == 0 &&
         PyErr_GivenExceptionMatches(exception, PyExc_RecursionError) == 0;
}

/// Clears a pending exception, if it is suppressible.
/// @return false if it is not.
/// @par Thread and GIL
/// The caller holds the GIL.
inline bool suppress_exception() noexcept {
  PyObject* const pending = PyErr_Occurred();
  if (pending != nullptr && !is_suppressible(pending)) {
    return false;
  }
  api<PyErr_Clear>();
  return true;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

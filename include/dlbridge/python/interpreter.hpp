// The only includer of Python.h: GIL hold, error-state keeper, finalisation test, owned reference.
// layer: interpreter · where Python begins
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <utility>

#include <dlbridge/abi.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// Whether Python objects may still be touched. False before initialisation, once finalisation has
/// begun, and after it: whoever asks then leaks on purpose (spec 3.3).
inline bool interpreter_alive() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

/// Holds the GIL (an attached thread state) while it lives; from any thread, nested as well. Only
/// while interpreter_alive().
class gil_hold {
 public:
  gil_hold() noexcept : state_(PyGILState_Ensure()) {}
  ~gil_hold() { PyGILState_Release(state_); }
  gil_hold(gil_hold const&) = delete;
  gil_hold& operator=(gil_hold const&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Lets other threads have the GIL while it lives: no Python object may be touched.
class gil_release {
 public:
  gil_release() noexcept : state_(PyEval_SaveThread()) {}
  ~gil_release() { PyEval_RestoreThread(state_); }
  gil_release(gil_release const&) = delete;
  gil_release& operator=(gil_release const&) = delete;

 private:
  PyThreadState* state_;
};

/// Puts the pending exception aside while it lives, and back when it dies: destructors run with one
/// set, and must neither lose nor see it (spec 3.4). What is raised meanwhile must be reported
/// before.
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
      return;  // by far the common case
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(value_);
#else
    PyErr_Restore(type_, value_, traceback_);
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

/// An owned reference, or none. Needs the GIL in every member that touches the object.
class ref {
 public:
  ref() noexcept = default;
  static ref steal(PyObject* object) noexcept { return ref(object); }
  static ref borrow(PyObject* object) noexcept {
    Py_XINCREF(object);
    return ref(object);
  }
  ref(ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ref& operator=(ref&& other) noexcept {
    ref old(std::move(other));
    std::swap(object_, old.object_);
    return *this;
  }
  ref(ref const&) = delete;
  ref& operator=(ref const&) = delete;
  ~ref() { Py_XDECREF(object_); }

  explicit operator bool() const noexcept { return object_ != nullptr; }
  PyObject* get() const noexcept { return object_; }
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  explicit ref(PyObject* object) noexcept : object_(object) {}
  PyObject* object_ = nullptr;
};

/// Takes the pending exception as an object, normalised and with its traceback; none when none is.
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
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return ref::steal(value);
#endif
}

/// Clears an exception that only means "no". False when one means "stop", such as
/// KeyboardInterrupt; it then stays pending.
inline bool forgive_exception() noexcept {
  if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_Exception)) {
    return false;
  }
  PyErr_Clear();
  return true;
}

/// An attribute. None without an exception when there is none such; none with one when looking for
/// it failed for another reason.
inline ref optional_attribute(PyObject* object, PyObject* name) noexcept {
  ref found = ref::steal(PyObject_GetAttr(object, name));
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
  }
  return found;
}

/// Makes an exception object the pending one.
inline void set_exception(ref exception) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception.release());
#else
  PyObject* const value = exception.release();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  Py_INCREF(type);
  PyErr_Restore(type, value, PyException_GetTraceback(value));
#endif
}

/// Drops one reference from wherever a deleter runs: any thread, with or without the GIL, with an
/// exception pending. Once the interpreter is going away the object is leaked on purpose, since
/// entering Python may then hang or crash (spec 3.3).
inline void release_object(PyObject* object) noexcept {
  if (object == nullptr || !interpreter_alive()) {
    return;
  }
#if PY_VERSION_HEX >= 0x030D0000
  if (PyThreadState_GetUnchecked() != nullptr) {  // attached already: no need to ask for the GIL
    error_keeper const kept;
    Py_DECREF(object);
    return;
  }
#endif
  gil_hold const gil;
  error_keeper const kept;
  Py_DECREF(object);
}

/// Owns one reference to a Python object that keeps memory alive.
class object_owner {
 public:
  explicit object_owner(ref object) noexcept : object_(object.release()) {}
  object_owner(object_owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_owner& operator=(object_owner&&) = delete;
  ~object_owner() { release_object(object_); }

  /// Gives the reference up. GIL: held.
  [[nodiscard]] ref release() noexcept { return ref::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

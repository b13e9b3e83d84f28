// ref, gil_hold, error_keeper, object_owner: manage references, the GIL and the pending exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/thread_exit.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
// Whether this thread holds the GIL, with the thread state that PyGILState_Ensure would use. Up to
// 3.11 the current thread state is that of whichever thread holds the GIL.
inline bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != nullptr;
#else
  PyThreadState* const current = _PyThreadState_UncheckedGet();
  return current != nullptr && current == PyGILState_GetThisThreadState();
#endif
}
}  // namespace detail

/// Holds the GIL (an attached thread state) for the lifetime of this object. Any thread may create
/// one, also while it holds the GIL.
/// @pre interpreter_alive().
class gil_hold {
 public:
  gil_hold() noexcept : acquired_(!detail::holds_gil()) {
    if (acquired_) {
      state_ = api<PyGILState_Ensure>();
    }
  }
  ~gil_hold() {
    if (acquired_) {
      api<PyGILState_Release>(state_);
    }
  }
  gil_hold(gil_hold const&) = delete;
  gil_hold& operator=(gil_hold const&) = delete;

 private:
  bool acquired_;
  PyGILState_STATE state_ = PyGILState_LOCKED;
};

/// Releases the GIL for the lifetime of this object. During that time the thread must not use
/// Python objects.
/// @pre the thread holds the GIL.
class gil_release {
 public:
  gil_release() noexcept : state_(PyEval_SaveThread()) {}
  ~gil_release() { api<PyEval_RestoreThread>(state_); }
  gil_release(gil_release const&) = delete;
  gil_release& operator=(gil_release const&) = delete;

 private:
  PyThreadState* state_;
};

/// Excludes other threads from an object on free-threaded builds for the lifetime of this section.
/// On other builds the GIL does so.
/// @par Thread and GIL
/// The thread holds the GIL.
class critical_section {
 public:
#if defined(Py_GIL_DISABLED)
  explicit critical_section(PyObject* object) noexcept {
    api<PyCriticalSection_Begin>(&section_, object);
  }
  ~critical_section() { api<PyCriticalSection_End>(&section_); }
  critical_section(critical_section const&) = delete;
  critical_section& operator=(critical_section const&) = delete;

 private:
  PyCriticalSection section_{};
#else
  explicit critical_section(PyObject*) noexcept {}
  critical_section(critical_section const&) = delete;
  critical_section& operator=(critical_section const&) = delete;
#endif
};

/// For destructors that require the GIL: suspends a thread that does not hold it. Code of an
/// extension that waits for the GIL of a finalized interpreter is unwound (see api), and the
/// destructors of the arguments of its call then run without the GIL.
inline void require_thread_state() {
  if (PyGILState_Check() == 0) {
    dlbridge::detail::suspend_thread();
  }
}

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

/// An owned reference, or an empty one. Move-only.
/// @par Thread and GIL
/// Every member except get, release and operator bool requires the GIL when the reference is not
/// empty.
class ref {
 public:
  ref() noexcept = default;
  /// Takes ownership of a reference of the caller. Null yields an empty ref.
  static ref steal(PyObject* object) noexcept { return ref(object); }
  /// Adds a reference to an object; the caller keeps its own. Null yields an empty ref.
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
  ~ref() { xdecref(object_); }

  explicit operator bool() const noexcept { return object_ != nullptr; }
  PyObject* get() const noexcept { return object_; }
  /// Gives up the reference, which the caller then owns.
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  explicit ref(PyObject* object) noexcept : object_(object) {}
  PyObject* object_ = nullptr;
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

/// Why a module that uses dlbridge cannot be imported in this interpreter, to which the objects
/// that dlbridge caches do not belong; null in the main interpreter.
/// @par Thread and GIL
/// The caller holds the GIL.
inline char const* import_refusal() noexcept {
  return api<PyInterpreterState_Get>() != api<PyInterpreterState_Main>()
             ? "this module uses dlbridge, which does not support subinterpreters: "
               "import it in the main interpreter"
             : nullptr;
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

/// The text of an object in a message: its repr(), or its type where that raises, as that of an
/// int of 5000 digits does.
/// @return a str; empty, with an exception set, where the exception of repr() is not suppressible.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline ref repr_of(PyObject* object) noexcept {
  ref text = ref::steal(api<PyObject_Repr>(object));
  if (!text && PyErr_ExceptionMatches(PyExc_RecursionError) != 0) {  // of a deep list
    api<PyErr_Clear>();
  }
  if (!text && suppress_exception()) {
    text = ref::steal(api<PyUnicode_FromFormat>("a value of type %s", Py_TYPE(object)->tp_name));
  }
  return text;
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

/// Releases one reference to an object, for a deleter. A pending exception stays pending. After
/// finalization has begun, the function leaks the object on purpose, because a call of the
/// interpreter may then hang or crash (spec 3.3).
/// @par Thread and GIL
/// Any thread, with or without the GIL.
inline void release_object(PyObject* object) noexcept {
  if (object == nullptr || !interpreter_alive()) {
    return;
  }
  gil_hold const gil;
  error_keeper const pending;
  decref(object);
}

/// The flags of types whose attributes Python code cannot replace.
#if defined(Py_TPFLAGS_IMMUTABLETYPE)
constexpr unsigned immutable_type = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE;
#else  // before Python 3.10
constexpr unsigned immutable_type = Py_TPFLAGS_DEFAULT;
#endif

/// An object that is created on first use and lives as long as the process. A static variable with
/// an initializer would hold a lock while Python code runs, and a thread that waited for the lock
/// would keep the GIL.
/// @par Thread and GIL
/// The caller holds the GIL.
class lazy_object {
 public:
  /// @param create returns the new object; or an empty reference, with an exception set.
  /// @return a borrowed reference; null, with the exception of create set, when it failed.
  template <class Create>
  DLBRIDGE_INLINE PyObject* get(Create create) noexcept {
    PyObject* const object = object_.load(std::memory_order_acquire);
    return object != nullptr ? object : make(create);
  }

 private:
  template <class Create>
  DLBRIDGE_COLD PyObject* make(Create create) noexcept {
    ref created = create();
    PyObject* object = nullptr;
    // Another thread may have created the object meanwhile; that one is then the result.
    if (created && object_.compare_exchange_strong(object, created.get())) {
      object = created.release();
    }
    return object;
  }

  std::atomic<PyObject*> object_{nullptr};
};

/// Owns one reference to a Python object that keeps memory alive. Move-only.
/// @par Thread and GIL
/// Any thread may destroy the object or assign to it, with or without the GIL (release_object).
class object_owner {
 public:
  explicit object_owner(ref object) noexcept : object_(object.release()) {}
  object_owner(object_owner const&) = delete;
  object_owner(object_owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_owner& operator=(object_owner other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~object_owner() { release_object(object_); }

  /// Moves the reference to the result, and leaves this object empty. The caller holds the GIL.
  [[nodiscard]] ref release() noexcept { return ref::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

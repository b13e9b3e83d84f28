// gil_hold, gil_release, critical_section: hold and release the GIL for a scope.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
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
  explicit critical_section(PyObject*) noexcept {}  ///< Begins the section of an object.
  critical_section(critical_section const&) = delete;
  critical_section& operator=(critical_section const&) = delete;
#endif
};

/// For destructors that require the GIL: suspends a thread that does not hold it. Code of an
/// extension that waits for the GIL of a finalized interpreter is unwound (see api), and the
/// destructors of the arguments of its call then run without the GIL.
void require_thread_state();
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/gil.ipp>
#endif

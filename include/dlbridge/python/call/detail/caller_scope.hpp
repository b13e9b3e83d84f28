// caller_scope: the tensor argument whose library the callbacks and overrides of a call receive.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// Exists while the C++ function of a call runs. The call is known by the Python frame that made
/// it: Python code that the function calls has frames of its own, so that calls within it are not
/// taken for this one. The state has no pointer to the stack, which greenlets exchange.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
class caller_scope {
 public:
  /// @param first_argument the first tensor argument of the call, or null
  explicit caller_scope(PyObject* first_argument) noexcept;
  caller_scope(caller_scope const&) = delete;
  caller_scope& operator=(caller_scope const&) = delete;
  ~caller_scope();

  /// @return the first tensor argument of the call whose C++ function runs in this thread and
  /// frame; empty outside of one
  static ref current() noexcept;

 private:
  struct call {
    PyObject* first_argument;  // owned
    PyFrameObject* frame;      // only compared
  };
  DLBRIDGE_LOCAL static call& running() noexcept {
    thread_local call innermost{};
    return innermost;
  }
  call outer_;
};
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/caller_scope.ipp>
#endif

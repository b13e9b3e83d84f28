// exit_guard: stops the unwinding of a thread that foreign code ends inside a call.
// layer: foundation
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <type_traits>

#include <dlbridge/abi.hpp>

#if DLBRIDGE_EXCEPTIONS && !defined(_WIN32)
#include <unistd.h>
#endif

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Whether a C++ exception is unwinding the stack of this thread.
inline bool is_thrown() noexcept { return std::uncaught_exceptions() != 0; }

#if DLBRIDGE_EXCEPTIONS && !defined(_WIN32)
[[noreturn]] DLBRIDGE_COLD void suspend_thread() noexcept;

/// Guards one call of foreign code against the end of the calling thread.
///
/// CPython up to 3.13 ends a thread that waits for the GIL of a finalized interpreter. It calls
/// pthread_exit, which unwinds the stack of the thread: the unwinding runs destructors that would
/// use Python objects without the GIL, and ends the process at the first noexcept function. A guard
/// stops it. Its destructor then suspends the thread until the process ends, as CPython 3.14 does.
///
/// The guard must be the innermost object with a destructor around the call, as objects inside it
/// are destroyed first. Its function must not be noexcept: compilers omit destructors in functions
/// that unwinding cannot leave. It may be called by one that is. A call that returns executes no
/// instruction for its guard.
/// @tparam Passes whether the guard lets the unwinding that destroys it pass.
template <bool (*Passes)() noexcept>
class basic_exit_guard {
 public:
  basic_exit_guard() noexcept = default;
  basic_exit_guard(basic_exit_guard const&) = delete;
  basic_exit_guard& operator=(basic_exit_guard const&) = delete;
  ~basic_exit_guard() {
    if (!returned_ && !Passes()) {
      suspend_thread();
    }
  }
  /// States that the call returned.
  void returned() noexcept { returned_ = true; }

 private:
  bool returned_ = false;
};
#else  // without exceptions unwinding runs no code; on Windows threads end without unwinding
inline void suspend_thread() noexcept {}

template <bool (*)() noexcept>
class basic_exit_guard {
 public:
  void returned() noexcept {}
};
#endif

/// The guard that C++ exceptions pass.
using exit_guard = basic_exit_guard<&is_thrown>;

/// Calls a function under a guard, and returns its result.
template <class Guard = exit_guard, class F>
DLBRIDGE_INLINE decltype(auto) call_guarded(F&& function) {
  Guard guard;
  if constexpr (std::is_void_v<decltype(function())>) {
    function();
    guard.returned();
  } else {
    decltype(auto) result = function();
    guard.returned();
    if constexpr (std::is_rvalue_reference_v<decltype(result)>) {
      return static_cast<decltype(result)>(result);
    } else {
      return result;
    }
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/exit_guard.ipp>
#endif

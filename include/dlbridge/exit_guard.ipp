// The bodies of exit_guard.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/exit_guard.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
#if DLBRIDGE_EXCEPTIONS && !defined(_WIN32)

DLBRIDGE_NOINLINE DLBRIDGE_API void suspend_thread() noexcept {
  for (;;) {
    ::pause();  // a signal handler may interrupt it
  }
}

#endif
}  // namespace detail
DLBRIDGE_END_NAMESPACE

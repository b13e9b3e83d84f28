// The bodies of gil.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/gil.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API void require_thread_state() {
  if (!detail::may_hold_gil()) {
    dlbridge::detail::suspend_thread();
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

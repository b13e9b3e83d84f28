// The inline bodies of error.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class F>
bool guarded(F&& f, char const* where) noexcept {
  try {
    detail::call_function(f);
    return true;
  } catch (...) {
    set_error_thrown(where);
  }
  return false;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

// The bodies of library_parameter.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
DLBRIDGE_API bool has_no_overload() noexcept {
  active_call const* const call = active_call::current();
  return call != nullptr && !call->has_overloads();
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE

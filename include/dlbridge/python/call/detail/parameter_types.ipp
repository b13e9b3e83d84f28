// The bodies of parameter_types.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/parameter_types.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
DLBRIDGE_API bool has_no_overload() noexcept {
  active_call const* const call = active_call::current();
  return call != nullptr && !call->has_overloads();
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE

// The bodies of events.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/events.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API bool is_refused_now(report const& status) noexcept {
  return status.has(errc::capturing) || status.has(errc::not_permitted);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

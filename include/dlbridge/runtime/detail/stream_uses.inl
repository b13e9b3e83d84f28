// The inline bodies of stream_uses.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/detail/stream_uses.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
template <class Visit>
report stream_uses::visit(Visit visit) const noexcept {
  report status;
  for (use const* each = first_.load(std::memory_order_acquire); each != nullptr && status.ok();
       each = each->next) {
    status = visit(each->stream.get(each->where));
  }
  return status;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

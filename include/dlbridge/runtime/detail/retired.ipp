// The bodies of retired.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/runtime/detail/retired.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API void retired_list::add(retired* item) noexcept {
  item->next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(item->next, item, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

DLBRIDGE_API void retired_list::collect() noexcept {
  if (first_.load(std::memory_order_relaxed) == nullptr) {
    return;
  }
  retired* item = first_.exchange(nullptr, std::memory_order_acquire);
  while (item != nullptr) {
    retired* const next = std::exchange(item->next, nullptr);
    if (item->is_ready()) {
      delete item;
    } else {
      add(item);
    }
    item = next;
  }
}

DLBRIDGE_API retired_list& retired_owners() noexcept {
  static retired_list owners;
  return owners;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

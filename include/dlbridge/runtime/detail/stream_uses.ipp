// The bodies of stream_uses.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>

#include <dlbridge/runtime/detail/stream_uses.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API stream_uses::~stream_uses() {
  for (use* each = first_.load(); each != nullptr;) {
    delete std::exchange(each, each->next);
  }
}

DLBRIDGE_API bool stream_uses::try_add(stream_ref stream,
                                       std::shared_ptr<void const> owner) noexcept {
  kept_stream const kept(stream);
  for (use const* each = first_.load(std::memory_order_acquire); each != nullptr;
       each = each->next) {
    bool const covers = owner == nullptr || each->owner == owner;
    if (covers && each->where == stream.device() && each->stream == kept) {
      return true;
    }
  }
  auto* const added = new (std::nothrow)
      use{stream.device(), kept, std::move(owner), first_.load(std::memory_order_relaxed)};
  while (added != nullptr &&
         !first_.compare_exchange_weak(added->next, added, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return added != nullptr;
}

DLBRIDGE_API bool stream_uses::try_first(stream_ref& out) const noexcept {
  use const* const first = first_.load(std::memory_order_acquire);
  if (first != nullptr) {
    out = first->stream.get(first->where);
  }
  return first != nullptr;
}

DLBRIDGE_API void stream_uses::pop() noexcept {
  use* const first = first_.load(std::memory_order_relaxed);
  first_.store(first->next, std::memory_order_relaxed);
  delete first;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

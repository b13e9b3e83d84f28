// The bodies of driver.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/detail/driver.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API bool is_default_stream(stream_ref stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream.native_handle()) <= 2;
}
}  // namespace detail

DLBRIDGE_API any_function driver_source::find(char const* name, bool required) noexcept {
  any_function const address = library_.try_find(name);
  if (address == nullptr && required && missing_ == nullptr) {
    missing_ = name;
  }
  return address;
}

DLBRIDGE_API void* event_pool::try_take() noexcept {
  for (std::atomic<void*>& slot : slots_) {
    if (slot.load(std::memory_order_relaxed) != nullptr) {
      if (void* const event = slot.exchange(nullptr, std::memory_order_acquire)) {
        return event;
      }
    }
  }
  return nullptr;
}

DLBRIDGE_API bool event_pool::try_put(void* event) noexcept {
  for (std::atomic<void*>& slot : slots_) {
    void* empty = nullptr;
    if (slot.compare_exchange_strong(empty, event, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API report missing_function(char const* library,
                                                       char const* name) noexcept {
  report r = refusal(errc::runtime_missing, name, library, "Update the driver");
  r.expected.append(" in ").append(library);
  r.got.append(" without it");
  return r;
}

DLBRIDGE_API void require_success(report const& status) {
  if (!status.ok()) {
    raise(status);
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

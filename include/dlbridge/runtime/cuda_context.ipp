// The bodies of cuda_context.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <initializer_list>

#include <dlbridge/runtime/cuda_context.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// The retained primary context of a device, and its events. Both exist until the process ends.
struct cuda_device_state {
  std::atomic<int> handle{-1};  // the CUdevice of the ordinal, or -1 before the first lookup
  std::atomic<void*> primary{nullptr};
  std::atomic<std::uint64_t> id{0};  // of the primary context; 0 if the driver has no IDs
  event_pool events{};
};

DLBRIDGE_LOCAL DLBRIDGE_API cuda_device_state* cuda_devices() noexcept {
  static cuda_device_state devices[max_devices];
  return devices;
}

DLBRIDGE_API bool exists(cuda_table const& driver, void* context, std::uint64_t id) noexcept {
  if (id == 0) {
    return true;
  }
  std::uint64_t now = id;
  driver_result const result = driver.context_get_id(context, &now);
  return result != driver_context_destroyed && now == id;
}

// Whether the retained context of a device exists, and has not been created again since.
inline bool is_retained(cuda_table const& driver, cuda_device_state const& state) noexcept {
  void* const primary = state.primary.load(std::memory_order_acquire);
  return primary != nullptr && exists(driver, primary, state.id.load(std::memory_order_relaxed));
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<cuda_table>::try_enter(stream_ref stream) noexcept {
  leave();
  if (detail::is_default_stream(stream)) {
    bool is_gone = stream.context() == nullptr || is_destroyed(stream.context());
    report const status = is_gone ? report{} : try_enter_context(stream.context(), is_gone);
    return is_gone ? try_enter_device(stream.device().id) : status;
  }
  void* context = nullptr;
  driver_result const result = driver_.stream_get_context(stream.native_handle(), &context);
  if (result == driver_success) {
    return try_enter_context(context);
  }
  if (result != driver_not_supported) {
    return detail::failed_call(driver_, driver_.stream_get_context.name(), result);
  }
  // Drivers before CUDA 13 return this for the streams of green contexts. Such a context shares
  // the events and the memory of the primary one.
  int device = 0;
  report const status = try_get_device(stream.device().id, device);
  return status.ok() ? try_enter_primary(device) : status;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<cuda_table>::try_enter_device(int ordinal) noexcept {
  leave();
  void* context = nullptr;
  report status = try_get_current(context);
  if (!status.ok()) {
    return status;
  }
  int device = 0;
  status = try_get_device(ordinal, device);
  if (!status.ok() || context == nullptr) {
    return status.ok() ? try_enter_primary(device) : status;
  }
  int current = -1;
  driver_result const result = find_device_of_current(current);
  if (is_context_gone(result)) {
    // It may be the primary context, which retaining creates again.
    status = try_retain(device, context);
    return status.ok() ? try_enter_context(context) : status;
  }
  if (result != driver_success) {
    return detail::failed_call(driver_, driver_.context_get_device.name(), result);
  }
  context_ = current == device ? context : nullptr;
  return current == device ? status : try_enter_primary(device);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<cuda_table>::try_enter_context(void* context) noexcept {
  bool is_gone = false;
  return try_enter_context(context, is_gone);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<cuda_table>::try_enter_context(cuda_context const& stored) noexcept {
  return exists(stored) ? try_enter_context(stored.handle)
                        : detail::failed_call(driver_, driver_.context_get_id.name(),
                                              driver_context_destroyed);
}

DLBRIDGE_API void context_guard<cuda_table>::leave() noexcept {
  void* popped = nullptr;
  void* current = nullptr;
  // A failed call may report the error of an earlier operation, although it popped the context.
  // So the guard compares the current context before it tries again.
  if (is_pushed_ && !succeeds(driver_, driver_.context_pop, &popped) &&
      succeeds(driver_, driver_.context_get_current, &current) && current == context_ &&
      !succeeds(driver_, driver_.context_pop, &popped)) {
    static_cast<void>(succeeds(driver_, driver_.context_set_current, previous_));
  }
  is_pushed_ = false;
  context_ = nullptr;
  id_ = 0;
}

DLBRIDGE_API cuda_context context_guard<cuda_table>::to_store() const noexcept {
  if (id_ == 0) {
    id_ = id_of(context_);
  }
  return {context_, id_};
}

DLBRIDGE_API bool context_guard<cuda_table>::exists(cuda_context const& stored) const noexcept {
  return detail::exists(driver_, stored.handle, stored.id);
}

DLBRIDGE_API stream_ref context_guard<cuda_table>::in_context(stream_ref stream) const noexcept {
  return detail::is_default_stream(stream) ? stream.in_context(context_) : stream;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void* context_guard<cuda_table>::find_context(
    int ordinal) const noexcept {
  void* current = nullptr;
  if (!try_get_current(current).ok() || ordinal < 0) {
    return nullptr;
  }
  void* const primary =
      ordinal < max_devices
          ? detail::cuda_devices()[ordinal].primary.load(std::memory_order_acquire)
          : nullptr;
  int device = -1;
  int device_of_current = -1;
  bool const is_kept = current != nullptr && current != primary &&
                       try_get_device(ordinal, device).ok() &&
                       succeeds(driver_, driver_.context_get_device, &device_of_current) &&
                       device_of_current == device;
  return is_kept ? current : primary != nullptr ? primary : find_primary(ordinal);
}

DLBRIDGE_NOINLINE DLBRIDGE_API event_pool* context_guard<cuda_table>::events() const noexcept {
  for (int i = 0; context_ != nullptr && i < max_devices; ++i) {
    detail::cuda_device_state& state = detail::cuda_devices()[i];
    if (state.primary.load(std::memory_order_acquire) == context_ &&
        detail::is_retained(driver_, state)) {
      return &state.events;
    }
  }
  int device = -1;
  if (!succeeds(driver_, driver_.context_get_device, &device) || device < 0 ||
      device >= max_devices) {
    return nullptr;
  }
  void* const primary = retain_active(device);
  return primary != nullptr && primary == context_ ? &detail::cuda_devices()[device].events
                                                   : nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void* context_guard<cuda_table>::retain_active(
    int device) const noexcept {
  unsigned flags = 0;
  int active = 0;
  void* primary = nullptr;
  bool const is_active =
      succeeds(driver_, driver_.primary_get_state, device, &flags, &active) && active != 0;
  return is_active && try_retain(device, primary).ok() ? primary : nullptr;
}

DLBRIDGE_API std::uint64_t context_guard<cuda_table>::id_of(void* context) const noexcept {
  std::uint64_t id = 0;
  static_cast<void>(context != nullptr && succeeds(driver_, driver_.context_get_id, context, &id));
  return id;
}

DLBRIDGE_API driver_result
context_guard<cuda_table>::find_device_of_current(int& device) const noexcept {
  std::uint64_t id = 0;
  driver_result const result = driver_.context_get_id
                                   ? driver_.context_get_id(static_cast<void*>(nullptr), &id)
                                   : driver_success;
  return result == driver_success ? driver_.context_get_device(&device) : result;
}

DLBRIDGE_API void* context_guard<cuda_table>::find_primary(int ordinal) const noexcept {
  int device = -1;
  return try_get_device(ordinal, device).ok() ? retain_active(device) : nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<cuda_table>::try_enter_context(void* context, bool& is_gone) noexcept {
  leave();
  void* previous = nullptr;
  report status = try_get_current(previous);
  if (status.ok() && previous != context) {
    previous_ = previous;
    driver_result const result = driver_.context_push(context);
    is_pushed_ = result == driver_success;
    is_gone = is_context_gone(result);
    status =
        is_pushed_ ? status : detail::failed_call(driver_, driver_.context_push.name(), result);
  }
  context_ = status.ok() ? context : nullptr;
  return status;
}

DLBRIDGE_API bool context_guard<cuda_table>::is_destroyed(void* context) const noexcept {
  std::uint64_t id = 0;
  return driver_.context_get_id && driver_.context_get_id(context, &id) == driver_context_destroyed;
}

DLBRIDGE_API bool context_guard<cuda_table>::is_context_gone(driver_result result) noexcept {
  return result == driver_context_destroyed || result == driver_invalid_context;
}

DLBRIDGE_API report context_guard<cuda_table>::try_get_current(void*& context) const noexcept {
  driver_result const result = driver_.context_get_current(&context);
  if (result == driver_success) {
    return report{};
  }
  context = nullptr;
  return is_context_gone(result)
             ? report{}
             : detail::failed_call(driver_, driver_.context_get_current.name(), result);
}

DLBRIDGE_API report context_guard<cuda_table>::try_get_device(int ordinal,
                                                              int& device) const noexcept {
  bool const is_cached = ordinal >= 0 && ordinal < max_devices;
  std::atomic<int>* const cache = is_cached ? &detail::cuda_devices()[ordinal].handle : nullptr;
  device = is_cached ? cache->load(std::memory_order_relaxed) : -1;
  if (device >= 0) {
    return report{};
  }
  report const status = try_call(driver_, driver_.device_get, &device, ordinal);
  if (status.ok() && is_cached) {
    cache->store(device, std::memory_order_relaxed);
  }
  return status;
}

DLBRIDGE_API report context_guard<cuda_table>::try_enter_primary(int device) noexcept {
  detail::cuda_device_state* const state =
      device < max_devices ? &detail::cuda_devices()[device] : nullptr;
  void* context = state != nullptr && detail::is_retained(driver_, *state)
                      ? state->primary.load(std::memory_order_acquire)
                      : nullptr;
  report status = context != nullptr ? try_enter_context(context) : report{};
  if (context == nullptr || !status.ok()) {  // not cached yet, or the device was reset
    status = try_retain(device, context);
    status = status.ok() ? try_enter_context(context) : status;
  }
  return status;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<cuda_table>::try_retain(int device, void*& context) const noexcept {
  unsigned flags = 0;
  int was_active = 0;
  static_cast<void>(succeeds(driver_, driver_.primary_get_state, device, &flags, &was_active));
  report const status = try_call(driver_, driver_.primary_retain, &context, device);
  if (!status.ok() || device >= max_devices) {
    return status;
  }
  detail::cuda_device_state& state = detail::cuda_devices()[device];
  std::uint64_t const id = id_of(context);
  bool const is_same_id = state.id.exchange(id, std::memory_order_acq_rel) == id;
  void* const previous = state.primary.exchange(context, std::memory_order_acq_rel);
  if (previous == context && is_same_id && (id != 0 || was_active != 0)) {
    static_cast<void>(succeeds(driver_, driver_.primary_release, device));
  } else if (previous != nullptr) {  // the driver destroyed the previous context and its events
    while (state.events.try_take() != nullptr) {
    }
  }
  return status;
}

DLBRIDGE_API stream_ref in_current_context(cuda_table const& driver, stream_ref stream) noexcept {
  bool const is_known = !detail::is_default_stream(stream) || stream.context() != nullptr;
  return is_known ? stream
                  : stream.in_context(
                        context_guard<cuda_table>(driver).find_context(stream.device().id));
}

namespace detail {
DLBRIDGE_API event_pool* events_at_hand(cuda_table const& driver, stream_ref consumer,
                                        stream_ref producer) noexcept {
  auto const state_of = [](stream_ref stream) {
    int const ordinal = stream.device().id;
    return ordinal >= 0 && ordinal < max_devices ? &cuda_devices()[ordinal] : nullptr;
  };
  cuda_device_state* const state = state_of(producer);
  if (state == nullptr || state->primary.load(std::memory_order_acquire) == nullptr) {
    return nullptr;
  }
  for (stream_ref const stream : {consumer, producer}) {
    if (!is_default_stream(stream)) {
      continue;
    }
    void* current = nullptr;
    cuda_device_state* const its = state_of(stream);
    if (its == nullptr || !succeeds(driver, driver.context_get_current, &current) ||
        current == nullptr || current != its->primary.load(std::memory_order_acquire) ||
        (stream.context() != nullptr && stream.context() != current)) {
      return nullptr;
    }
  }
  return is_retained(driver, *state) ? &state->events : nullptr;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

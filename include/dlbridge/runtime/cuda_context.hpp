// context_guard for CUDA: make contexts of CUDA current on a thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/stream_ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace detail {
// The retained primary context of a device, and its events. Both exist until the process ends.
struct cuda_device_state {
  std::atomic<int> handle{-1};  // the CUdevice of the ordinal, or -1 before the first lookup
  std::atomic<void*> primary{nullptr};
  std::atomic<std::uint64_t> id{0};  // of the primary context; 0 if the driver has no IDs
  event_pool events{};
};
DLBRIDGE_LOCAL inline cuda_device_state* cuda_devices() noexcept {
  static cuda_device_state devices[max_devices];
  return devices;
}

// Whether a context still exists; true if the driver has no IDs, or fails for another reason. The
// handle of a primary context stays valid, so it may be looked up after a reset.
inline bool exists(cuda_table const& driver, void* context, std::uint64_t id) noexcept {
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

/// Makes CUDA contexts current on this thread. The guard enters one context at a time: entering a
/// second one leaves the first.
/// @par Thread and GIL
/// The thread that constructs the guard destroys it.
template <>
class context_guard<cuda_table> {
 public:
  explicit context_guard(cuda_table const& driver) noexcept : driver_(driver) {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() { leave(); }

  /// Enters the context of a stream. For a default stream, that is the context of the reference; if
  /// the reference has none, or if that context was destroyed, it is the context that
  /// try_enter_device selects. For a stream of a green context it is the primary context, where the
  /// driver does not report another one.
  /// @return a report: runtime_failed (for example because the stream was destroyed).
  DLBRIDGE_COLD report try_enter(stream_ref stream) noexcept {
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
  /// Keeps the current context if it belongs to the device. Otherwise enters the primary context of
  /// the device, also if another thread has destroyed the current one.
  /// @return a report: runtime_failed.
  DLBRIDGE_COLD report try_enter_device(int ordinal) noexcept {
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
  /// Enters a context.
  /// @return a report: runtime_failed.
  report try_enter_context(void* context) noexcept {
    bool is_gone = false;
    return try_enter_context(context, is_gone);
  }
  /// Enters a context that to_store() has returned, on any thread.
  /// @return a report: runtime_failed, also if the context was destroyed.
  DLBRIDGE_COLD report try_enter_context(cuda_context const& stored) noexcept {
    return exists(stored) ? try_enter_context(stored.handle)
                          : detail::failed_call(driver_, driver_.context_get_id.name(),
                                                driver_context_destroyed);
  }
  /// Makes the previous context current again.
  void leave() noexcept {
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

  /// The context that the guard has entered, or null.
  void* context() const noexcept { return context_; }
  /// The same, for later use.
  cuda_context to_store() const noexcept {
    if (id_ == 0) {
      id_ = id_of(context_);
    }
    return {context_, id_};
  }
  /// Whether a context that to_store() has returned exists. Its streams, events and memory do not
  /// exist without it; calls with their handles are undefined, and crash at times.
  bool exists(cuda_context const& stored) const noexcept {
    return detail::exists(driver_, stored.handle, stored.id);
  }
  /// A stream whose context the guard has entered, for use by any thread.
  stream_ref in_context(stream_ref stream) const noexcept {
    return detail::is_default_stream(stream) ? stream.in_context(context_) : stream;
  }
  /// The context that try_enter_device enters, without entering it. Null if the driver fails, or if
  /// that context is a primary one that does not exist yet.
  DLBRIDGE_COLD void* find_context(int ordinal) const noexcept {
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
  /// The pool of events of the context. Null if the context is not the primary one of its device:
  /// the process may destroy such a context, and its events with it, at any time.
  DLBRIDGE_COLD event_pool* events() const noexcept {
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

 private:
  // The primary context of a device, retained from now on; null if the driver fails, or if it does
  // not exist yet, as retaining would create it.
  DLBRIDGE_COLD void* retain_active(int device) const noexcept {
    unsigned flags = 0;
    int active = 0;
    void* primary = nullptr;
    bool const is_active =
        succeeds(driver_, driver_.primary_get_state, device, &flags, &active) && active != 0;
    return is_active && try_retain(device, primary).ok() ? primary : nullptr;
  }
  std::uint64_t id_of(void* context) const noexcept {
    std::uint64_t id = 0;
    static_cast<void>(context != nullptr &&
                      succeeds(driver_, driver_.context_get_id, context, &id));
    return id;
  }
  // The device of the current context. cuCtxGetDevice succeeds for a primary context that was
  // destroyed, too, so the function asks for the ID first.
  driver_result find_device_of_current(int& device) const noexcept {
    std::uint64_t id = 0;
    driver_result const result = driver_.context_get_id
                                     ? driver_.context_get_id(static_cast<void*>(nullptr), &id)
                                     : driver_success;
    return result == driver_success ? driver_.context_get_device(&device) : result;
  }
  void* find_primary(int ordinal) const noexcept {
    int device = -1;
    return try_get_device(ordinal, device).ok() ? retain_active(device) : nullptr;
  }
  // is_gone: set to whether the context was destroyed, which is the reason of the report.
  DLBRIDGE_COLD report try_enter_context(void* context, bool& is_gone) noexcept {
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
  // Whether the driver knows that a context was destroyed. It lets threads enter such a context,
  // also when it may no longer be used.
  bool is_destroyed(void* context) const noexcept {
    std::uint64_t id = 0;
    return driver_.context_get_id &&
           driver_.context_get_id(context, &id) == driver_context_destroyed;
  }
  // Whether a result states that a context was destroyed.
  static bool is_context_gone(driver_result result) noexcept {
    return result == driver_context_destroyed || result == driver_invalid_context;
  }
  // The current context of this thread. A destroyed one may be returned, or null instead of it.
  report try_get_current(void*& context) const noexcept {
    driver_result const result = driver_.context_get_current(&context);
    if (result == driver_success) {
      return report{};
    }
    context = nullptr;
    return is_context_gone(result)
               ? report{}
               : detail::failed_call(driver_, driver_.context_get_current.name(), result);
  }
  report try_get_device(int ordinal, int& device) const noexcept {
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
  report try_enter_primary(int device) noexcept {
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
  // Retains the primary context of a device. Keeps one reference for each context. A reset of the
  // device ends all references, and the context may have the same handle afterwards.
  DLBRIDGE_COLD report try_retain(int device, void*& context) const noexcept {
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

  cuda_table const& driver_;
  void* context_ = nullptr;
  mutable std::uint64_t id_ = 0;  // of context_, once to_store() has looked it up
  bool is_pushed_ = false;
  void* previous_ = nullptr;  // the context that was current before context_
};

/// A stream of CUDA for use by any thread: a default stream without a context becomes that of the
/// context in which this thread would use it now. The function creates no context. It returns the
/// stream unchanged if there is no such context yet, or if the driver fails.
inline stream_ref in_current_context(cuda_table const& driver, stream_ref stream) noexcept {
  bool const is_known = !detail::is_default_stream(stream) || stream.context() != nullptr;
  return is_known ? stream
                  : stream.in_context(
                        context_guard<cuda_table>(driver).find_context(stream.device().id));
}

namespace detail {
// The pool whose events can be recorded on producer, if consumer can wait for them without a change
// of the current context; otherwise null. cuEventRecord takes an event of the stream's context, and
// cuStreamWaitEvent one of any context; only the handle of a default stream refers to the current
// context. The result is a guess: the stream may belong to a context that is not the primary one,
// and recording then fails with driver_invalid_handle.
inline event_pool* events_at_hand(cuda_table const& driver, stream_ref consumer,
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

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

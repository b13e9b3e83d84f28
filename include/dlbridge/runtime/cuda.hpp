// cuda, cuda_table, context_guard: look up the functions of the CUDA driver, and make its contexts
// current.
// layer: runtime · driver of CUDA devices
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

struct cuda_block_copy;       // of cuda.h: CUDA_MEMCPY2D
struct cuda_peer_block_copy;  // CUDA_MEMCPY3D_PEER
/// The struct CUmemLocation of cuda.h.
struct cuda_location {
  int type;
  int id;
};

/// The functions of the CUDA driver. Handles and device addresses have the type void*; ordinals and
/// enumerators have the type int.
///
/// The names are the symbols of the driver's library. They include the suffix _v2 that macros of
/// cuda.h add. The table does not use the variants for a per-thread default stream (_ptsz).
struct cuda_table : driver_source {
  /// The type CUcontext.
  using context_handle = void*;

  explicit cuda_table(driver_source const& source) noexcept : driver_source(source) {}

  template <class... Parameters>
  using f = driver_function<Parameters...>;

  f<unsigned> init{*this, "cuInit"};
  f<int, char const**> get_error_name{*this, "cuGetErrorName"};
  f<int, char const**> get_error_string{*this, "cuGetErrorString"};
  f<int*> driver_get_version{*this, "cuDriverGetVersion"};
  f<int*> device_get_count{*this, "cuDeviceGetCount"};
  f<int*, int> device_get{*this, "cuDeviceGet"};
  f<void**, int> primary_retain{*this, "cuDevicePrimaryCtxRetain"};
  f<int> primary_release{*this, "cuDevicePrimaryCtxRelease_v2"};
  f<int, unsigned*, int*> primary_get_state{*this, "cuDevicePrimaryCtxGetState"};
  f<void**> context_get_current{*this, "cuCtxGetCurrent"};
  f<void*> context_push{*this, "cuCtxPushCurrent_v2"};
  f<void**> context_pop{*this, "cuCtxPopCurrent_v2"};
  f<void*> context_set_current{*this, "cuCtxSetCurrent"};
  f<int*> context_get_device{*this, "cuCtxGetDevice"};
  f<void*, void**> stream_get_context{*this, "cuStreamGetCtx"};
  f<void*> stream_synchronize{*this, "cuStreamSynchronize"};
  f<void*, void*, unsigned> stream_wait_event{*this, "cuStreamWaitEvent"};
  f<void*, int*> stream_is_capturing{*this, "cuStreamIsCapturing",
                                     presence::optional};  // from CUDA 10
  f<void*, int*, std::uint64_t*, void**, void***, std::size_t*> stream_get_capture_info{
      *this, "cuStreamGetCaptureInfo_v2", presence::optional};  // from CUDA 11.3
  f<int*> exchange_capture_mode{*this, "cuThreadExchangeStreamCaptureMode",
                                presence::optional};  // from CUDA 10.1
  f<void**, unsigned> event_create{*this, "cuEventCreate"};
  f<void*> event_destroy{*this, "cuEventDestroy_v2"};
  f<void*, void*> event_record{*this, "cuEventRecord"};
  f<void*> event_query{*this, "cuEventQuery"};
  f<void*> event_synchronize{*this, "cuEventSynchronize"};
  f<void**, std::size_t> memory_allocate{*this, "cuMemAlloc_v2"};
  f<void*> memory_free{*this, "cuMemFree_v2"};
  f<void**, std::size_t, void*> memory_allocate_async{*this, "cuMemAllocAsync",
                                                      presence::optional};  // from CUDA 11.2
  f<void*, void*> memory_free_async{*this, "cuMemFreeAsync", presence::optional};
  f<void**, std::size_t, unsigned> managed_allocate{*this, "cuMemAllocManaged"};
  f<void**, std::size_t, unsigned> host_allocate{*this, "cuMemHostAlloc"};
  f<void*> host_free{*this, "cuMemFreeHost"};
  f<void*, void const*, std::size_t, void*> copy_async{*this, "cuMemcpyAsync"};
  f<void*, void*, void const*, void*, std::size_t, void*> copy_peer_async{*this,
                                                                          "cuMemcpyPeerAsync"};
  f<cuda_block_copy const*, void*> copy_block_async{*this, "cuMemcpy2DAsync_v2"};
  f<cuda_peer_block_copy const*, void*> copy_peer_block_async{*this, "cuMemcpy3DPeerAsync"};
  f<void*, int, void const*> pointer_get_attribute{*this, "cuPointerGetAttribute"};
  f<void const*, std::size_t, int, void*> prefetch{*this, "cuMemPrefetchAsync",
                                                   presence::optional};
  f<void const*, std::size_t, cuda_location, unsigned, void*> prefetch_to{
      *this, "cuMemPrefetchAsync_v2", presence::optional};  // from CUDA 12.2
  f<void const*, std::size_t, int, int> advise{*this, "cuMemAdvise", presence::optional};
  f<void const*, std::size_t, int, cuda_location> advise_for{*this, "cuMemAdvise_v2",
                                                             presence::optional};

  /// @return the name of a result, such as "CUDA_ERROR_INVALID_VALUE", or null if the driver has
  ///   none
  char const* error_name(driver_result result) const noexcept {
    char const* text = nullptr;
    return get_error_name && get_error_name(result, &text) == driver_success ? text : nullptr;
  }
  /// @return the driver's description of a result, or null if the driver has none
  char const* error_text(driver_result result) const noexcept {
    char const* text = nullptr;
    return get_error_string && get_error_string(result, &text) == driver_success ? text : nullptr;
  }
  /// Does nothing: the CUDA driver does not store the last error.
  void clear_error() const noexcept {}
};

namespace detail {
DLBRIDGE_LOCAL inline loaded_driver<cuda_table> const& cuda_driver() noexcept {
#if defined(_WIN32)
  static constexpr char const* files[] = {"nvcuda.dll"};
#else
  static constexpr char const* files[] = {"libcuda.so.1", "libcuda.so"};
#endif
  static constexpr library_names names{
      "libcuda.so", files, sizeof files / sizeof files[0],
      "Install NVIDIA's driver, or use memory that the CPU can access"};
  static loaded_driver<cuda_table> const driver(names);
  if (driver.is_loaded() || !shared_library::is_loaded(names)) {
    return driver;
  }
  // Other code of the process has loaded the driver after the first lookup.
  static loaded_driver<cuda_table> const loaded_later(names);
  return loaded_later;
}

// The retained primary context of a device, and its events. Both exist until the process ends.
struct cuda_device_state {
  std::atomic<int> handle{-1};  // the CUdevice of the ordinal, or -1 before the first lookup
  std::atomic<void*> primary{nullptr};
  event_pool events;
};
DLBRIDGE_LOCAL inline cuda_device_state* cuda_devices() noexcept {
  static cuda_device_state devices[max_devices];
  return devices;
}
}  // namespace detail

/// Loads the CUDA driver on the first call. If that fails, a later call finds the driver only if
/// other code of the process has loaded it.
/// @return the functions of the driver, or null if there is no driver or no device.
/// @par Thread and GIL
/// Any thread.
inline cuda_table const* cuda() noexcept {
  auto const& driver = detail::cuda_driver();
  return driver.status.ok() ? &driver.table : nullptr;
}
/// The reason why cuda() returns null.
/// @return a report: runtime_missing, runtime_failed; ok() if cuda() does not return null.
inline report const& cuda_status() noexcept { return detail::cuda_driver().status; }

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

  /// Enters the context of a stream. A default stream belongs to no context: for it, the guard
  /// enters the context that try_enter_device selects. For a stream of a green context it is the
  /// primary context, where the driver does not report another one.
  /// @return a report: runtime_failed (for example because the stream was destroyed).
  report try_enter(stream_ref stream) noexcept {
    leave();
    if (detail::is_default_stream(stream)) {
      return try_enter_device(stream.device().id);
    }
    void* context = nullptr;
    driver_result const result = driver_.stream_get_context(stream.native_handle(), &context);
    if (result == driver_success) {
      return try_enter_context(context);
    }
    // Drivers before CUDA 13 return this for the streams of green contexts. Such a context shares
    // the events and the memory of the primary one.
    return result == driver_not_supported
               ? try_enter_primary(stream.device().id)
               : detail::failed_call(driver_, driver_.stream_get_context.name(), result);
  }
  /// Keeps the current context if it belongs to the device. Otherwise enters the primary context of
  /// the device, also if another thread has destroyed the current one.
  /// @return a report: runtime_failed.
  report try_enter_device(int ordinal) noexcept {
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
    driver_result const result = driver_.context_get_device(&current);
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
    leave();
    void* previous = nullptr;
    report status = try_get_current(previous);
    if (status.ok() && previous != context) {
      previous_ = previous;
      status = try_call(driver_, driver_.context_push, context);
      is_pushed_ = status.ok();
    }
    context_ = status.ok() ? context : nullptr;
    return status;
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
  }

  /// The context that the guard has entered, or null.
  void* context() const noexcept { return context_; }
  /// The pool of events of the context. Null if the context is not the primary one of its device:
  /// the process may destroy such a context, and its events with it, at any time.
  event_pool* events() const noexcept {
    for (int i = 0; context_ != nullptr && i < max_devices; ++i) {
      if (detail::cuda_devices()[i].primary.load(std::memory_order_acquire) == context_) {
        return &detail::cuda_devices()[i].events;
      }
    }
    int device = -1;
    if (!succeeds(driver_, driver_.context_get_device, &device) || device < 0 ||
        device >= max_devices) {
      return nullptr;
    }
    unsigned flags = 0;
    int active = 0;  // retaining an inactive primary context would create it
    void* primary = nullptr;
    if (!succeeds(driver_, driver_.primary_get_state, device, &flags, &active) || active == 0 ||
        !try_retain(device, primary).ok() || primary != context_) {
      return nullptr;
    }
    return &detail::cuda_devices()[device].events;
  }

 private:
  // Whether a result states that the current context of the thread was destroyed.
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
    void* context = device < max_devices ? detail::cuda_devices()[device].primary.load() : nullptr;
    report status = context != nullptr ? try_enter_context(context) : report{};
    if (context == nullptr || !status.ok()) {  // not cached yet, or the device was reset
      status = try_retain(device, context);
      status = status.ok() ? try_enter_context(context) : status;
    }
    return status;
  }
  // Retains the primary context of a device. Keeps one reference for each context. A reset of the
  // device ends all references, and the context may have the same handle afterwards.
  report try_retain(int device, void*& context) const noexcept {
    unsigned flags = 0;
    int was_active = 0;
    static_cast<void>(succeeds(driver_, driver_.primary_get_state, device, &flags, &was_active));
    report const status = try_call(driver_, driver_.primary_retain, &context, device);
    if (!status.ok() || device >= max_devices) {
      return status;
    }
    detail::cuda_device_state& state = detail::cuda_devices()[device];
    void* const previous = state.primary.exchange(context, std::memory_order_acq_rel);
    if (previous == context && was_active != 0) {
      static_cast<void>(succeeds(driver_, driver_.primary_release, device));
    } else if (previous != nullptr) {  // the driver destroyed the previous context and its events
      while (state.events.try_take() != nullptr) {
      }
    }
    return status;
  }

  cuda_table const& driver_;
  void* context_ = nullptr;
  bool is_pushed_ = false;
  void* previous_ = nullptr;  // the context that was current before context_
};

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
        current == nullptr || current != its->primary.load(std::memory_order_acquire)) {
      return nullptr;
    }
  }
  return &state->events;
}
}  // namespace detail

/// Looks up the device of an address.
/// @param driver the driver.
/// @param address the address, in host or device memory.
/// @param[out] out the device: cuda with the driver's ordinal, cuda_host or cuda_managed.
/// @return false if the driver has not allocated or registered the memory; out is then unchanged.
inline bool try_locate(cuda_table const& driver, void const* address, device& out) noexcept {
  auto const query = [&](auto* value, int attribute) {
    return succeeds(driver, driver.pointer_get_attribute, value, attribute, address);
  };
  constexpr unsigned type_host = 1;
  unsigned type = 0;
  if (!query(&type, detail::attribute_memory_type)) {
    return false;
  }
  unsigned is_managed = 0;
  int ordinal = 0;
  if (query(&is_managed, detail::attribute_is_managed) && is_managed != 0) {
    out = device(kDLCUDAManaged, 0);
  } else if (type == type_host) {
    out = device(kDLCUDAHost, 0);
  } else if (query(&ordinal, detail::attribute_device_ordinal)) {
    out = device(kDLCUDA, ordinal);
  } else {
    return false;
  }
  return true;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

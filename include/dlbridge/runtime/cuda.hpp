// The functions of the CUDA driver that are used here, each under its exact name, found when first
// asked for; and the guard that enters a context and leaves it.
// layer: runtime · side road: to the device runtimes
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// CUDA_MEMCPY2D of cuda.h, member for member.
struct cuda_block_copy {
  std::size_t from_x, from_y;
  int from_type;
  void const* from_host;
  void const* from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void* to_host;
  void* to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};

/// Handles and device addresses are void pointers here, ordinals and enumerators are int. Names are
/// those in the driver's file: where cuda.h hides a _v2 behind a macro it is written out, and the
/// variants for a per-thread default stream are never meant.
struct cuda_table : driver_source {
  /// What work happens in: a CUcontext.
  using context_handle = void*;

  explicit cuda_table(driver_source const& from) noexcept : driver_source(from) {}

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
  f<void*, int, void const*> pointer_get_attribute{*this, "cuPointerGetAttribute"};

  char const* error_name(driver_result result) const noexcept {
    char const* text = nullptr;
    return get_error_name && get_error_name(result, &text) == driver_success ? text : nullptr;
  }
  char const* error_text(driver_result result) const noexcept {
    char const* text = nullptr;
    return get_error_string && get_error_string(result, &text) == driver_success ? text : nullptr;
  }
  void forget_error() const noexcept {}
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
      "Install NVIDIA's driver, or keep to memory that the CPU can reach"};
  static loaded_driver<cuda_table> const driver(names);
  if (driver.is_here() || !shared_library::is_loaded(names)) {
    return driver;
  }
  static loaded_driver<cuda_table> const later(names);  // somebody else has brought it since
  return later;
}

// The primary contexts that were retained, and the events of each, by device. All of them live as
// long as the process.
struct cuda_device_state {
  std::atomic<void*> primary{nullptr};
  event_pool events;
};
DLBRIDGE_LOCAL inline cuda_device_state* cuda_devices() noexcept {
  static cuda_device_state devices[max_devices];
  return devices;
}
}  // namespace detail

/// The CUDA driver, or null when it is not here or sees no device. It is looked for once, and
/// found later only where somebody else loads it.
inline cuda_table const* cuda() noexcept {
  auto const& driver = detail::cuda_driver();
  return driver.why.ok() ? &driver.table : nullptr;
}
/// Why cuda() is null; ok() when it is not. runtime_missing or runtime_failed.
inline report const& why_no_cuda() noexcept { return detail::cuda_driver().why; }

/// One context at a time is entered; entering another leaves the first. thread: to be destroyed on
/// the thread that made it.
template <>
class context_guard<cuda_table> {
 public:
  explicit context_guard(cuda_table const& driver) noexcept : driver_(driver) {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() { leave(); }

  /// Enters the context of a stream. A default stream has none of its own: it is that of the
  /// current context where this is of the stream's device, else of the device's primary one.
  /// reports: runtime_failed (the stream may be destroyed).
  report try_enter(stream_ref stream) noexcept {
    leave();
    if (reinterpret_cast<std::uintptr_t>(stream.native_handle()) <= 2) {
      return try_enter_device(stream.device().id);
    }
    void* context = nullptr;
    report why = try_call(driver_, driver_.stream_get_context, stream.native_handle(), &context);
    return why.ok() ? try_enter_context(context) : why;
  }
  /// Stays in the current context where it is of this device, else enters the primary one.
  report try_enter_device(int ordinal) noexcept {
    leave();
    int device = 0;
    report why = try_call(driver_, driver_.device_get, &device, ordinal);
    void* context = nullptr;
    if (why.ok()) {
      why = try_call(driver_, driver_.context_get_current, &context);
    }
    int current = -1;
    if (why.ok() && context != nullptr) {
      why = try_call(driver_, driver_.context_get_device, &current);
    }
    if (!why.ok()) {
      return why;
    }
    return context != nullptr && current == device ? try_enter_context(context)
                                                   : try_enter_primary(device);
  }
  report try_enter_context(void* context) noexcept {
    leave();
    void* before = nullptr;
    report why = try_call(driver_, driver_.context_get_current, &before);
    if (why.ok() && before != context) {
      before_ = before;
      why = try_call(driver_, driver_.context_push, context);
      entered_ = why.ok();
    }
    context_ = why.ok() ? context : nullptr;
    return why;
  }
  void leave() noexcept {
    void* popped = nullptr;
    void* current = nullptr;
    // A failure may be an older one that is reported late: what counts is what is current.
    if (entered_ && !succeeds(driver_, driver_.context_pop, &popped) &&
        succeeds(driver_, driver_.context_get_current, &current) && current == context_ &&
        !succeeds(driver_, driver_.context_pop, &popped)) {
      static_cast<void>(succeeds(driver_, driver_.context_set_current, before_));
    }
    entered_ = false;
    context_ = nullptr;
  }

  /// The context that is entered; null when none is.
  void* context() const noexcept { return context_; }
  /// Where its events are kept; null when they are not, as contexts come and go that are no
  /// device's primary one.
  event_pool* events() const noexcept {
    int device = -1;
    if (!succeeds(driver_, driver_.context_get_device, &device) || device < 0 ||
        device >= max_devices) {
      return nullptr;
    }
    detail::cuda_device_state& state = detail::cuda_devices()[device];
    if (state.primary.load(std::memory_order_acquire) != context_) {
      unsigned flags = 0;
      int active = 0;  // one that nobody uses is not to be made for this
      void* primary = nullptr;
      if (!succeeds(driver_, driver_.primary_get_state, device, &flags, &active) || active == 0 ||
          !try_retain(device, primary).ok() || primary != context_) {
        return nullptr;
      }
    }
    return &state.events;
  }

 private:
  report try_enter_primary(int device) noexcept {
    void* context = device < max_devices ? detail::cuda_devices()[device].primary.load() : nullptr;
    report why = context != nullptr ? try_enter_context(context) : report{};
    if (context == nullptr || !why.ok()) {  // at first, and when the device has been reset
      why = try_retain(device, context);
      why = why.ok() ? try_enter_context(context) : why;
    }
    return why;
  }
  // Retains the primary context of a device, once for as long as it is the same.
  report try_retain(int device, void*& context) const noexcept {
    report const why = try_call(driver_, driver_.primary_retain, &context, device);
    if (!why.ok() || device >= max_devices) {
      return why;
    }
    detail::cuda_device_state& state = detail::cuda_devices()[device];
    void* const before = state.primary.exchange(context, std::memory_order_acq_rel);
    if (before == context) {
      static_cast<void>(succeeds(driver_, driver_.primary_release, device));
    } else if (before != nullptr) {  // its events are gone with it
      while (state.events.try_take() != nullptr) {
      }
    }
    return why;
  }

  cuda_table const& driver_;
  void* context_ = nullptr;
  bool entered_ = false;
  void* before_ = nullptr;  // what was current then
};

/// Enqueues a copy on a stream of the context that is entered. reports: as try_call.
inline report try_copy(cuda_table const& driver, block_copy const& copy, void* stream) noexcept {
  if (copy.height == 1) {
    return try_call(driver, driver.copy_async, copy.to, copy.from, copy.width, stream);
  }
  auto const type = [](memory_side side) {
    return side == memory_side::host ? 1 : side == memory_side::device ? 2 : 4;
  };
  cuda_block_copy block{};
  block.from_type = type(copy.from_side);
  block.from_host = copy.from;  // of the two addresses the type chooses one
  block.from_device = copy.from;
  block.from_pitch = copy.from_pitch;
  block.to_type = type(copy.to_side);
  block.to_host = copy.to;
  block.to_device = copy.to;
  block.to_pitch = copy.to_pitch;
  block.width = copy.width;
  block.height = copy.height;
  return try_call(driver, driver.copy_block_async, &block, stream);
}

/// Enqueues a copy from one device's memory to another's. reports: as try_call.
inline report try_copy_peer(cuda_table const& driver, void* to, void* to_context, void const* from,
                            void* from_context, std::size_t bytes, void* stream) noexcept {
  return try_call(driver, driver.copy_peer_async, to, to_context, from, from_context, bytes,
                  stream);
}

/// What the driver knows of an address: cuda with its real ordinal, cuda_host or cuda_managed.
/// False, and nothing written, for memory that is not the driver's.
inline bool try_locate(cuda_table const& driver, void const* address, device& out) noexcept {
  constexpr int memory_type = 2, is_managed = 8, device_ordinal = 9;
  unsigned type = 0;
  if (!succeeds(driver, driver.pointer_get_attribute, &type, memory_type, address)) {
    return false;
  }
  unsigned managed = 0;
  int ordinal = 0;
  if (succeeds(driver, driver.pointer_get_attribute, &managed, is_managed, address) &&
      managed != 0) {
    out = device(kDLCUDAManaged, 0);
  } else if (type == 1) {
    out = device(kDLCUDAHost, 0);
  } else if (succeeds(driver, driver.pointer_get_attribute, &ordinal, device_ordinal, address)) {
    out = device(kDLCUDA, ordinal);
  } else {
    return false;
  }
  return true;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

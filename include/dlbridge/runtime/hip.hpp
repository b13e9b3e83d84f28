// The functions of the HIP runtime that are used here, each under its exact name, found when first
// asked for; and the guard that changes the current device and puts it back.
// layer: runtime · side road: to the device runtimes
#pragma once

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

/// Members are called as in cuda_table where they do the same. Handles and device addresses are
/// void pointers, enumerators are int.
struct hip_table : driver_source {
  /// What work happens on: a device's ordinal.
  using context_handle = int;

  explicit hip_table(driver_source const& from) noexcept
      : driver_source(from),
        error_name_(as_text(find("hipGetErrorName", false))),
        error_text_(as_text(find("hipGetErrorString", false))) {}

  template <class... Parameters>
  using f = driver_function<Parameters...>;

  f<unsigned> init{*this, "hipInit"};
  f<int*> driver_get_version{*this, "hipDriverGetVersion"};
  f<int*> runtime_get_version{*this, "hipRuntimeGetVersion"};
  f<int*> device_get_count{*this, "hipGetDeviceCount"};
  f<int*> get_device{*this, "hipGetDevice"};
  f<int> set_device{*this, "hipSetDevice"};
  f<void*> stream_synchronize{*this, "hipStreamSynchronize"};
  f<void*, void*, unsigned> stream_wait_event{*this, "hipStreamWaitEvent"};
  f<void*, int*> stream_is_capturing{*this, "hipStreamIsCapturing", presence::optional};
  f<void*, int*, std::uint64_t*, void**, void***, std::size_t*> stream_get_capture_info{
      *this, "hipStreamGetCaptureInfo_v2", presence::optional};
  f<int*> exchange_capture_mode{*this, "hipThreadExchangeStreamCaptureMode", presence::optional};
  f<void**, unsigned> event_create{*this, "hipEventCreateWithFlags"};
  f<void*> event_destroy{*this, "hipEventDestroy"};
  f<void*, void*> event_record{*this, "hipEventRecord"};
  f<void**, std::size_t> memory_allocate{*this, "hipMalloc"};
  f<void*> memory_free{*this, "hipFree"};
  f<void**, std::size_t, void*> memory_allocate_async{*this, "hipMallocAsync", presence::optional};
  f<void*, void*> memory_free_async{*this, "hipFreeAsync", presence::optional};
  f<void**, std::size_t, unsigned> managed_allocate{*this, "hipMallocManaged", presence::optional};
  f<void**, std::size_t, unsigned> host_allocate{*this, "hipHostMalloc"};
  f<void*> host_free{*this, "hipHostFree"};
  f<void*, void const*, std::size_t, int, void*> copy_async{*this, "hipMemcpyAsync"};
  f<void*, int, void const*, int, std::size_t, void*> copy_peer_async{*this, "hipMemcpyPeerAsync"};
  f<void*, std::size_t, void const*, std::size_t, std::size_t, std::size_t, int, void*>
      copy_block_async{*this, "hipMemcpy2DAsync"};
  f<void*, int, void const*> pointer_get_attribute{*this, "hipPointerGetAttribute"};
  f<> get_last_error{*this, "hipGetLastError", presence::optional};

  char const* error_name(driver_result result) const noexcept {
    return error_name_ != nullptr ? error_name_(result) : nullptr;
  }
  char const* error_text(driver_result result) const noexcept {
    return error_text_ != nullptr ? error_text_(result) : nullptr;
  }
  /// HIP remembers the last error of a thread for whoever asks next; ours is none of theirs.
  void forget_error() const noexcept {
    if (get_last_error) {
      static_cast<void>(get_last_error());
    }
  }

 private:
  using text_function = char const* (*)(driver_result);
  static text_function as_text(any_function found) noexcept {
    return reinterpret_cast<text_function>(found);
  }

  text_function error_name_;
  text_function error_text_;
};

namespace detail {
DLBRIDGE_LOCAL inline loaded_driver<hip_table> const& hip_driver() noexcept {
#if defined(_WIN32)
  static constexpr char const* files[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"};
#else
  static constexpr char const* files[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5", "libamdhip64.so"};
#endif
  static constexpr library_names names{
      "libamdhip64", files, sizeof files / sizeof files[0],
      "Install ROCm's runtime, or keep to memory that the CPU can reach"};
  static loaded_driver<hip_table> const driver(names);
  if (driver.is_here() || !shared_library::is_loaded(names)) {
    return driver;
  }
  static loaded_driver<hip_table> const later(names);  // as a wheel brings a copy of its own
  return later;
}

DLBRIDGE_LOCAL inline event_pool* hip_events() noexcept {
  static event_pool events[max_devices];
  return events;
}

// The enumerators of copies; HIP finds out itself where managed memory is.
inline int hip_copy_kind(memory_side from, memory_side to) noexcept {
  if (from == memory_side::managed || to == memory_side::managed) {
    return 4;
  }
  bool const from_device = from == memory_side::device;
  return to == memory_side::device ? (from_device ? 3 : 1) : (from_device ? 2 : 0);
}
}  // namespace detail

/// The HIP runtime, or null when it is not here or sees no device. It is looked for once, and
/// found later only where somebody else loads it.
inline hip_table const* hip() noexcept {
  auto const& driver = detail::hip_driver();
  return driver.why.ok() ? &driver.table : nullptr;
}
/// Why hip() is null; ok() when it is not. runtime_missing or runtime_failed.
inline report const& why_no_hip() noexcept { return detail::hip_driver().why; }

/// One device at a time is entered; entering another leaves the first. thread: to be destroyed on
/// the thread that made it.
template <>
class context_guard<hip_table> {
 public:
  explicit context_guard(hip_table const& driver) noexcept : driver_(driver) {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() { leave(); }

  /// HIP's streams are asked for their device by the one that they were made for.
  report try_enter(stream_ref stream) noexcept { return try_enter_device(stream.device().id); }
  report try_enter_device(int ordinal) noexcept {
    leave();
    report why = try_call(driver_, driver_.get_device, &before_);
    if (why.ok() && before_ != ordinal) {
      why = try_call(driver_, driver_.set_device, ordinal);
      entered_ = why.ok();
    }
    context_ = why.ok() ? ordinal : -1;
    return why;
  }
  report try_enter_context(int ordinal) noexcept { return try_enter_device(ordinal); }
  void leave() noexcept {
    // Once more when it fails: the answer may be an older failure's, reported late.
    if (entered_ && !succeeds(driver_, driver_.set_device, before_)) {
      static_cast<void>(succeeds(driver_, driver_.set_device, before_));
    }
    entered_ = false;
    context_ = -1;
  }

  /// The device that is entered; -1 when none is.
  int context() const noexcept { return context_; }
  event_pool* events() const noexcept {
    return context_ >= 0 && context_ < max_devices ? &detail::hip_events()[context_] : nullptr;
  }

 private:
  hip_table const& driver_;
  int before_ = 0;
  int context_ = -1;
  bool entered_ = false;
};

/// Enqueues a copy on a stream of the device that is entered. reports: as try_call.
inline report try_copy(hip_table const& driver, block_copy const& copy, void* stream) noexcept {
  int const kind = detail::hip_copy_kind(copy.from_side, copy.to_side);
  if (copy.height == 1) {
    return try_call(driver, driver.copy_async, copy.to, copy.from, copy.width, kind, stream);
  }
  return try_call(driver, driver.copy_block_async, copy.to, copy.to_pitch, copy.from,
                  copy.from_pitch, copy.width, copy.height, kind, stream);
}

/// Enqueues a copy from one device's memory to another's. reports: as try_call.
inline report try_copy_peer(hip_table const& driver, void* to, int to_device, void const* from,
                            int from_device, std::size_t bytes, void* stream) noexcept {
  return try_call(driver, driver.copy_peer_async, to, to_device, from, from_device, bytes, stream);
}

/// What the runtime knows of an address: rocm with its real ordinal, or rocm_host, which managed
/// memory counts as, having no device type of its own (spec 1.3). False, and nothing written, for
/// memory that is not the runtime's.
inline bool try_locate(hip_table const& driver, void const* address, device& out) noexcept {
  constexpr int memory_type = 2, is_managed = 8, device_ordinal = 9;
  unsigned type = 0;
  int version = 0;
  if (!succeeds(driver, driver.pointer_get_attribute, &type, memory_type, address) ||
      !succeeds(driver, driver.runtime_get_version, &version)) {
    return false;
  }
  unsigned const host = version >= 60000000 ? 1 : 0;  // ROCm 6 numbered the enumerators anew
  unsigned managed = 0;
  int ordinal = 0;
  bool const is_managed_memory =
      succeeds(driver, driver.pointer_get_attribute, &managed, is_managed, address) && managed != 0;
  bool const is_host = type == host || is_managed_memory;
  if (!is_host &&
      !succeeds(driver, driver.pointer_get_attribute, &ordinal, device_ordinal, address)) {
    return false;
  }
  out = is_host ? device(kDLROCMHost, 0) : device(kDLROCM, ordinal);
  return true;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// hip, hip_table, context_guard: look up the functions of the HIP runtime, and make its devices
// current.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// The functions of the HIP runtime. Members have the names of cuda_table where they do the same.
/// Handles and device addresses have the type void*; enumerators have the type int.
struct hip_table : driver_source {
  /// The ordinal of a device: HIP has no contexts.
  using context_handle = int;
  /// A device as it is stored for later use.
  using stored_context = int;
  /// Advice if the process has loaded the runtime twice. Some packages contain a copy of it.
  static constexpr char const* advice_for_copies =
      "The process has loaded two copies of ROCm's runtime, and neither knows the streams and the "
      "memory of the other: import the library that contains a copy before dlbridge uses a device";

  /// Looks up the functions.
  DLBRIDGE_COLD explicit hip_table(driver_source const& source) noexcept;

  /// @cond
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
  f<void*> event_query{*this, "hipEventQuery"};
  f<void*> event_synchronize{*this, "hipEventSynchronize"};
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
  f<void const*, std::size_t, int, void*> prefetch{*this, "hipMemPrefetchAsync",
                                                   presence::optional};
  f<void const*, std::size_t, int, int> advise{*this, "hipMemAdvise", presence::optional};
  f<> get_last_error{*this, "hipGetLastError", presence::optional};

  /// @endcond
  char const* error_name(driver_result result) const noexcept;  ///< As in cuda_table.
  char const* error_text(driver_result result) const noexcept;  ///< As in cuda_table.
  /// Clears the error of the last call on this thread, which HIP would return from the next
  /// hipGetLastError of other code.
  void clear_error() const noexcept;

 private:
  using text_function = char const* (*)(driver_result);
  static text_function as_text(any_function address) noexcept;

  text_function error_name_;
  text_function error_text_;
};

namespace detail {
DLBRIDGE_LOCAL loaded_driver<hip_table> const& hip_driver() noexcept;
template <>
constexpr runtime_kind runtime_of_table<hip_table>() noexcept {
  return runtime_kind::hip;
}
}  // namespace detail

/// Loads the HIP runtime on the first call. If that fails, a later call starts the runtime again,
/// and finds a runtime that other code of the process has loaded.
/// @return the functions of the runtime, or null if there is no runtime or no device.
/// @note Any thread may call it.
hip_table const* hip() noexcept;
/// The reason why hip() returns null.
/// @return a report: runtime_missing, runtime_failed; ok() if hip() does not return null.
inline report const& hip_status() noexcept { return detail::hip_driver().status; }

/// Makes HIP devices current on this thread. The guard enters one device at a time: entering a
/// second one leaves the first.
/// @par Thread and GIL
/// The thread that constructs the guard destroys it.
template <>
class context_guard<hip_table> {
 public:
  /// Enters nothing yet.
  explicit context_guard(hip_table const& driver) noexcept : driver_(driver) {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() { leave(); }

  /// Enters the device of a stream.
  /// @return a report: runtime_failed.
  report try_enter(stream_ref stream) noexcept { return try_enter_device(stream.device().id); }
  /// Enters a device.
  /// @return a report: runtime_failed.
  DLBRIDGE_COLD report try_enter_device(int ordinal) noexcept;
  /// The same as try_enter_device.
  report try_enter_context(int ordinal) noexcept { return try_enter_device(ordinal); }
  /// Makes the previous device current again.
  void leave() noexcept;

  /// The ordinal of the device that the guard has entered, or -1.
  int context() const noexcept { return context_; }
  /// The device that the guard has entered, for later use.
  int to_store() const noexcept { return context_; }
  /// Always true: devices are never destroyed.
  bool exists(int) const noexcept { return true; }
  /// The stream, whose device is all that a thread must know of it.
  stream_ref in_context(stream_ref stream) const noexcept { return stream; }
  /// The pool of events of the device, or null.
  event_pool* events() const noexcept;

 private:
  hip_table const& driver_;
  int previous_ = 0;  // the device that was current before context_
  int context_ = -1;
  bool is_changed_ = false;
};

/// The stream: HIP has no contexts, and the device of a default stream is that of the reference.
stream_ref in_current_context(hip_table const&, stream_ref stream) noexcept;

/// @cond
/// Enqueues a copy on a stream of the current device.
/// @return a report: as try_call.
report try_copy(hip_table const& driver, block_copy const& copy, void* stream) noexcept;

/// Enqueues a copy between the memories of two devices.
/// @return a report: as try_call.
report try_copy_peer(hip_table const& driver, void* to, int to_device, void const* from,
                     int from_device, std::size_t bytes, void* stream) noexcept;

/// Whether try_copy_peer_block needs one call for a block, and not one for each row.
constexpr bool copies_peer_blocks(hip_table const&) noexcept { return false; }
/// Enqueues a copy of rows between the memories of two devices. Releases of ROCm before 7 have no
/// function for a block, so this function copies each row.
report try_copy_peer_block(hip_table const& driver, block_copy const& copy, int to_device,
                           int from_device, void* stream) noexcept;

/// @endcond
/// Looks up the device of an address.
/// @param driver the runtime.
/// @param address the address, in host or device memory.
/// @param[out] out the device: rocm with the runtime's ordinal, or rocm_host. Managed memory is
/// rocm_host, as DLPack has no device type for it (spec 1.3).
/// @return false if the runtime did not allocate the memory. out is then unchanged.
bool try_locate(hip_table const& driver, void const* address, device& out) noexcept;

namespace detail {
// As for CUDA: only the null stream refers to the current device.
event_pool* events_at_hand(hip_table const& driver, stream_ref consumer,
                           stream_ref producer) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/hip.ipp>
#endif

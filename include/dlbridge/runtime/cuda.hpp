// cuda, cuda_table, try_locate: look up the functions of the CUDA driver, and the device of an
// address.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/driver.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

struct cuda_block_copy;       // of cuda.h: CUDA_MEMCPY2D
struct cuda_peer_block_copy;  // CUDA_MEMCPY3D_PEER
/// A context for later use. A reset of a device destroys its primary context, and the next one has
/// the same handle but another ID.
struct cuda_context {
  void* handle = nullptr;  ///< The CUcontext.
  std::uint64_t id = 0;    ///< 0 if the driver has no IDs, before CUDA 12.
};
/// The struct CUmemLocation of cuda.h.
struct cuda_location {
  int type;  ///< A CUmemLocationType.
  int id;    ///< The ordinal of a device.
};

/// The functions of the CUDA driver. Handles and device addresses have the type void*; ordinals and
/// enumerators have the type int.
///
/// The names are the symbols of the driver's library. They include the suffix _v2 that macros of
/// cuda.h add. The table does not use the variants for a per-thread default stream (_ptsz).
struct cuda_table : driver_source {
  /// The type CUcontext.
  using context_handle = void*;
  /// A context as it is stored for later use.
  using stored_context = cuda_context;
  /// Advice if the process has loaded the driver twice. No package contains a copy of it.
  static constexpr char const* advice_for_copies = nullptr;

  /// Looks up the functions.
  DLBRIDGE_COLD explicit cuda_table(driver_source const& source) noexcept;

  /// @cond
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
  f<void*, std::uint64_t*> context_get_id{*this, "cuCtxGetId", presence::optional};  // from CUDA 12
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
  f<void const*, std::size_t, int, void*> prefetch{*this, "cuMemPrefetchAsync", presence::optional};
  f<void const*, std::size_t, cuda_location, unsigned, void*> prefetch_to{
      *this, "cuMemPrefetchAsync_v2", presence::optional};  // from CUDA 12.2
  f<void const*, std::size_t, int, int> advise{*this, "cuMemAdvise", presence::optional};
  f<void const*, std::size_t, int, cuda_location> advise_for{*this, "cuMemAdvise_v2",
                                                             presence::optional};

  /// @endcond
  /// The name of a result, such as "CUDA_ERROR_INVALID_VALUE", or null if the driver has none.
  char const* error_name(driver_result result) const noexcept;
  /// The driver's description of a result, or null if the driver has none.
  char const* error_text(driver_result result) const noexcept;
  /// Does nothing: the CUDA driver does not store the last error.
  void clear_error() const noexcept {}
};

namespace detail {
DLBRIDGE_LOCAL loaded_driver<cuda_table> const& cuda_driver() noexcept;
template <>
constexpr runtime_kind runtime_of_table<cuda_table>() noexcept {
  return runtime_kind::cuda;
}
}  // namespace detail

/// Loads the CUDA driver on the first call. If that fails, a later call starts the driver again,
/// and finds a driver that other code of the process has loaded.
/// @return the functions of the driver, or null if there is no driver or no device.
/// @note Any thread may call it.
cuda_table const* cuda() noexcept;
/// The reason why cuda() returns null.
/// @return a report: runtime_missing, runtime_failed; ok() if cuda() does not return null.
inline report const& cuda_status() noexcept { return detail::cuda_driver().status; }

/// Looks up the device of an address.
/// @param driver the driver.
/// @param address the address, in host or device memory.
/// @param[out] out the device: cuda with the driver's ordinal, cuda_host or cuda_managed.
/// @return false if the driver has not allocated or registered the memory; out is then unchanged.
bool try_locate(cuda_table const& driver, void const* address, device& out) noexcept;

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/cuda.ipp>
#endif

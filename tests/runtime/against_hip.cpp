// SPDX-License-Identifier: BSD-3-Clause
// Compares hip_table with hip_runtime_api.h at compile time: number and sizes of parameters, error
// codes and enumerators.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1  // the name in older versions
#include <hip/hip_runtime_api.h>

#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>

namespace {

using dlbridge::driver_function;
using dlbridge::hip_table;

template <class... Ours, class... Theirs>
constexpr bool is_like(driver_function<Ours...> hip_table::*, hipError_t (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return ((sizeof(Ours) == sizeof(Theirs)) && ...);
  }
  return false;
}
// The header overloads some functions for C++. The parameter types select the exported one.
template <class... Theirs, class... Ours>
constexpr bool is_like_exported(driver_function<Ours...> hip_table::* ours,
                                hipError_t (*theirs)(Theirs...)) {
  return is_like(ours, theirs);
}
#define SAME_CALL(ours, theirs) static_assert(is_like(&hip_table::ours, &theirs), #theirs)
#define SAME_EXPORTED_CALL(ours, theirs, ...) \
  static_assert(is_like_exported<__VA_ARGS__>(&hip_table::ours, &theirs), #theirs)
SAME_CALL(init, hipInit);
SAME_CALL(driver_get_version, hipDriverGetVersion);
SAME_CALL(runtime_get_version, hipRuntimeGetVersion);
SAME_CALL(device_get_count, hipGetDeviceCount);
SAME_CALL(get_device, hipGetDevice);
SAME_CALL(set_device, hipSetDevice);
SAME_CALL(stream_synchronize, hipStreamSynchronize);
SAME_CALL(stream_wait_event, hipStreamWaitEvent);
SAME_CALL(stream_is_capturing, hipStreamIsCapturing);
SAME_CALL(stream_get_capture_info, hipStreamGetCaptureInfo_v2);
SAME_CALL(exchange_capture_mode, hipThreadExchangeStreamCaptureMode);
SAME_CALL(event_create, hipEventCreateWithFlags);
SAME_CALL(event_destroy, hipEventDestroy);
SAME_CALL(event_query, hipEventQuery);
SAME_CALL(event_synchronize, hipEventSynchronize);
SAME_CALL(memory_free, hipFree);
SAME_CALL(memory_free_async, hipFreeAsync);
SAME_CALL(host_free, hipHostFree);
SAME_CALL(copy_async, hipMemcpyAsync);
SAME_CALL(copy_peer_async, hipMemcpyPeerAsync);
SAME_CALL(copy_block_async, hipMemcpy2DAsync);
SAME_CALL(pointer_get_attribute, hipPointerGetAttribute);
SAME_CALL(get_last_error, hipGetLastError);
SAME_CALL(prefetch, hipMemPrefetchAsync);
SAME_CALL(advise, hipMemAdvise);
SAME_EXPORTED_CALL(event_record, hipEventRecord, hipEvent_t, hipStream_t);
SAME_EXPORTED_CALL(memory_allocate, hipMalloc, void**, size_t);
SAME_EXPORTED_CALL(memory_allocate_async, hipMallocAsync, void**, size_t, hipStream_t);
SAME_EXPORTED_CALL(managed_allocate, hipMallocManaged, void**, size_t, unsigned);
SAME_EXPORTED_CALL(host_allocate, hipHostMalloc, void**, size_t, unsigned);

static_assert(hipSuccess == dlbridge::driver_success);
static_assert(hipErrorOutOfMemory == dlbridge::driver_out_of_memory);
static_assert(hipErrorNoDevice == dlbridge::driver_no_device);
static_assert(hipErrorInvalidDevice == dlbridge::driver_invalid_device);
static_assert(hipErrorNotSupported == dlbridge::driver_not_supported);
static_assert(hipErrorInvalidValue == dlbridge::driver_invalid_value);
static_assert(hipErrorNotInitialized == dlbridge::driver_not_initialized);
static_assert(hipErrorDeinitialized == dlbridge::driver_deinitialized);
static_assert(hipErrorInvalidContext == dlbridge::driver_invalid_context);
static_assert(hipErrorInvalidHandle == dlbridge::driver_invalid_handle);
static_assert(hipErrorInsufficientDriver == dlbridge::driver_insufficient);
static_assert(hipErrorOperatingSystem == dlbridge::driver_operating_system);
static_assert(hipErrorNotReady == dlbridge::driver_not_ready);
static_assert(hipErrorContextIsDestroyed == dlbridge::driver_context_destroyed);
static_assert(hipErrorStreamCaptureUnsupported == dlbridge::driver_capture_unsupported);
static_assert(hipErrorStreamCaptureWrongThread == dlbridge::driver_capture_wrong_thread);
static_assert(hipErrorUnknown == dlbridge::driver_unknown_error);
static_assert(hipStreamCaptureStatusNone == 0);
static_assert(hipStreamCaptureModeRelaxed == dlbridge::detail::capture_mode_relaxed);
static_assert(hipEventDisableTiming == dlbridge::detail::event_disable_timing);
static_assert(hipHostMallocPortable == dlbridge::detail::allocation_portable);
static_assert(hipMemAdviseSetReadMostly == 1 && hipMemAdviseSetAccessedBy == 5 &&
              hipMemAdviseUnsetAccessedBy == 6 && hipCpuDeviceId == -1);
static_assert(hipMemAttachGlobal == dlbridge::detail::allocation_portable);
static_assert(hipMemcpyHostToHost == 0 && hipMemcpyHostToDevice == 1 &&
              hipMemcpyDeviceToHost == 2 && hipMemcpyDeviceToDevice == 3 && hipMemcpyDefault == 4);
static_assert(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE == dlbridge::detail::attribute_memory_type);
static_assert(HIP_POINTER_ATTRIBUTE_IS_MANAGED == dlbridge::detail::attribute_is_managed);
static_assert(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL == dlbridge::detail::attribute_device_ordinal);
static_assert(hipMemoryTypeHost == (HIP_VERSION_MAJOR < 6 ? 0 : 1));

}  // namespace

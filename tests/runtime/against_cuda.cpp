// SPDX-License-Identifier: BSD-3-Clause
// Compares cuda_table with cuda.h at compile time: number and sizes of parameters, the struct of
// block copies, error codes and enumerators.
#include <cuda.h>

#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/cuda_copies.hpp>
#include <dlbridge/runtime/detail/driver.hpp>

#include <cstddef>

namespace {

using dlbridge::cuda_block_copy;
using dlbridge::cuda_peer_block_copy;
using dlbridge::cuda_table;
using dlbridge::driver_function;

template <class... Ours, class... Theirs>
constexpr bool is_like(driver_function<Ours...> cuda_table::*, CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return ((sizeof(Ours) == sizeof(Theirs)) && ...);
  }
  return false;
}
#define SAME_CALL(ours, theirs) static_assert(is_like(&cuda_table::ours, &theirs), #theirs)
SAME_CALL(init, cuInit);
SAME_CALL(get_error_name, cuGetErrorName);
SAME_CALL(get_error_string, cuGetErrorString);
SAME_CALL(driver_get_version, cuDriverGetVersion);
SAME_CALL(device_get_count, cuDeviceGetCount);
SAME_CALL(device_get, cuDeviceGet);
SAME_CALL(primary_retain, cuDevicePrimaryCtxRetain);
SAME_CALL(primary_release, cuDevicePrimaryCtxRelease);
SAME_CALL(primary_get_state, cuDevicePrimaryCtxGetState);
SAME_CALL(context_get_current, cuCtxGetCurrent);
SAME_CALL(context_push, cuCtxPushCurrent);
SAME_CALL(context_pop, cuCtxPopCurrent);
SAME_CALL(context_set_current, cuCtxSetCurrent);
SAME_CALL(context_get_device, cuCtxGetDevice);
SAME_CALL(stream_get_context, cuStreamGetCtx);
SAME_CALL(stream_synchronize, cuStreamSynchronize);
SAME_CALL(stream_wait_event, cuStreamWaitEvent);
SAME_CALL(stream_is_capturing, cuStreamIsCapturing);
SAME_CALL(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
SAME_CALL(event_create, cuEventCreate);
SAME_CALL(event_destroy, cuEventDestroy);
SAME_CALL(event_record, cuEventRecord);
SAME_CALL(event_query, cuEventQuery);
SAME_CALL(event_synchronize, cuEventSynchronize);
SAME_CALL(memory_allocate, cuMemAlloc);
SAME_CALL(memory_free, cuMemFree);
SAME_CALL(memory_allocate_async, cuMemAllocAsync);
SAME_CALL(memory_free_async, cuMemFreeAsync);
SAME_CALL(managed_allocate, cuMemAllocManaged);
SAME_CALL(host_allocate, cuMemHostAlloc);
SAME_CALL(host_free, cuMemFreeHost);
SAME_CALL(copy_async, cuMemcpyAsync);
SAME_CALL(copy_peer_async, cuMemcpyPeerAsync);
SAME_CALL(copy_block_async, cuMemcpy2DAsync);
SAME_CALL(copy_peer_block_async, cuMemcpy3DPeerAsync);
SAME_CALL(pointer_get_attribute, cuPointerGetAttribute);
#if CUDA_VERSION >= 13000
SAME_CALL(prefetch_to, cuMemPrefetchAsync);  // the macros select the new variants
SAME_CALL(advise_for, cuMemAdvise);
#else
SAME_CALL(prefetch, cuMemPrefetchAsync);
SAME_CALL(advise, cuMemAdvise);
#if CUDA_VERSION >= 12020
SAME_CALL(prefetch_to, cuMemPrefetchAsync_v2);
SAME_CALL(advise_for, cuMemAdvise_v2);
#endif
SAME_CALL(stream_get_capture_info, cuStreamGetCaptureInfo_v2);
#endif

#define SAME_MEMBER_OF(struct_of_ours, ours, struct_of_theirs, theirs)                  \
  static_assert(offsetof(struct_of_ours, ours) == offsetof(struct_of_theirs, theirs) && \
                    sizeof(struct_of_ours::ours) == sizeof(struct_of_theirs::theirs),   \
                #theirs)
#define SAME_MEMBER(ours, theirs) SAME_MEMBER_OF(cuda_block_copy, ours, CUDA_MEMCPY2D, theirs)
static_assert(sizeof(cuda_block_copy) == sizeof(CUDA_MEMCPY2D));
SAME_MEMBER(from_x, srcXInBytes);
SAME_MEMBER(from_y, srcY);
SAME_MEMBER(from_type, srcMemoryType);
SAME_MEMBER(from_host, srcHost);
SAME_MEMBER(from_device, srcDevice);
SAME_MEMBER(from_array, srcArray);
SAME_MEMBER(from_pitch, srcPitch);
SAME_MEMBER(to_x, dstXInBytes);
SAME_MEMBER(to_y, dstY);
SAME_MEMBER(to_type, dstMemoryType);
SAME_MEMBER(to_host, dstHost);
SAME_MEMBER(to_device, dstDevice);
SAME_MEMBER(to_array, dstArray);
SAME_MEMBER(to_pitch, dstPitch);
SAME_MEMBER(width, WidthInBytes);
SAME_MEMBER(height, Height);

#define SAME_PEER_MEMBER(ours, theirs) \
  SAME_MEMBER_OF(cuda_peer_block_copy, ours, CUDA_MEMCPY3D_PEER, theirs)
static_assert(sizeof(cuda_peer_block_copy) == sizeof(CUDA_MEMCPY3D_PEER));
SAME_PEER_MEMBER(from_type, srcMemoryType);
SAME_PEER_MEMBER(from_device, srcDevice);
SAME_PEER_MEMBER(from_context, srcContext);
SAME_PEER_MEMBER(from_pitch, srcPitch);
SAME_PEER_MEMBER(to_x, dstXInBytes);
SAME_PEER_MEMBER(to_type, dstMemoryType);
SAME_PEER_MEMBER(to_device, dstDevice);
SAME_PEER_MEMBER(to_context, dstContext);
SAME_PEER_MEMBER(to_pitch, dstPitch);
SAME_PEER_MEMBER(width, WidthInBytes);
SAME_PEER_MEMBER(height, Height);
SAME_PEER_MEMBER(depth, Depth);
static_assert(CU_MEM_LOCATION_TYPE_DEVICE == 1 && CU_MEM_ADVISE_SET_READ_MOSTLY == 1 &&
              CU_MEM_ADVISE_SET_ACCESSED_BY == 5 && CU_MEM_ADVISE_UNSET_ACCESSED_BY == 6);
#if CUDA_VERSION >= 12020
static_assert(CU_MEM_LOCATION_TYPE_HOST == 2);
#endif

static_assert(CUDA_SUCCESS == dlbridge::driver_success);
static_assert(CUDA_ERROR_OUT_OF_MEMORY == dlbridge::driver_out_of_memory);
static_assert(CUDA_ERROR_NO_DEVICE == dlbridge::driver_no_device);
static_assert(CUDA_ERROR_INVALID_DEVICE == dlbridge::driver_invalid_device);
static_assert(CUDA_ERROR_NOT_PERMITTED == dlbridge::driver_not_permitted);
static_assert(CUDA_ERROR_NOT_SUPPORTED == dlbridge::driver_not_supported);
static_assert(CUDA_ERROR_INVALID_VALUE == dlbridge::driver_invalid_value);
static_assert(CUDA_ERROR_NOT_INITIALIZED == dlbridge::driver_not_initialized);
static_assert(CUDA_ERROR_DEINITIALIZED == dlbridge::driver_deinitialized);
static_assert(CUDA_ERROR_INVALID_CONTEXT == dlbridge::driver_invalid_context);
static_assert(CUDA_ERROR_INVALID_HANDLE == dlbridge::driver_invalid_handle);
static_assert(CUDA_ERROR_STUB_LIBRARY == dlbridge::driver_stub_library);
#if CUDA_VERSION >= 13000  // earlier headers do not have it
static_assert(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER == dlbridge::driver_call_requires_newer);
#endif
static_assert(CUDA_ERROR_DEVICE_UNAVAILABLE == dlbridge::driver_device_unavailable);
static_assert(CUDA_ERROR_OPERATING_SYSTEM == dlbridge::driver_operating_system);
static_assert(CUDA_ERROR_SYSTEM_NOT_READY == dlbridge::driver_system_not_ready);
static_assert(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH == dlbridge::driver_system_mismatch);
static_assert(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE ==
              dlbridge::driver_compatibility_unsupported);
static_assert(CUDA_ERROR_MPS_CONNECTION_FAILED == dlbridge::driver_mps_connection_failed);
static_assert(CUDA_ERROR_MPS_CLIENT_TERMINATED == dlbridge::driver_mps_client_terminated);
static_assert(CUDA_ERROR_NOT_READY == dlbridge::driver_not_ready);
static_assert(CUDA_ERROR_CONTEXT_IS_DESTROYED == dlbridge::driver_context_destroyed);
static_assert(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED == dlbridge::driver_capture_unsupported);
static_assert(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD == dlbridge::driver_capture_wrong_thread);
static_assert(CUDA_ERROR_UNKNOWN == dlbridge::driver_unknown_error);
static_assert(CU_STREAM_CAPTURE_STATUS_NONE == 0);
static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == dlbridge::detail::capture_mode_relaxed);
static_assert(CU_EVENT_DISABLE_TIMING == dlbridge::detail::event_disable_timing);
static_assert(CU_MEMHOSTALLOC_PORTABLE == dlbridge::detail::allocation_portable);
static_assert(CU_MEM_ATTACH_GLOBAL == dlbridge::detail::allocation_portable);
static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2 && CU_MEMORYTYPE_UNIFIED == 4);
static_assert(CU_POINTER_ATTRIBUTE_MEMORY_TYPE == dlbridge::detail::attribute_memory_type);
static_assert(CU_POINTER_ATTRIBUTE_IS_MANAGED == dlbridge::detail::attribute_is_managed);
static_assert(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL == dlbridge::detail::attribute_device_ordinal);

}  // namespace

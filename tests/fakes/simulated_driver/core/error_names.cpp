// SPDX-License-Identifier: BSD-3-Clause
// The table of error codes.
#include "error_names.hpp"

namespace simulated {
namespace {

constexpr error_name_row rows[] = {
    {status::success, "CUDA_SUCCESS", "hipSuccess", "no error"},
    {status::invalid_value, "CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue", "invalid argument"},
    {status::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "out of memory"},
    {status::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized",
     "initialization error"},
    {status::deinitialized, "CUDA_ERROR_DEINITIALIZED", "hipErrorDeinitialized",
     "driver shutting down"},
    {status::device_unavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", nullptr,
     "device(s) is/are busy or unavailable"},
    {status::no_device, "CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice", "no device is detected"},
    {status::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice",
     "invalid device ordinal"},
    {status::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "hipErrorInvalidContext",
     "invalid device context"},
    {status::peer_access_unsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "hipErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {status::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "hipErrorInvalidHandle",
     "invalid resource handle"},
    {status::illegal_state, "CUDA_ERROR_ILLEGAL_STATE", "hipErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {status::not_ready, "CUDA_ERROR_NOT_READY", "hipErrorNotReady", "device not ready"},
    {status::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {status::peer_access_already_enabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {status::context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "hipErrorContextIsDestroyed",
     "context is destroyed"},
    {status::host_memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {status::host_memory_not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "hipErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {status::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure",
     "unspecified launch failure"},
    {status::not_permitted, "CUDA_ERROR_NOT_PERMITTED", nullptr, "operation not permitted"},
    {status::not_supported, "CUDA_ERROR_NOT_SUPPORTED", "hipErrorNotSupported",
     "operation not supported"},
    {status::system_not_ready, "CUDA_ERROR_SYSTEM_NOT_READY", nullptr,
     "system not yet initialized"},
    {status::system_driver_mismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", nullptr,
     "system has unsupported display driver / cuda driver combination"},
    {status::compatibility_not_supported, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", nullptr,
     "forward compatibility was attempted on non supported HW"},
    {status::capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {status::capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {status::capture_merge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "hipErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {status::capture_unmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {status::capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {status::capture_isolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {status::capture_implicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "hipErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {status::captured_event, "CUDA_ERROR_CAPTURED_EVENT", "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {status::capture_wrong_thread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "hipErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {status::unknown, "CUDA_ERROR_UNKNOWN", "hipErrorUnknown", "unknown error"},
};

}  // namespace

error_name_row const* find_error_name(int code) {
  for (error_name_row const& row : rows) {
    if (static_cast<int>(row.code) == code) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace simulated

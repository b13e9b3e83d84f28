// driver_failure_rows: the error codes of the drivers, the reasons of refusals that they become,
// and advice to the reader.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// The return value of every function of a driver: 0, or one of its error codes.
using driver_result = int;

// The error codes that are distinguished here. CUDA and HIP use the same numbers; the tests compare
// them with the headers of both.
constexpr driver_result driver_success = 0;
constexpr driver_result driver_invalid_value = 1;
constexpr driver_result driver_out_of_memory = 2;
constexpr driver_result driver_not_initialized = 3;
constexpr driver_result driver_deinitialized = 4;
constexpr driver_result driver_stub_library = 34;         // CUDA only
constexpr driver_result driver_insufficient = 35;         // HIP only
constexpr driver_result driver_call_requires_newer = 36;  // CUDA only
constexpr driver_result driver_device_unavailable = 46;   // CUDA only
constexpr driver_result driver_no_device = 100;
constexpr driver_result driver_invalid_device = 101;
constexpr driver_result driver_invalid_context = 201;
constexpr driver_result driver_operating_system = 304;
constexpr driver_result driver_invalid_handle = 400;
constexpr driver_result driver_not_ready = 600;
constexpr driver_result driver_context_destroyed = 709;
constexpr driver_result driver_not_permitted = 800;  // CUDA only
constexpr driver_result driver_not_supported = 801;
constexpr driver_result driver_system_not_ready = 802;  // these are CUDA's only
constexpr driver_result driver_system_mismatch = 803;
constexpr driver_result driver_compatibility_unsupported = 804;
constexpr driver_result driver_mps_connection_failed = 805;  // the first error of MPS
constexpr driver_result driver_mps_client_terminated = 810;  // the last error of MPS
constexpr driver_result driver_capture_unsupported = 900;    // the first error of a capture
constexpr driver_result driver_capture_wrong_thread = 908;   // the last error of a capture
constexpr driver_result driver_unknown_error = 999;

namespace detail {
constexpr char const* lifetime_advice =
    "A stream and its context must exist until the call returns. A reset of the device destroys "
    "both";
constexpr char const* capture_advice =
    "Exchange tensors before the capture begins, or pass stream=-1 and order the streams yourself";

// The errc of the error codes from first to last, and advice to the reader. The first row that
// contains a code applies to it.
struct driver_failure_row {
  driver_result first;
  driver_result last;
  errc code;
  char const* advice;
};
DLBRIDGE_LOCAL inline constexpr driver_failure_row driver_failure_rows[] = {
    {driver_out_of_memory, driver_out_of_memory, errc::out_of_memory,
     "Free device memory, or transfer the tensor in smaller pieces"},
    {driver_not_initialized, driver_deinitialized, errc::runtime_failed,
     "A forked process, or one that is exiting, cannot use the runtime; start a new process"},
    {driver_stub_library, driver_stub_library, errc::runtime_failed,
     "The library is a stub for linking: remove its folder from the search path of libraries"},
    {driver_insufficient, driver_call_requires_newer, errc::runtime_failed, "Update the driver"},
    {driver_device_unavailable, driver_device_unavailable, errc::runtime_failed,
     "Another process has the device for itself, or its compute mode prohibits use: see nvidia-smi "
     "-q -d COMPUTE"},
    {driver_operating_system, driver_operating_system, errc::runtime_failed,
     "A call of the operating system failed: check that the process may open the device files"},
    {driver_system_not_ready, driver_system_not_ready, errc::runtime_failed,
     "Start the services that the system needs, such as NVIDIA's fabric manager"},
    {driver_system_mismatch, driver_system_mismatch, errc::runtime_failed,
     "The library and the kernel module of the driver have different versions: restart the machine "
     "after an update, or use the library of the host in a container"},
    {driver_compatibility_unsupported, driver_compatibility_unsupported, errc::runtime_failed,
     "CUDA's compatibility package does not support this device: remove it from the search path of "
     "libraries, or update the driver"},
    {driver_mps_connection_failed, driver_mps_client_terminated, errc::runtime_failed,
     "Check the daemon of the Multi-Process Service, nvidia-cuda-mps-control"},
    {driver_no_device, driver_invalid_device, errc::runtime_failed,
     "Pass a device that the runtime has; ordinals start at 0"},
    {driver_invalid_context, driver_invalid_context, errc::runtime_failed, lifetime_advice},
    {driver_invalid_handle, driver_invalid_handle, errc::runtime_failed,
     "A stream must belong to this runtime, and must exist until the call returns"},
    {driver_context_destroyed, driver_context_destroyed, errc::runtime_failed, lifetime_advice},
    {driver_capture_unsupported, driver_capture_wrong_thread, errc::capturing, capture_advice},
    {driver_not_permitted, driver_not_permitted, errc::not_permitted,
     "A host function that runs on a stream cannot use the driver: use another thread"},
    {driver_invalid_value, driver_unknown_error, errc::runtime_failed,
     "An earlier operation on the device may have failed: drivers report such errors late"},
};

// Advice for a code that the first call of a driver returns, where that of the table speaks of
// operations that this process has not made yet; otherwise null.
char const* advice_at_start(driver_result result) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/driver_errors.ipp>
#endif

// SPDX-License-Identifier: BSD-3-Clause
// HIP's functions of the runtime, devices and errors.
#include <cstdio>
#include <utility>

#include "../core/error_names.hpp"
#include "api.hpp"

namespace simulated::hip {

int& current_device() {
  thread_local int device = 0;
  return device;
}

int& last_error() {
  thread_local int code = 0;
  return code;
}

context_ptr context_of(driver& d, int device) {
  context_ptr entry = d.primary(device);
  entry->is_alive = true;
  return entry;
}

}  // namespace simulated::hip

namespace simulated {

context_ptr current_context(driver& d) { return hip::context_of(d, hip::current_device()); }
void clear_current_context() {
  hip::current_device() = 0;
  hip::last_error() = 0;
}

}  // namespace simulated

using namespace simulated;
using namespace simulated::hip;

namespace {

constexpr int version = 60443484;  // the version of ROCm 6.4

char const* name_of(int code) {
  error_name_row const* const entry = find_error_name(code);
  bool const is_known = entry != nullptr && entry->hip != nullptr;
  return is_known ? entry->hip : "hipErrorUnknown";
}

int store_version(entry_point& called, int* out) {
  return call_hip(called, [&](driver&) {
    require(out != nullptr);
    *out = version;
  });
}

}  // namespace

SIMULATED_HIP_CALL(hipInit)(unsigned flags) {
  return call_hip(hipInit_entry, [&](driver&) { require(flags == 0); });
}

SIMULATED_HIP_CALL(hipDriverGetVersion)(int* out) {
  return store_version(hipDriverGetVersion_entry, out);
}

SIMULATED_HIP_CALL(hipRuntimeGetVersion)(int* out) {
  return store_version(hipRuntimeGetVersion_entry, out);
}

SIMULATED_HIP_CALL(hipGetDeviceCount)(int* out) {
  return call(hipGetDeviceCount_entry, [&](driver& d) {
    require(out != nullptr);
    *out = d.device_count();
    require(*out > 0, status::no_device);
  });
}

SIMULATED_HIP_CALL(hipGetDevice)(int* out) {
  return call_hip(hipGetDevice_entry, [&](driver&) {
    require(out != nullptr);
    *out = current_device();
  });
}

SIMULATED_HIP_CALL(hipSetDevice)(int device) {
  return call_hip(hipSetDevice_entry, [&](driver& d) {
    d.require_device(device);
    current_device() = device;
  });
}

SIMULATED_HIP_CALL(hipDeviceGetName)(char* out, int size, int device) {
  return call_hip(hipDeviceGetName_entry, [&](driver& d) {
    require(out != nullptr && size > 0);
    d.require_device(device);
    std::snprintf(out, static_cast<std::size_t>(size), "Simulated HIP device %d", device);
  });
}

SIMULATED_HIP_CALL(hipDeviceGetAttribute)(int* out, int which, int device) {
  return call_hip(hipDeviceGetAttribute_entry, [&](driver& d) {
    constexpr int can_map_host_memory = 3, concurrent_kernels = 8;
    require(out != nullptr && which >= 0);
    d.require_device(device);
    *out = which == can_map_host_memory || which == concurrent_kernels ? 1 : 0;
  });
}

SIMULATED_HIP_CALL(hipDeviceCanAccessPeer)(int* out, int from, int to) {
  return call_hip(hipDeviceCanAccessPeer_entry, [&](driver& d) {
    require(out != nullptr);
    d.require_device(from);
    d.require_device(to);
    *out = d.can_access_peer(from, to) ? 1 : 0;
  });
}

SIMULATED_HIP_CALL(hipDeviceEnablePeerAccess)(int peer, unsigned flags) {
  return call_hip(hipDeviceEnablePeerAccess_entry, [&](driver& d) {
    require(flags == 0);
    d.require_device(peer);
    require(d.can_access_peer(current_device(), peer), status::invalid_device);
    d.enable_peer(*current_context(d), *context_of(d, peer));
  });
}

SIMULATED_HIP_CALL(hipDeviceSynchronize)() {
  return call_hip(hipDeviceSynchronize_entry, [&](driver& d) {
    context_ptr const owner = current_context(d);
    d.fail_if_unsafe_in_capture(owner.get());
    d.synchronize(*owner);
  });
}

// The following functions return a value instead of an error code.

SIMULATED_HIP_CALL(hipGetLastError)() {
  call(hipGetLastError_entry, [](driver&) {});
  return std::exchange(last_error(), 0);
}

SIMULATED_HIP_CALL(hipPeekAtLastError)() {
  call(hipPeekAtLastError_entry, [](driver&) {});
  return last_error();
}

static entry_point hipGetErrorName_entry{"hipGetErrorName"};
extern "C" __attribute__((visibility("default"))) char const* hipGetErrorName(int code) {
  call(hipGetErrorName_entry, [](driver&) {});
  return name_of(code);
}

static entry_point hipGetErrorString_entry{"hipGetErrorString"};
extern "C" __attribute__((visibility("default"))) char const* hipGetErrorString(int code) {
  call(hipGetErrorString_entry, [](driver&) {});
  error_name_row const* const entry = find_error_name(code);
  return entry == nullptr ? "unknown error" : entry->description;
}

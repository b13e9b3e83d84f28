// HIP's functions about the driver itself, devices and errors.
#include <cstdio>
#include <utility>

#include "../core/names.hpp"
#include "face.hpp"

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
  context_ptr found = d.primary(device);
  found->is_alive = true;
  return found;
}

}  // namespace simulated::hip

namespace simulated {

context_ptr current_context(driver& d) { return hip::context_of(d, hip::current_device()); }
void forget_current_context() {
  hip::current_device() = 0;
  hip::last_error() = 0;
}

}  // namespace simulated

using namespace simulated;
using namespace simulated::hip;

namespace {

constexpr int version = 60443484;  // of ROCm 6.4

char const* name_of(int code) {
  status_name const* const found = find_name(code);
  bool const is_known = found != nullptr && found->hip != nullptr;
  return is_known ? found->hip : "hipErrorUnknown";
}

int give_version(function& called, int* out) {
  return on_device(called, [&](driver&) {
    expect(out != nullptr);
    *out = version;
  });
}

}  // namespace

SIMULATED_HIP_CALL(hipInit)(unsigned flags) {
  return on_device(hipInit_entry, [&](driver&) { expect(flags == 0); });
}

SIMULATED_HIP_CALL(hipDriverGetVersion)(int* out) {
  return give_version(hipDriverGetVersion_entry, out);
}

SIMULATED_HIP_CALL(hipRuntimeGetVersion)(int* out) {
  return give_version(hipRuntimeGetVersion_entry, out);
}

SIMULATED_HIP_CALL(hipGetDeviceCount)(int* out) {
  return call(hipGetDeviceCount_entry, [&](driver& d) {
    expect(out != nullptr);
    *out = d.device_count();
    expect(*out > 0, status::no_device);
  });
}

SIMULATED_HIP_CALL(hipGetDevice)(int* out) {
  return on_device(hipGetDevice_entry, [&](driver&) {
    expect(out != nullptr);
    *out = current_device();
  });
}

SIMULATED_HIP_CALL(hipSetDevice)(int device) {
  return on_device(hipSetDevice_entry, [&](driver& d) {
    d.require_device(device);
    current_device() = device;
  });
}

SIMULATED_HIP_CALL(hipDeviceGetName)(char* out, int size, int device) {
  return on_device(hipDeviceGetName_entry, [&](driver& d) {
    expect(out != nullptr && size > 0);
    d.require_device(device);
    std::snprintf(out, static_cast<std::size_t>(size), "Simulated HIP device %d", device);
  });
}

SIMULATED_HIP_CALL(hipDeviceGetAttribute)(int* out, int which, int device) {
  return on_device(hipDeviceGetAttribute_entry, [&](driver& d) {
    constexpr int can_map_host_memory = 3, concurrent_kernels = 8;
    expect(out != nullptr && which >= 0);
    d.require_device(device);
    *out = which == can_map_host_memory || which == concurrent_kernels ? 1 : 0;
  });
}

SIMULATED_HIP_CALL(hipDeviceCanAccessPeer)(int* out, int from, int to) {
  return on_device(hipDeviceCanAccessPeer_entry, [&](driver& d) {
    expect(out != nullptr);
    d.require_device(from);
    d.require_device(to);
    *out = d.may_peer(from, to) ? 1 : 0;
  });
}

SIMULATED_HIP_CALL(hipDeviceEnablePeerAccess)(int peer, unsigned flags) {
  return on_device(hipDeviceEnablePeerAccess_entry, [&](driver& d) {
    expect(flags == 0);
    d.require_device(peer);
    expect(d.may_peer(current_device(), peer), status::invalid_device);
    d.enable_peer(*current_context(d), *context_of(d, peer));
  });
}

SIMULATED_HIP_CALL(hipDeviceSynchronize)() {
  return on_device(hipDeviceSynchronize_entry, [&](driver& d) {
    context_ptr const now = current_context(d);
    d.refuse_unsafe(now.get());
    d.synchronize(*now);
  });
}

// These give what they are asked for, and no code of their own.

SIMULATED_HIP_CALL(hipGetLastError)() {
  call(hipGetLastError_entry, [](driver&) {});
  return std::exchange(last_error(), 0);
}

SIMULATED_HIP_CALL(hipPeekAtLastError)() {
  call(hipPeekAtLastError_entry, [](driver&) {});
  return last_error();
}

static function hipGetErrorName_entry{"hipGetErrorName"};
extern "C" __attribute__((visibility("default"))) char const* hipGetErrorName(int code) {
  call(hipGetErrorName_entry, [](driver&) {});
  return name_of(code);
}

static function hipGetErrorString_entry{"hipGetErrorString"};
extern "C" __attribute__((visibility("default"))) char const* hipGetErrorString(int code) {
  call(hipGetErrorString_entry, [](driver&) {});
  status_name const* const found = find_name(code);
  return found == nullptr ? "unknown error" : found->meaning;
}

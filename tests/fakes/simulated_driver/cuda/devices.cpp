// SPDX-License-Identifier: BSD-3-Clause
// CUDA's functions of the driver, devices and errors.
#include <cstdio>
#include <cstring>

#include "../core/error_names.hpp"
#include "api.hpp"

using namespace simulated;
using namespace simulated::cuda;

namespace {

#ifdef SIMULATED_OLD
constexpr int version = 10000;
#else
constexpr int version = 12080;
#endif

int attribute(int which, int device) {
  switch (which) {
    case 1:  // MAX_THREADS_PER_BLOCK
      return 1024;
    case 10:  // WARP_SIZE
      return 32;
    case 16:  // MULTIPROCESSOR_COUNT
      return 4;
    case 41:  // UNIFIED_ADDRESSING
    case 83:  // MANAGED_MEMORY
    case 31:  // CONCURRENT_KERNELS
      return 1;
    case 33:  // PCI_BUS_ID
      return device + 1;
    case 75:  // COMPUTE_CAPABILITY_MAJOR
      return 9;
    case 115:  // MEMORY_POOLS_SUPPORTED
#ifdef SIMULATED_OLD
      return 0;
#else
      return 1;
#endif
    default:
      return 0;
  }
}

}  // namespace

SIMULATED_CUDA(cuInit)(unsigned flags) {
  return call(cuInit_entry, [&](driver& d) {
    require(flags == 0);
    require(d.device_count() > 0, status::no_device);
    d.is_initialized = true;
  });
}

SIMULATED_CUDA(cuDriverGetVersion)(int* out) {
  return call(cuDriverGetVersion_entry, [&](driver&) {
    require(out != nullptr);
    *out = version;
  });
}

SIMULATED_CUDA(cuDeviceGetCount)(int* out) {
  return call_initialized(cuDeviceGetCount_entry, [&](driver& d) {
    require(out != nullptr);
    *out = d.device_count();
  });
}

SIMULATED_CUDA(cuDeviceGet)(CUdevice* out, int ordinal) {
  return call_initialized(cuDeviceGet_entry, [&](driver& d) {
    require(out != nullptr);
    d.require_device(ordinal);
    *out = ordinal;
  });
}

SIMULATED_CUDA(cuDeviceGetName)(char* out, int size, CUdevice device) {
  return call_initialized(cuDeviceGetName_entry, [&](driver& d) {
    require(out != nullptr && size > 0);
    d.require_device(device);
    std::snprintf(out, static_cast<std::size_t>(size), "Simulated CUDA device %d", device);
  });
}

SIMULATED_CUDA(cuDeviceGetAttribute)(int* out, int which, CUdevice device) {
  return call_initialized(cuDeviceGetAttribute_entry, [&](driver& d) {
    require(out != nullptr && which > 0 && which < 200);
    d.require_device(device);
    *out = attribute(which, device);
  });
}

SIMULATED_CUDA(cuDeviceCanAccessPeer)(int* out, CUdevice from, CUdevice to) {
  return call_initialized(cuDeviceCanAccessPeer_entry, [&](driver& d) {
    require(out != nullptr);
    d.require_device(from);
    d.require_device(to);
    *out = d.can_access_peer(from, to) ? 1 : 0;
  });
}

SIMULATED_CUDA(cuGetErrorName)(int code, char const** out) {
  return call(cuGetErrorName_entry, [&](driver&) {
    require(out != nullptr);
    error_name_row const* const entry = find_error_name(code);
    *out = entry == nullptr ? nullptr : entry->cuda;
    require(entry != nullptr);
  });
}

SIMULATED_CUDA(cuGetErrorString)(int code, char const** out) {
  return call(cuGetErrorString_entry, [&](driver&) {
    require(out != nullptr);
    error_name_row const* const entry = find_error_name(code);
    *out = entry == nullptr ? nullptr : entry->description;
    require(entry != nullptr);
  });
}

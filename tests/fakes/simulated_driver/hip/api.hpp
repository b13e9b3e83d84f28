// Common code of the functions of HIP: types, entry points, the current device, the last error.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../core/driver.hpp"

// Defines an exported function, and its entry point for the control interface.
#define SIMULATED_HIP_CALL(name)                     \
  static simulated::entry_point name##_entry{#name}; \
  extern "C" __attribute__((visibility("default"))) int name

namespace simulated::hip {

using hipStream_t = void*;
using hipEvent_t = void*;
using hipGraph_t = void*;

// The current device of the calling thread.
int& current_device();
// The context of a device, which is alive from its first use.
context_ptr context_of(driver& d, int device);
// The stream of a handle. 0, 1 and 2 are default streams of the current device.
stream_ptr stream_of(driver& d, hipStream_t handle);

inline std::uintptr_t number(void const* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}
inline void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// The code of the last failed call of the thread, or 0 after hipGetLastError has returned it.
int& last_error();

// Initialises HIP if there is a device, and stores the error of a failed call.
template <class Body>
int call_hip(entry_point& called, Body body) {
  int const code = call(called, [&](driver& d) {
    require(d.device_count() > 0, status::no_device);
    d.is_initialized = true;
    body(d);
  });
  if (code != 0 && code != static_cast<int>(status::not_ready)) {
    last_error() = code;
  }
  return code;
}

}  // namespace simulated::hip

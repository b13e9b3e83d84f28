// What the functions of HIP have in common: types, entry, the current device.
// floor 5
#pragma once

#include "../core/driver.hpp"

// An exported function, known to the control interface by its name.
#define SIMULATED_HIP_CALL(name)                  \
  static simulated::function name##_entry{#name}; \
  extern "C" __attribute__((visibility("default"))) int name

namespace simulated::hip {

using hipStream_t = void*;
using hipEvent_t = void*;
using hipGraph_t = void*;

// Of the calling thread.
int& current_device();
// The one context that a device has, which lives from its first use on.
context_ptr context_of(driver& d, int device);
// The current device's default streams for 0, 1 and 2.
stream_ptr stream_of(driver& d, hipStream_t handle);

inline std::uintptr_t number(void const* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}
inline void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// What the last call of the thread that failed gave, until somebody asks; 0 then.
int& last_error();

// HIP initialises itself, where there is a device, and remembers errors.
template <class Body>
int on_device(function& called, Body body) {
  int const code = call(called, [&](driver& d) {
    expect(d.device_count() > 0, status::no_device);
    d.is_initialized = true;
    body(d);
  });
  if (code != 0 && code != static_cast<int>(status::not_ready)) {
    last_error() = code;
  }
  return code;
}

}  // namespace simulated::hip

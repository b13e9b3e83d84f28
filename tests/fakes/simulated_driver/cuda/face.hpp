// What the functions of CUDA's driver have in common: types, entry, the stack of contexts.
// floor 5
#pragma once

#include <vector>

#include "../core/driver.hpp"

// An exported function, known to the control interface by its name.
#define SIMULATED_CUDA(name)                      \
  static simulated::function name##_entry{#name}; \
  extern "C" __attribute__((visibility("default"))) int name

namespace simulated::cuda {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = void*;
using CUstream = void*;
using CUevent = void*;
using CUgraph = void*;

// The contexts of the calling thread, the current one last. Only under the driver's lock.
std::vector<context_ptr>& context_stack();
// Refuses where there is none, or a destroyed one.
context_ptr current();
// The current context's default streams for 0, 1 and 2.
stream_ptr stream_of(driver& d, CUstream handle);

inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <class Body>
int initialized(function& called, Body body) {
  return call(called, [&](driver& d) {
    expect(d.is_initialized, status::not_initialized);
    body(d);
  });
}

// For the many that need a current context.
template <class Body>
int in_context(function& called, Body body) {
  return initialized(called, [&](driver& d) { body(d, current()); });
}

}  // namespace simulated::cuda

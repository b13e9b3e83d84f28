// Common code of the functions of the CUDA driver: types, entry points and the context stack.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "../core/driver.hpp"

// Defines an exported function, and its entry point for the control interface.
#define SIMULATED_CUDA(name)                         \
  static simulated::entry_point name##_entry{#name}; \
  extern "C" __attribute__((visibility("default"))) int name

namespace simulated::cuda {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = void*;
using CUstream = void*;
using CUevent = void*;
using CUgraph = void*;

// The context stack of the calling thread. Its last element is current. The caller holds the
// driver's lock.
std::vector<context_ptr>& context_stack();
// The current context. Fails if there is none or if it was destroyed.
context_ptr current();
// The stream of a handle. 0, 1 and 2 are default streams of the current context.
stream_ptr stream_of(driver& d, CUstream handle);

inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <class Body>
int call_initialized(entry_point& called, Body body) {
  return call(called, [&](driver& d) {
    require(d.is_initialized, status::not_initialized);
    body(d);
  });
}

// For functions that need a current context.
template <class Body>
int call_in_context(entry_point& called, Body body) {
  return call_initialized(called, [&](driver& d) { body(d, current()); });
}

}  // namespace simulated::cuda

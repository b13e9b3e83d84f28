// SPDX-License-Identifier: BSD-3-Clause
// CUDA's functions of contexts: primary contexts, other contexts and the context stack of a thread.
#include <map>

#include "api.hpp"

namespace simulated::cuda {

std::vector<context_ptr>& context_stack() {
  // Never destroyed: destructors of thread-local objects may call the driver.
  static auto* const stacks = new std::map<int, std::vector<context_ptr>>;
  return (*stacks)[thread_number()];
}

context_ptr current() {
  auto const& stack = context_stack();
  require(!stack.empty() && stack.back() != nullptr, status::invalid_context);
  require(stack.back()->is_alive, status::context_is_destroyed);
  return stack.back();
}

}  // namespace simulated::cuda

using namespace simulated;
using namespace simulated::cuda;

namespace {

context_ptr find_alive_context(driver& d, CUcontext handle) {
  context_ptr entry = d.find_context(handle);
  require(entry->is_alive, status::context_is_destroyed);
  return entry;
}

}  // namespace

SIMULATED_CUDA(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice device) {
  return call_initialized(cuDevicePrimaryCtxRetain_entry, [&](driver& d) {
    require(out != nullptr);
    context_ptr const entry = d.primary(device);
    d.retain(*entry);
    *out = entry->handle;
  });
}

SIMULATED_CUDA(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  return call_initialized(cuDevicePrimaryCtxRelease_v2_entry,
                          [&](driver& d) { d.release(*d.primary(device)); });
}

SIMULATED_CUDA(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  return call_initialized(cuDevicePrimaryCtxReset_v2_entry, [&](driver& d) {
    context_ptr const entry = d.primary(device);
    if (entry->is_alive) {
      entry->retains = 1;
      d.release(*entry);
    }
  });
}

SIMULATED_CUDA(cuDevicePrimaryCtxGetState)(CUdevice device, unsigned* flags, int* active) {
  return call_initialized(cuDevicePrimaryCtxGetState_entry, [&](driver& d) {
    require(flags != nullptr && active != nullptr);
    *active = d.primary(device)->is_alive ? 1 : 0;
    *flags = 0;
  });
}

SIMULATED_CUDA(cuCtxGetCurrent)(CUcontext* out) {
  return call_initialized(cuCtxGetCurrent_entry, [&](driver&) {
    require(out != nullptr);
    auto const& stack = context_stack();
    bool const is_set = !stack.empty() && stack.back() != nullptr;
    *out = is_set ? stack.back()->handle : nullptr;
  });
}

// These accept destroyed contexts, as a driver of version 13.0 was seen to do.

SIMULATED_CUDA(cuCtxSetCurrent)(CUcontext handle) {
  return call_initialized(cuCtxSetCurrent_entry, [&](driver& d) {
    auto& stack = context_stack();
    context_ptr const next = handle == nullptr ? nullptr : d.find_context(handle);
    if (!stack.empty()) {
      stack.pop_back();
    }
    if (next != nullptr) {
      stack.push_back(next);
    }
  });
}

SIMULATED_CUDA(cuCtxPushCurrent_v2)(CUcontext handle) {
  return call_initialized(cuCtxPushCurrent_v2_entry, [&](driver& d) {
    require(handle != nullptr, status::invalid_context);
    context_stack().push_back(d.find_context(handle));
  });
}

SIMULATED_CUDA(cuCtxPopCurrent_v2)(CUcontext* out) {
  return call_initialized(cuCtxPopCurrent_v2_entry, [&](driver&) {
    auto& stack = context_stack();
    require(!stack.empty(), status::invalid_context);
    if (out != nullptr) {
      *out = stack.back()->handle;
    }
    stack.pop_back();
  });
}

SIMULATED_CUDA(cuCtxGetDevice)(CUdevice* out) {
  return call_initialized(cuCtxGetDevice_entry, [&](driver&) {
    require(out != nullptr);
    auto const& stack = context_stack();
    require(!stack.empty() && stack.back() != nullptr, status::invalid_context);
    *out = stack.back()->device;  // also of a destroyed context
  });
}

SIMULATED_CUDA(cuCtxCreate_v2)(CUcontext* out, unsigned, CUdevice device) {
  return call_initialized(cuCtxCreate_v2_entry, [&](driver& d) {
    require(out != nullptr);
    context_stack().push_back(d.make_context(device));
    *out = context_stack().back()->handle;
  });
}

SIMULATED_CUDA(cuCtxDestroy_v2)(CUcontext handle) {
  return call_initialized(cuCtxDestroy_v2_entry, [&](driver& d) {
    context_ptr const target = find_alive_context(d, handle);
    require(!target->is_primary, status::invalid_context);
    d.destroy(*target);
    if (auto& stack = context_stack(); !stack.empty() && stack.back() == target) {
      stack.pop_back();
    }
  });
}

SIMULATED_CUDA(cuCtxSynchronize)() {
  return call_in_context(cuCtxSynchronize_entry, [&](driver& d, context_ptr const& owner) {
    d.fail_if_unsafe_in_capture(owner.get());
    d.synchronize(*owner);
  });
}

SIMULATED_CUDA(cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags) {
  return call_in_context(cuCtxEnablePeerAccess_entry, [&](driver& d, context_ptr const& owner) {
    require(flags == 0);
    d.enable_peer(*owner, *find_alive_context(d, peer));
  });
}

// CUDA's functions about contexts: the primary ones, others, and the stack of each thread.
#include <map>

#include "face.hpp"

namespace simulated::cuda {

std::vector<context_ptr>& context_stack() {
  // Never destroyed, and so no thread's last objects come too late.
  static auto* const stacks = new std::map<int, std::vector<context_ptr>>;
  return (*stacks)[this_thread()];
}

context_ptr current() {
  auto const& stack = context_stack();
  expect(!stack.empty() && stack.back() != nullptr, status::invalid_context);
  expect(stack.back()->is_alive, status::context_is_destroyed);
  return stack.back();
}

}  // namespace simulated::cuda

using namespace simulated;
using namespace simulated::cuda;

namespace {

context_ptr living(driver& d, CUcontext handle) {
  context_ptr found = d.find_context(handle);
  expect(found->is_alive, status::context_is_destroyed);
  return found;
}

}  // namespace

SIMULATED_CUDA(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice device) {
  return initialized(cuDevicePrimaryCtxRetain_entry, [&](driver& d) {
    expect(out != nullptr);
    context_ptr const found = d.primary(device);
    d.retain(*found);
    *out = found->handle;
  });
}

SIMULATED_CUDA(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  return initialized(cuDevicePrimaryCtxRelease_v2_entry,
                     [&](driver& d) { d.release(*d.primary(device)); });
}

SIMULATED_CUDA(cuDevicePrimaryCtxGetState)(CUdevice device, unsigned* flags, int* active) {
  return initialized(cuDevicePrimaryCtxGetState_entry, [&](driver& d) {
    expect(flags != nullptr && active != nullptr);
    *active = d.primary(device)->is_alive ? 1 : 0;
    *flags = 0;
  });
}

SIMULATED_CUDA(cuCtxGetCurrent)(CUcontext* out) {
  return initialized(cuCtxGetCurrent_entry, [&](driver&) {
    expect(out != nullptr);
    auto const& stack = context_stack();
    bool const is_set = !stack.empty() && stack.back() != nullptr;
    *out = is_set ? stack.back()->handle : nullptr;
  });
}

SIMULATED_CUDA(cuCtxSetCurrent)(CUcontext handle) {
  return initialized(cuCtxSetCurrent_entry, [&](driver& d) {
    auto& stack = context_stack();
    context_ptr const next = handle == nullptr ? nullptr : living(d, handle);
    if (!stack.empty()) {
      stack.pop_back();
    }
    if (next != nullptr) {
      stack.push_back(next);
    }
  });
}

SIMULATED_CUDA(cuCtxPushCurrent_v2)(CUcontext handle) {
  return initialized(cuCtxPushCurrent_v2_entry, [&](driver& d) {
    expect(handle != nullptr, status::invalid_context);
    context_stack().push_back(living(d, handle));
  });
}

SIMULATED_CUDA(cuCtxPopCurrent_v2)(CUcontext* out) {
  return initialized(cuCtxPopCurrent_v2_entry, [&](driver&) {
    auto& stack = context_stack();
    expect(!stack.empty(), status::invalid_context);
    if (out != nullptr) {
      *out = stack.back()->handle;
    }
    stack.pop_back();
  });
}

SIMULATED_CUDA(cuCtxGetDevice)(CUdevice* out) {
  return in_context(cuCtxGetDevice_entry, [&](driver&, context_ptr const& now) {
    expect(out != nullptr);
    *out = now->device;
  });
}

SIMULATED_CUDA(cuCtxCreate_v2)(CUcontext* out, unsigned, CUdevice device) {
  return initialized(cuCtxCreate_v2_entry, [&](driver& d) {
    expect(out != nullptr);
    context_stack().push_back(d.make_context(device));
    *out = context_stack().back()->handle;
  });
}

SIMULATED_CUDA(cuCtxDestroy_v2)(CUcontext handle) {
  return initialized(cuCtxDestroy_v2_entry, [&](driver& d) {
    context_ptr const gone = living(d, handle);
    expect(!gone->is_primary, status::invalid_context);
    d.destroy(*gone);
    if (auto& stack = context_stack(); !stack.empty() && stack.back() == gone) {
      stack.pop_back();
    }
  });
}

SIMULATED_CUDA(cuCtxSynchronize)() {
  return in_context(cuCtxSynchronize_entry, [&](driver& d, context_ptr const& now) {
    d.refuse_unsafe(now.get());
    d.synchronize(*now);
  });
}

SIMULATED_CUDA(cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags) {
  return in_context(cuCtxEnablePeerAccess_entry, [&](driver& d, context_ptr const& now) {
    expect(flags == 0);
    d.enable_peer(*now, *living(d, peer));
  });
}

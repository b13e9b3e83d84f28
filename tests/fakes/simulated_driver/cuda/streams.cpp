// SPDX-License-Identifier: BSD-3-Clause
// CUDA's functions of streams and events.
#include "api.hpp"

namespace simulated::cuda {

stream_ptr stream_of(driver& d, CUstream handle) {
  auto const number = reinterpret_cast<std::uintptr_t>(handle);
  return number < 3 ? d.default_stream(current(), number == 2) : d.find_stream(handle);
}

}  // namespace simulated::cuda

namespace simulated {

stream_ptr stream_of_handle(driver& d, void* handle) { return cuda::stream_of(d, handle); }
context_ptr current_context(driver&) { return cuda::current(); }
void clear_current_context() { cuda::context_stack().clear(); }

}  // namespace simulated

using namespace simulated;
using namespace simulated::cuda;

SIMULATED_CUDA(cuStreamCreate)(CUstream* out, unsigned flags) {
  return call_in_context(cuStreamCreate_entry, [&](driver& d, context_ptr const& owner) {
    require(out != nullptr && flags < 2);
    *out = d.make_stream(owner, flags == 0)->handle;
  });
}

SIMULATED_CUDA(cuStreamDestroy_v2)(CUstream handle) {
  return call_in_context(cuStreamDestroy_v2_entry,
                         [&](driver& d, context_ptr const&) { d.destroy(d.find_stream(handle)); });
}

SIMULATED_CUDA(cuStreamGetCtx)(CUstream handle, CUcontext* out) {
  return call_initialized(cuStreamGetCtx_entry, [&](driver& d) {
    require(out != nullptr);
    stream_ptr const asked = stream_of(d, handle);
    require(!asked->is_green, status::not_supported);  // in drivers before CUDA 13
    *out = asked->owner->handle;
  });
}

SIMULATED_CUDA(cuStreamSynchronize)(CUstream handle) {
  return call_in_context(cuStreamSynchronize_entry, [&](driver& d, context_ptr const&) {
    d.synchronize(stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuStreamQuery)(CUstream handle) {
  return call_in_context(cuStreamQuery_entry, [&](driver& d, context_ptr const&) {
    require(d.query(stream_of(d, handle)), status::not_ready);
  });
}

SIMULATED_CUDA(cuStreamWaitEvent)(CUstream handle, CUevent event_handle, unsigned flags) {
  return call_in_context(cuStreamWaitEvent_entry, [&](driver& d, context_ptr const&) {
    require(flags < 2);
    stream_ptr const consumer = stream_of(d, handle);
    d.wait(consumer, d.find_event(event_handle));
  });
}

SIMULATED_CUDA(cuEventCreate)(CUevent* out, unsigned flags) {
  return call_in_context(cuEventCreate_entry, [&](driver& d, context_ptr const& owner) {
    constexpr unsigned without_timing = 2, between_processes = 4;
    require(out != nullptr && flags < 8);
    require((flags & between_processes) == 0 || (flags & without_timing) != 0);
    *out = d.make_event(owner)->handle;
  });
}

SIMULATED_CUDA(cuEventDestroy_v2)(CUevent handle) {
  return call_in_context(cuEventDestroy_v2_entry,
                         [&](driver& d, context_ptr const&) { d.destroy(d.find_event(handle)); });
}

SIMULATED_CUDA(cuEventRecord)(CUevent event_handle, CUstream handle) {
  return call_in_context(cuEventRecord_entry, [&](driver& d, context_ptr const&) {
    event_ptr const recorded = d.find_event(event_handle);
    d.record(recorded, stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuEventSynchronize)(CUevent handle) {
  return call_in_context(cuEventSynchronize_entry, [&](driver& d, context_ptr const&) {
    d.synchronize(d.find_event(handle));
  });
}

SIMULATED_CUDA(cuEventQuery)(CUevent handle) {
  return call_initialized(cuEventQuery_entry, [&](driver& d) {
    require(d.query(d.find_event(handle)), status::not_ready);
  });
}

SIMULATED_CUDA(cuLaunchHostFunc)(CUstream handle, void (*callback)(void*), void* argument) {
  return call_in_context(cuLaunchHostFunc_entry, [&](driver& d, context_ptr const&) {
    d.launch_host_function(stream_of(d, handle), "cuLaunchHostFunc", callback, argument);
  });
}

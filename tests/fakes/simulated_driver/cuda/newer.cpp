// SPDX-License-Identifier: BSD-3-Clause
// CUDA's functions that the old driver lacks: IDs of contexts, stream capture, graphs, green
// contexts and stream-ordered memory.
#include "api.hpp"

using namespace simulated;
using namespace simulated::cuda;

SIMULATED_CUDA(cuCtxGetId)(CUcontext handle, unsigned long long* out) {
  return call_initialized(cuCtxGetId_entry, [&](driver& d) {
    require(out != nullptr);
    context_ptr const asked = handle == nullptr ? current() : d.look_up_context(handle);
    require(asked->is_alive, status::context_is_destroyed);
    *out = asked->id;
  });
}

// Without a current context, these work with the handles of streams other than the default ones.

SIMULATED_CUDA(cuStreamIsCapturing)(CUstream handle, int* out) {
  return call_initialized(cuStreamIsCapturing_entry, [&](driver& d) {
    require(out != nullptr);
    *out = d.query_capture(*stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuStreamGetCaptureInfo_v2)(CUstream handle, int* status, unsigned long long* id,
                                          CUgraph* graph, void const** dependencies,
                                          std::size_t* count) {
  return call_initialized(cuStreamGetCaptureInfo_v2_entry, [&](driver& d) {
    d.query_capture(*stream_of(d, handle), status, id, graph, dependencies, count);
  });
}

SIMULATED_CUDA(cuThreadExchangeStreamCaptureMode)(int* mode) {
  return call_initialized(cuThreadExchangeStreamCaptureMode_entry, [&](driver& d) {
    require(mode != nullptr && *mode >= 0 && *mode <= 2);
    std::swap(*mode, d.thread_capture_mode());
  });
}

SIMULATED_CUDA(cuStreamBeginCapture_v2)(CUstream handle, int mode) {
  return call_in_context(cuStreamBeginCapture_v2_entry, [&](driver& d, context_ptr const&) {
    d.begin_capture(stream_of(d, handle), mode);
  });
}

SIMULATED_CUDA(cuStreamEndCapture)(CUstream handle, CUgraph* out) {
  return call_in_context(cuStreamEndCapture_entry, [&](driver& d, context_ptr const&) {
    require(out != nullptr);
    *out = nullptr;
    *out = d.end_capture(stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuGraphDestroy)(CUgraph graph) {
  return call_initialized(cuGraphDestroy_entry, [&](driver& d) { d.destroy_graph(graph); });
}

SIMULATED_CUDA(cuMemAllocAsync)(CUdeviceptr* out, std::size_t bytes, CUstream handle) {
  return call_initialized(cuMemAllocAsync_entry, [&](driver& d) {
    require(out != nullptr && bytes != 0);
    *out = d.allocate_in_order(stream_of(d, handle), "cuMemAllocAsync", bytes)->start;
  });
}

SIMULATED_CUDA(cuMemFreeAsync)(CUdeviceptr start, CUstream handle) {
  return call_initialized(cuMemFreeAsync_entry, [&](driver& d) {
    if (start != 0) {
      d.free_in_order(stream_of(d, handle), "cuMemFreeAsync", pointer(start));
    }
  });
}

SIMULATED_CUDA(cuGraphInstantiateWithFlags)(void** out, CUgraph graph, unsigned long long flags) {
  return call_initialized(cuGraphInstantiateWithFlags_entry, [&](driver& d) {
    require(out != nullptr && flags == 0);
    *out = d.instantiate(graph);
  });
}

SIMULATED_CUDA(cuGraphLaunch)(void* executable, CUstream handle) {
  return call_in_context(cuGraphLaunch_entry, [&](driver& d, context_ptr const&) {
    d.launch(executable, stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuGraphExecDestroy)(void* executable) {
  return call_initialized(cuGraphExecDestroy_entry,
                          [&](driver& d) { d.destroy_executable(executable); });
}

// The descriptor of resources is ignored.
SIMULATED_CUDA(cuGreenCtxCreate)(void** out, void*, CUdevice device, unsigned flags) {
  return call_initialized(cuGreenCtxCreate_entry, [&](driver& d) {
    require(out != nullptr && flags == 1);  // CU_GREEN_CTX_DEFAULT_STREAM
    context_ptr const primary = d.primary(device);
    require(primary->is_alive, status::invalid_context);
    context_ptr const converted = d.make_context(device);
    converted->green_of = primary;
    *out = d.new_handle();
    d.green_contexts[*out] = converted;
  });
}

SIMULATED_CUDA(cuCtxFromGreenCtx)(CUcontext* out, void* green) {
  return call_initialized(cuCtxFromGreenCtx_entry, [&](driver& d) {
    require(out != nullptr && d.green_contexts.count(green) != 0);
    *out = d.green_contexts[green]->handle;
  });
}

SIMULATED_CUDA(cuGreenCtxDestroy)(void* green) {
  return call_initialized(cuGreenCtxDestroy_entry, [&](driver& d) {
    require(d.green_contexts.count(green) != 0);
    d.destroy(*d.green_contexts[green]);
    d.green_contexts.erase(green);
  });
}

SIMULATED_CUDA(cuGreenCtxStreamCreate)(CUstream* out, void* green, unsigned flags, int) {
  return call_initialized(cuGreenCtxStreamCreate_entry, [&](driver& d) {
    constexpr unsigned non_blocking = 1;
    require(out != nullptr && flags == non_blocking && d.green_contexts.count(green) != 0);
    stream_ptr const made = d.make_stream(d.green_contexts[green], false);
    made->is_green = true;
    *out = made->handle;
  });
}

namespace {

struct location {  // CUmemLocation
  int type;
  int id;
};
void require_location(driver& d, location where) {
  constexpr int of_device = 1, of_host = 2;
  require(where.type == of_host ||
          (where.type == of_device && where.id >= 0 && where.id < d.device_count()));
}

}  // namespace

SIMULATED_CUDA(cuMemPrefetchAsync_v2)(CUdeviceptr start, std::size_t bytes, location to,
                                      unsigned flags, CUstream handle) {
  return call_initialized(cuMemPrefetchAsync_v2_entry, [&](driver& d) {
    require(flags == 0);
    require_location(d, to);
    d.require_managed(pointer(start), bytes);
    d.enqueue(stream_of(d, handle), "cuMemPrefetchAsync_v2", {}, [] {});
  });
}

SIMULATED_CUDA(cuMemAdvise_v2)(CUdeviceptr start, std::size_t bytes, int advice, location where) {
  return call_initialized(cuMemAdvise_v2_entry, [&](driver& d) {
    require(advice >= 1 && advice <= 6);
    require_location(d, where);
    d.require_managed(pointer(start), bytes);
  });
}

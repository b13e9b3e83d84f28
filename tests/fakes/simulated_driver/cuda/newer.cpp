// CUDA's functions that the old driver lacks: stream capture and stream-ordered memory.
#include "api.hpp"

using namespace simulated;
using namespace simulated::cuda;

SIMULATED_CUDA(cuStreamIsCapturing)(CUstream handle, int* out) {
  return call_in_context(cuStreamIsCapturing_entry, [&](driver& d, context_ptr const&) {
    require(out != nullptr);
    *out = d.query_capture(*stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuStreamGetCaptureInfo_v2)(CUstream handle, int* status, unsigned long long* id,
                                          CUgraph* graph, void const** dependencies,
                                          std::size_t* count) {
  return call_in_context(cuStreamGetCaptureInfo_v2_entry, [&](driver& d, context_ptr const&) {
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
  return call_in_context(cuMemAllocAsync_entry, [&](driver& d, context_ptr const&) {
    require(out != nullptr && bytes != 0);
    *out = d.allocate_in_order(stream_of(d, handle), "cuMemAllocAsync", bytes)->start;
  });
}

SIMULATED_CUDA(cuMemFreeAsync)(CUdeviceptr start, CUstream handle) {
  return call_in_context(cuMemFreeAsync_entry, [&](driver& d, context_ptr const&) {
    if (start != 0) {
      d.free_in_order(stream_of(d, handle), "cuMemFreeAsync", pointer(start));
    }
  });
}

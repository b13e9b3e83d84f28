// CUDA's functions that old drivers lack: capturing, and memory in the order of a stream.
#include "face.hpp"

using namespace simulated;
using namespace simulated::cuda;

namespace {

int status_of(stream const& one) {
  if (one.within == nullptr) {
    return 0;
  }
  return one.within->now == capture::state::active ? 1 : 2;
}

}  // namespace

SIMULATED_CUDA(cuStreamIsCapturing)(CUstream handle, int* out) {
  return in_context(cuStreamIsCapturing_entry, [&](driver& d, context_ptr const&) {
    expect(out != nullptr);
    stream_ptr const one = stream_of(d, handle);
    d.refuse_legacy(*one, true);
    *out = status_of(*one);
  });
}

SIMULATED_CUDA(cuStreamGetCaptureInfo_v2)(CUstream handle, int* status, unsigned long long* id,
                                          CUgraph* graph, void const** dependencies,
                                          std::size_t* count) {
  return in_context(cuStreamGetCaptureInfo_v2_entry, [&](driver& d, context_ptr const&) {
    expect(status != nullptr);
    stream_ptr const one = stream_of(d, handle);
    d.refuse_legacy(*one, true);
    *status = status_of(*one);
    if (*status != 1) {
      return;
    }
    if (id != nullptr) {
      *id = one->within->id;
    }
    if (graph != nullptr) {
      *graph = one->within->graph;
    }
    if (dependencies != nullptr) {
      *dependencies = nullptr;
    }
    if (count != nullptr) {
      *count = 0;
    }
  });
}

SIMULATED_CUDA(cuThreadExchangeStreamCaptureMode)(int* mode) {
  return initialized(cuThreadExchangeStreamCaptureMode_entry, [&](driver& d) {
    expect(mode != nullptr && *mode >= 0 && *mode <= 2);
    std::swap(*mode, d.thread_capture_mode());
  });
}

SIMULATED_CUDA(cuStreamBeginCapture_v2)(CUstream handle, int mode) {
  return in_context(cuStreamBeginCapture_v2_entry, [&](driver& d, context_ptr const&) {
    d.begin_capture(stream_of(d, handle), mode);
  });
}

SIMULATED_CUDA(cuStreamEndCapture)(CUstream handle, CUgraph* out) {
  return in_context(cuStreamEndCapture_entry, [&](driver& d, context_ptr const&) {
    expect(out != nullptr);
    *out = nullptr;
    *out = d.end_capture(stream_of(d, handle));
  });
}

SIMULATED_CUDA(cuGraphDestroy)(CUgraph graph) {
  return initialized(cuGraphDestroy_entry, [&](driver& d) { d.destroy_graph(graph); });
}

SIMULATED_CUDA(cuMemAllocAsync)(CUdeviceptr* out, std::size_t bytes, CUstream handle) {
  return in_context(cuMemAllocAsync_entry, [&](driver& d, context_ptr const&) {
    expect(out != nullptr && bytes != 0);
    *out = d.allocate_in_order(stream_of(d, handle), "cuMemAllocAsync", bytes)->start;
  });
}

SIMULATED_CUDA(cuMemFreeAsync)(CUdeviceptr start, CUstream handle) {
  return in_context(cuMemFreeAsync_entry, [&](driver& d, context_ptr const&) {
    if (start != 0) {
      d.free_in_order(stream_of(d, handle), "cuMemFreeAsync", pointer(start));
    }
  });
}

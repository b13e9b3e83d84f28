// HIP's functions about streams, events and capturing.
#include "face.hpp"

namespace simulated::hip {

// Of a stream that there is not HIP says that its context is destroyed.
stream_ptr stream_of(driver& d, hipStream_t handle) {
  if (number(handle) < 3) {
    return d.default_stream(current_context(d), number(handle) == 2);
  }
  auto const found = d.streams.find(handle);
  expect(found != d.streams.end(), status::context_is_destroyed);
  return found->second;
}

}  // namespace simulated::hip

namespace simulated {

stream_ptr stream_of_handle(driver& d, void* handle) { return hip::stream_of(d, handle); }

}  // namespace simulated

using namespace simulated;
using namespace simulated::hip;

namespace {

int capture_status(stream const& one) {
  if (one.within == nullptr) {
    return 0;
  }
  return one.within->now == capture::state::active ? 1 : 2;
}

}  // namespace

SIMULATED_HIP_CALL(hipStreamCreateWithFlags)(hipStream_t* out, unsigned flags) {
  return on_device(hipStreamCreateWithFlags_entry, [&](driver& d) {
    expect(out != nullptr && flags < 2);
    *out = d.make_stream(current_context(d), flags == 0)->handle;
  });
}

SIMULATED_HIP_CALL(hipStreamDestroy)(hipStream_t handle) {
  return on_device(hipStreamDestroy_entry, [&](driver& d) {
    expect(number(handle) > 2, status::invalid_handle);
    d.destroy(stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipStreamSynchronize)(hipStream_t handle) {
  return on_device(hipStreamSynchronize_entry,
                   [&](driver& d) { d.synchronize(stream_of(d, handle)); });
}

SIMULATED_HIP_CALL(hipStreamQuery)(hipStream_t handle) {
  return on_device(hipStreamQuery_entry,
                   [&](driver& d) { expect(d.query(stream_of(d, handle)), status::not_ready); });
}

SIMULATED_HIP_CALL(hipStreamWaitEvent)(hipStream_t handle, hipEvent_t mark, unsigned flags) {
  return on_device(hipStreamWaitEvent_entry, [&](driver& d) {
    expect(flags < 2);
    event_ptr const awaited = d.find_event(mark);
    d.wait(stream_of(d, handle), awaited);
  });
}

SIMULATED_HIP_CALL(hipStreamIsCapturing)(hipStream_t handle, int* out) {
  return on_device(hipStreamIsCapturing_entry, [&](driver& d) {
    expect(out != nullptr);
    stream_ptr const one = stream_of(d, handle);
    d.refuse_legacy(*one, true);
    *out = capture_status(*one);
  });
}

SIMULATED_HIP_CALL(hipStreamGetCaptureInfo_v2)(hipStream_t handle, int* status,
                                               unsigned long long* id, hipGraph_t* graph,
                                               void const** dependencies, std::size_t* count) {
  return on_device(hipStreamGetCaptureInfo_v2_entry, [&](driver& d) {
    expect(status != nullptr);
    stream_ptr const one = stream_of(d, handle);
    d.refuse_legacy(*one, true);
    *status = capture_status(*one);
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

SIMULATED_HIP_CALL(hipThreadExchangeStreamCaptureMode)(int* mode) {
  return on_device(hipThreadExchangeStreamCaptureMode_entry, [&](driver& d) {
    expect(mode != nullptr && *mode >= 0 && *mode <= 2);
    std::swap(*mode, d.thread_capture_mode());
  });
}

SIMULATED_HIP_CALL(hipStreamBeginCapture)(hipStream_t handle, int mode) {
  return on_device(hipStreamBeginCapture_entry,
                   [&](driver& d) { d.begin_capture(stream_of(d, handle), mode); });
}

SIMULATED_HIP_CALL(hipStreamEndCapture)(hipStream_t handle, hipGraph_t* out) {
  return on_device(hipStreamEndCapture_entry, [&](driver& d) {
    expect(out != nullptr);
    *out = nullptr;
    *out = d.end_capture(stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipGraphDestroy)(hipGraph_t graph) {
  return on_device(hipGraphDestroy_entry, [&](driver& d) { d.destroy_graph(graph); });
}

SIMULATED_HIP_CALL(hipEventCreateWithFlags)(hipEvent_t* out, unsigned flags) {
  return on_device(hipEventCreateWithFlags_entry, [&](driver& d) {
    expect(out != nullptr);
    expect((flags & 4) == 0 || (flags & 2) != 0);  // between processes: without timing only
    *out = d.make_event(current_context(d))->handle;
  });
}

SIMULATED_HIP_CALL(hipEventDestroy)(hipEvent_t handle) {
  return on_device(hipEventDestroy_entry, [&](driver& d) { d.destroy(d.find_event(handle)); });
}

SIMULATED_HIP_CALL(hipEventRecord)(hipEvent_t mark, hipStream_t handle) {
  return on_device(hipEventRecord_entry, [&](driver& d) {
    event_ptr const recorded = d.find_event(mark);
    d.record(recorded, stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipEventSynchronize)(hipEvent_t handle) {
  return on_device(hipEventSynchronize_entry,
                   [&](driver& d) { d.synchronize(d.find_event(handle)); });
}

SIMULATED_HIP_CALL(hipEventQuery)(hipEvent_t handle) {
  return on_device(hipEventQuery_entry,
                   [&](driver& d) { expect(d.query(d.find_event(handle)), status::not_ready); });
}

SIMULATED_HIP_CALL(hipLaunchHostFunc)(hipStream_t handle, void (*called)(void*), void* argument) {
  return on_device(hipLaunchHostFunc_entry, [&](driver& d) {
    d.call_host(stream_of(d, handle), "hipLaunchHostFunc", called, argument);
  });
}

// SPDX-License-Identifier: BSD-3-Clause
// HIP's functions of streams, events and stream capture.
#include "api.hpp"

namespace simulated::hip {

// For an unknown stream HIP returns hipErrorContextIsDestroyed.
stream_ptr stream_of(driver& d, hipStream_t handle) {
  if (number(handle) < 3) {
    return d.default_stream(current_context(d), number(handle) == 2);
  }
  auto const entry = d.streams.find(handle);
  if (entry == d.streams.end()) {
    d.report_if_destroyed(handle);
  }
  require(entry != d.streams.end(), status::context_is_destroyed);
  return entry->second;
}

}  // namespace simulated::hip

namespace simulated {

stream_ptr stream_of_handle(driver& d, void* handle) { return hip::stream_of(d, handle); }

}  // namespace simulated

using namespace simulated;
using namespace simulated::hip;

SIMULATED_HIP_CALL(hipStreamCreateWithFlags)(hipStream_t* out, unsigned flags) {
  return call_hip(hipStreamCreateWithFlags_entry, [&](driver& d) {
    require(out != nullptr && flags < 2);
    *out = d.make_stream(current_context(d), flags == 0)->handle;
  });
}

SIMULATED_HIP_CALL(hipStreamDestroy)(hipStream_t handle) {
  return call_hip(hipStreamDestroy_entry, [&](driver& d) {
    require(number(handle) > 2, status::invalid_handle);
    d.destroy(stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipStreamSynchronize)(hipStream_t handle) {
  return call_hip(hipStreamSynchronize_entry,
                  [&](driver& d) { d.synchronize(stream_of(d, handle)); });
}

SIMULATED_HIP_CALL(hipStreamQuery)(hipStream_t handle) {
  return call_hip(hipStreamQuery_entry,
                  [&](driver& d) { require(d.query(stream_of(d, handle)), status::not_ready); });
}

SIMULATED_HIP_CALL(hipStreamWaitEvent)(hipStream_t handle, hipEvent_t event_handle,
                                       unsigned flags) {
  return call_hip(hipStreamWaitEvent_entry, [&](driver& d) {
    require(flags < 2);
    event_ptr const awaited = d.find_event(event_handle);
    d.wait(stream_of(d, handle), awaited);
  });
}

SIMULATED_HIP_CALL(hipStreamIsCapturing)(hipStream_t handle, int* out) {
  return call_hip(hipStreamIsCapturing_entry, [&](driver& d) {
    require(out != nullptr);
    *out = d.query_capture(*stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipStreamGetCaptureInfo_v2)(hipStream_t handle, int* status,
                                               unsigned long long* id, hipGraph_t* graph,
                                               void const** dependencies, std::size_t* count) {
  return call_hip(hipStreamGetCaptureInfo_v2_entry, [&](driver& d) {
    d.query_capture(*stream_of(d, handle), status, id, graph, dependencies, count);
  });
}

SIMULATED_HIP_CALL(hipThreadExchangeStreamCaptureMode)(int* mode) {
  return call_hip(hipThreadExchangeStreamCaptureMode_entry, [&](driver& d) {
    require(mode != nullptr && *mode >= 0 && *mode <= 2);
    std::swap(*mode, d.thread_capture_mode());
  });
}

SIMULATED_HIP_CALL(hipStreamBeginCapture)(hipStream_t handle, int mode) {
  return call_hip(hipStreamBeginCapture_entry,
                  [&](driver& d) { d.begin_capture(stream_of(d, handle), mode); });
}

SIMULATED_HIP_CALL(hipStreamEndCapture)(hipStream_t handle, hipGraph_t* out) {
  return call_hip(hipStreamEndCapture_entry, [&](driver& d) {
    require(out != nullptr);
    *out = nullptr;
    *out = d.end_capture(stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipGraphDestroy)(hipGraph_t graph) {
  return call_hip(hipGraphDestroy_entry, [&](driver& d) { d.destroy_graph(graph); });
}

SIMULATED_HIP_CALL(hipGraphInstantiateWithFlags)(void** out, hipGraph_t graph,
                                                 unsigned long long flags) {
  return call_hip(hipGraphInstantiateWithFlags_entry, [&](driver& d) {
    require(out != nullptr && flags == 0);
    *out = d.instantiate(graph);
  });
}

SIMULATED_HIP_CALL(hipGraphLaunch)(void* executable, hipStream_t handle) {
  return call_hip(hipGraphLaunch_entry,
                  [&](driver& d) { d.launch(executable, stream_of(d, handle)); });
}

SIMULATED_HIP_CALL(hipGraphExecDestroy)(void* executable) {
  return call_hip(hipGraphExecDestroy_entry, [&](driver& d) { d.destroy_executable(executable); });
}

SIMULATED_HIP_CALL(hipEventCreateWithFlags)(hipEvent_t* out, unsigned flags) {
  return call_hip(hipEventCreateWithFlags_entry, [&](driver& d) {
    require(out != nullptr);
    require((flags & 4) == 0 ||
            (flags & 2) != 0);  // events between processes must be without timing
    *out = d.make_event(current_context(d))->handle;
  });
}

SIMULATED_HIP_CALL(hipEventDestroy)(hipEvent_t handle) {
  return call_hip(hipEventDestroy_entry, [&](driver& d) { d.destroy(d.find_event(handle)); });
}

SIMULATED_HIP_CALL(hipEventRecord)(hipEvent_t event_handle, hipStream_t handle) {
  return call_hip(hipEventRecord_entry, [&](driver& d) {
    event_ptr const recorded = d.find_event(event_handle);
    d.record(recorded, stream_of(d, handle));
  });
}

SIMULATED_HIP_CALL(hipEventSynchronize)(hipEvent_t handle) {
  return call_hip(hipEventSynchronize_entry,
                  [&](driver& d) { d.synchronize(d.find_event(handle)); });
}

SIMULATED_HIP_CALL(hipEventQuery)(hipEvent_t handle) {
  return call_hip(hipEventQuery_entry,
                  [&](driver& d) { require(d.query(d.find_event(handle)), status::not_ready); });
}

SIMULATED_HIP_CALL(hipLaunchHostFunc)(hipStream_t handle, void (*callback)(void*), void* argument) {
  return call_hip(hipLaunchHostFunc_entry, [&](driver& d) {
    d.launch_host_function(stream_of(d, handle), "hipLaunchHostFunc", callback, argument);
  });
}

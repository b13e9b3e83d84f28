// SPDX-License-Identifier: BSD-3-Clause
// HIP's functions of memory: allocation, registration, freeing, copies, fills and pointer
// attributes.
#include "../core/pointer_attributes.hpp"
#include "api.hpp"

using namespace simulated;
using namespace simulated::hip;

namespace {

unsigned type_of(memory_kind kind) {
  constexpr unsigned host = 1, device = 2, managed = 3;  // the values of HIP 6
  switch (kind) {
    case memory_kind::device:
      return device;
    case memory_kind::managed:
      return managed;
    default:
      return host;
  }
}

void query_attribute(void* out, int which, allocation const& target, void* address) {
  switch (static_cast<pointer_attribute>(which)) {
    case pointer_attribute::memory_type:
      return store(out, type_of(target.kind));
    case pointer_attribute::device_pointer:
      return store(out, address);
    case pointer_attribute::host_pointer:
      require(target.kind != memory_kind::device);
      return store(out, address);
    case pointer_attribute::buffer_id:
      return store(out, static_cast<unsigned>(target.id));
    case pointer_attribute::is_managed:
      return store(out, target.kind == memory_kind::managed);
    case pointer_attribute::device_ordinal:
      return store(out, target.device);
    case pointer_attribute::range_start:
      return store(out, target.start);
    case pointer_attribute::range_size:
      return store(out, target.bytes);
    case pointer_attribute::is_mapped:
      return store(out, true);
    default:
      fail(status::invalid_value);
  }
}

// For 0 bytes HIP returns null and no error.
void allocate(driver& d, void** out, memory_kind kind, std::size_t bytes) {
  require(out != nullptr);
  d.fail_if_unsafe_in_capture(nullptr);
  *out = bytes == 0 ? nullptr : pointer(d.allocate(*current_context(d), kind, bytes)->start);
}

struct direction {
  bool from_device;
  bool to_device;
};

// The sides that hipMemcpyKind declares as device memory; none for hipMemcpyDefault (4).
direction declared_direction(int kind) {
  require(kind >= 0 && kind <= 4);
  return {kind == 2 || kind == 3, kind == 1 || kind == 3};
}

}  // namespace

SIMULATED_HIP_CALL(hipMalloc)(void** out, std::size_t bytes) {
  return call_hip(hipMalloc_entry,
                  [&](driver& d) { allocate(d, out, memory_kind::device, bytes); });
}

SIMULATED_HIP_CALL(hipFree)(void* start) {
  return call_hip(hipFree_entry, [&](driver& d) {
    if (start != nullptr) {
      d.free(start, {memory_kind::device, memory_kind::managed}, "hipFree");
    }
  });
}

SIMULATED_HIP_CALL(hipMallocAsync)(void** out, std::size_t bytes, hipStream_t handle) {
  return call_hip(hipMallocAsync_entry, [&](driver& d) {
    require(out != nullptr);
    *out = bytes == 0
               ? nullptr
               : pointer(d.allocate_in_order(stream_of(d, handle), "hipMallocAsync", bytes)->start);
  });
}

SIMULATED_HIP_CALL(hipFreeAsync)(void* start, hipStream_t handle) {
  return call_hip(hipFreeAsync_entry,
                  [&](driver& d) { d.free_in_order(stream_of(d, handle), "hipFreeAsync", start); });
}

SIMULATED_HIP_CALL(hipHostMalloc)(void** out, std::size_t bytes, unsigned) {
  return call_hip(hipHostMalloc_entry,
                  [&](driver& d) { allocate(d, out, memory_kind::pinned, bytes); });
}

SIMULATED_HIP_CALL(hipHostFree)(void* start) {
  return call_hip(hipHostFree_entry, [&](driver& d) {
    if (start != nullptr) {
      d.free(start, {memory_kind::pinned}, "hipHostFree");
    }
  });
}

SIMULATED_HIP_CALL(hipHostRegister)(void* start, std::size_t bytes, unsigned) {
  return call_hip(hipHostRegister_entry,
                  [&](driver& d) { d.register_host(*current_context(d), start, bytes); });
}

SIMULATED_HIP_CALL(hipHostUnregister)(void* start) {
  return call_hip(hipHostUnregister_entry, [&](driver& d) {
    d.free(start, {memory_kind::registered}, "hipHostUnregister");
  });
}

SIMULATED_HIP_CALL(hipMallocManaged)(void** out, std::size_t bytes, unsigned flags) {
  return call_hip(hipMallocManaged_entry, [&](driver& d) {
    require(flags == 1 || flags == 2);
    require(bytes != 0);
    allocate(d, out, memory_kind::managed, bytes);
  });
}

SIMULATED_HIP_CALL(hipMemcpyAsync)(void* to, void const* from, std::size_t bytes, int kind,
                                   hipStream_t handle) {
  return call_hip(hipMemcpyAsync_entry, [&](driver& d) {
    auto const [from_device, to_device] = declared_direction(kind);
    d.copy(stream_of(d, handle), "hipMemcpyAsync", {number(to), bytes, to_device},
           {number(from), bytes, from_device}, bytes);
  });
}

SIMULATED_HIP_CALL(hipMemcpyPeerAsync)(void* to, int to_device, void const* from, int from_device,
                                       std::size_t bytes, hipStream_t handle) {
  return call_hip(hipMemcpyPeerAsync_entry, [&](driver& d) {
    d.require_device(to_device);
    d.require_device(from_device);
    require(d.lookup(to)->device == to_device && d.lookup(from)->device == from_device);
    d.copy(stream_of(d, handle), "hipMemcpyPeerAsync", {number(to), bytes, true},
           {number(from), bytes, true}, bytes);
  });
}

SIMULATED_HIP_CALL(hipMemcpy2DAsync)(void* to, std::size_t to_pitch, void const* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     int kind, hipStream_t handle) {
  return call_hip(hipMemcpy2DAsync_entry, [&](driver& d) {
    auto const [from_device, to_device] = declared_direction(kind);
    require(to_pitch >= width && from_pitch >= width);
    d.copy(stream_of(d, handle), "hipMemcpy2DAsync", {number(to), to_pitch, to_device},
           {number(from), from_pitch, from_device}, width, height);
  });
}

SIMULATED_HIP_CALL(hipMemsetAsync)(void* to, int value, std::size_t bytes, hipStream_t handle) {
  return call_hip(hipMemsetAsync_entry, [&](driver& d) {
    d.fill(stream_of(d, handle), "hipMemsetAsync", to, static_cast<unsigned char>(value), bytes);
  });
}

SIMULATED_HIP_CALL(hipPointerGetAttribute)(void* out, int which, void* address) {
  return call_hip(hipPointerGetAttribute_entry, [&](driver& d) {
    require(out != nullptr);
    query_attribute(out, which, *d.lookup(address), address);
  });
}

SIMULATED_HIP_CALL(hipMemPrefetchAsync)(void const* start, std::size_t bytes, int to,
                                        hipStream_t handle) {
  return call_hip(hipMemPrefetchAsync_entry, [&](driver& d) {
    require(to >= -1 && to < d.device_count(), status::invalid_device);
    d.require_managed(start, bytes);
    d.enqueue(stream_of(d, handle), "hipMemPrefetchAsync", {}, [] {});
  });
}

SIMULATED_HIP_CALL(hipMemAdvise)(void const* start, std::size_t bytes, int advice, int device) {
  return call_hip(hipMemAdvise_entry, [&](driver& d) {
    require(advice >= 1 && advice <= 6 && device >= -1 && device < d.device_count());
    d.require_managed(start, bytes);
  });
}

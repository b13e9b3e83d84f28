// HIP's functions that allocate, register, free, copy, fill and ask about memory.
#include "face.hpp"

using namespace simulated;
using namespace simulated::hip;

namespace {

enum attribute {
  memory_type = 2,
  device_pointer = 3,
  host_pointer = 4,
  buffer_id = 7,
  is_managed = 8,
  device_ordinal = 9,
  range_start = 11,
  range_size = 12,
  is_mapped = 13,
};

template <class T>
void put(void* out, T value) {
  *static_cast<T*>(out) = value;
}

unsigned type_of(memory_kind kind) {
  constexpr unsigned host = 1, device = 2, managed = 3;  // as HIP 6 counts them
  switch (kind) {
    case memory_kind::device:
      return device;
    case memory_kind::managed:
      return managed;
    default:
      return host;
  }
}

void answer(void* out, int which, allocation const& about, void* asked) {
  switch (which) {
    case memory_type:
      return put(out, type_of(about.kind));
    case device_pointer:
      return put(out, asked);
    case host_pointer:
      expect(about.kind != memory_kind::device);
      return put(out, asked);
    case buffer_id:
      return put(out, static_cast<unsigned>(about.id));
    case is_managed:
      return put(out, about.kind == memory_kind::managed);
    case device_ordinal:
      return put(out, about.device);
    case range_start:
      return put(out, about.start);
    case range_size:
      return put(out, about.bytes);
    case is_mapped:
      return put(out, true);
    default:
      refuse(status::invalid_value);
  }
}

// For nothing HIP gives null, and no error.
void give(driver& d, void** out, memory_kind kind, std::size_t bytes) {
  expect(out != nullptr);
  d.refuse_unsafe(nullptr);
  *out = bytes == 0 ? nullptr : pointer(d.allocate(*current_context(d), kind, bytes)->start);
}

struct direction {
  bool from_device;
  bool to_device;
};

// What the caller says of both sides; with 4 nothing, as the addresses tell.
direction said(int kind) {
  expect(kind >= 0 && kind <= 4);
  return {kind == 2 || kind == 3, kind == 1 || kind == 3};
}

}  // namespace

SIMULATED_HIP_CALL(hipMalloc)(void** out, std::size_t bytes) {
  return on_device(hipMalloc_entry, [&](driver& d) { give(d, out, memory_kind::device, bytes); });
}

SIMULATED_HIP_CALL(hipFree)(void* start) {
  return on_device(hipFree_entry, [&](driver& d) {
    if (start != nullptr) {
      d.free(start, {memory_kind::device, memory_kind::managed}, "hipFree");
    }
  });
}

SIMULATED_HIP_CALL(hipMallocAsync)(void** out, std::size_t bytes, hipStream_t handle) {
  return on_device(hipMallocAsync_entry, [&](driver& d) {
    expect(out != nullptr);
    *out = bytes == 0
               ? nullptr
               : pointer(d.allocate_in_order(stream_of(d, handle), "hipMallocAsync", bytes)->start);
  });
}

SIMULATED_HIP_CALL(hipFreeAsync)(void* start, hipStream_t handle) {
  return on_device(hipFreeAsync_entry, [&](driver& d) {
    d.free_in_order(stream_of(d, handle), "hipFreeAsync", start);
  });
}

SIMULATED_HIP_CALL(hipHostMalloc)(void** out, std::size_t bytes, unsigned) {
  return on_device(hipHostMalloc_entry,
                   [&](driver& d) { give(d, out, memory_kind::pinned, bytes); });
}

SIMULATED_HIP_CALL(hipHostFree)(void* start) {
  return on_device(hipHostFree_entry, [&](driver& d) {
    if (start != nullptr) {
      d.free(start, {memory_kind::pinned}, "hipHostFree");
    }
  });
}

SIMULATED_HIP_CALL(hipHostRegister)(void* start, std::size_t bytes, unsigned) {
  return on_device(hipHostRegister_entry,
                   [&](driver& d) { d.adopt(*current_context(d), start, bytes); });
}

SIMULATED_HIP_CALL(hipHostUnregister)(void* start) {
  return on_device(hipHostUnregister_entry, [&](driver& d) {
    d.free(start, {memory_kind::registered}, "hipHostUnregister");
  });
}

SIMULATED_HIP_CALL(hipMallocManaged)(void** out, std::size_t bytes, unsigned flags) {
  return on_device(hipMallocManaged_entry, [&](driver& d) {
    expect(flags == 1 || flags == 2);
    expect(bytes != 0);
    give(d, out, memory_kind::managed, bytes);
  });
}

SIMULATED_HIP_CALL(hipMemcpyAsync)(void* to, void const* from, std::size_t bytes, int kind,
                                   hipStream_t handle) {
  return on_device(hipMemcpyAsync_entry, [&](driver& d) {
    auto const [from_device, to_device] = said(kind);
    d.copy(stream_of(d, handle), "hipMemcpyAsync", {number(to), bytes, to_device},
           {number(from), bytes, from_device}, bytes);
  });
}

SIMULATED_HIP_CALL(hipMemcpyPeerAsync)(void* to, int to_device, void const* from, int from_device,
                                       std::size_t bytes, hipStream_t handle) {
  return on_device(hipMemcpyPeerAsync_entry, [&](driver& d) {
    d.require_device(to_device);
    d.require_device(from_device);
    expect(d.lookup(to)->device == to_device && d.lookup(from)->device == from_device);
    d.copy(stream_of(d, handle), "hipMemcpyPeerAsync", {number(to), bytes, true},
           {number(from), bytes, true}, bytes);
  });
}

SIMULATED_HIP_CALL(hipMemcpy2DAsync)(void* to, std::size_t to_pitch, void const* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     int kind, hipStream_t handle) {
  return on_device(hipMemcpy2DAsync_entry, [&](driver& d) {
    auto const [from_device, to_device] = said(kind);
    expect(to_pitch >= width && from_pitch >= width);
    d.copy(stream_of(d, handle), "hipMemcpy2DAsync", {number(to), to_pitch, to_device},
           {number(from), from_pitch, from_device}, width, height);
  });
}

SIMULATED_HIP_CALL(hipMemsetAsync)(void* to, int value, std::size_t bytes, hipStream_t handle) {
  return on_device(hipMemsetAsync_entry, [&](driver& d) {
    d.fill(stream_of(d, handle), "hipMemsetAsync", to, static_cast<unsigned char>(value), bytes);
  });
}

SIMULATED_HIP_CALL(hipPointerGetAttribute)(void* out, int which, void* address) {
  return on_device(hipPointerGetAttribute_entry, [&](driver& d) {
    expect(out != nullptr);
    answer(out, which, *d.lookup(address), address);
  });
}

// CUDA's functions that allocate, register, free and ask about memory.
#include "face.hpp"

using namespace simulated;
using namespace simulated::cuda;

namespace {

enum attribute {
  of_context = 1,
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

void answer(void* out, int which, allocation const& about, CUdeviceptr asked) {
  constexpr unsigned host = 1, device = 2;
  bool const is_of_host =
      about.kind == memory_kind::pinned || about.kind == memory_kind::registered;
  switch (which) {
    case of_context:
      return put(out, about.context);
    case memory_type:
      return put(out, is_of_host ? host : device);
    case device_pointer:
      return put(out, asked);
    case host_pointer:
      expect(about.kind != memory_kind::device);
      return put(out, pointer(asked));
    case buffer_id:
      return put(out, static_cast<unsigned long long>(about.id));
    case is_managed:
      return put(out, about.kind == memory_kind::managed ? 1U : 0U);
    case device_ordinal:
      return put(out, about.device);
    case range_start:
      return put(out, static_cast<CUdeviceptr>(about.start));
    case range_size:
      return put(out, about.bytes);
    case is_mapped:
      return put(out, 1U);
    default:
      refuse(status::invalid_value);
  }
}

}  // namespace

SIMULATED_CUDA(cuMemAlloc_v2)(CUdeviceptr* out, std::size_t bytes) {
  return in_context(cuMemAlloc_v2_entry, [&](driver& d, context_ptr const& now) {
    expect(out != nullptr && bytes != 0);
    d.refuse_unsafe(nullptr);
    *out = d.allocate(*now, memory_kind::device, bytes)->start;
  });
}

SIMULATED_CUDA(cuMemFree_v2)(CUdeviceptr start) {
  return in_context(cuMemFree_v2_entry, [&](driver& d, context_ptr const&) {
    if (start != 0) {
      d.free(pointer(start), {memory_kind::device, memory_kind::managed}, "cuMemFree_v2");
    }
  });
}

SIMULATED_CUDA(cuMemHostAlloc)(void** out, std::size_t bytes, unsigned flags) {
  return in_context(cuMemHostAlloc_entry, [&](driver& d, context_ptr const& now) {
    expect(out != nullptr && bytes != 0 && flags < 8);
    d.refuse_unsafe(nullptr);
    *out = pointer(d.allocate(*now, memory_kind::pinned, bytes)->start);
  });
}

SIMULATED_CUDA(cuMemFreeHost)(void* start) {
  return in_context(cuMemFreeHost_entry, [&](driver& d, context_ptr const&) {
    d.free(start, {memory_kind::pinned}, "cuMemFreeHost");
  });
}

SIMULATED_CUDA(cuMemHostRegister_v2)(void* start, std::size_t bytes, unsigned flags) {
  return in_context(cuMemHostRegister_v2_entry, [&](driver& d, context_ptr const& now) {
    expect(flags < 16);
    d.adopt(*now, start, bytes);
  });
}

SIMULATED_CUDA(cuMemHostUnregister)(void* start) {
  return in_context(cuMemHostUnregister_entry, [&](driver& d, context_ptr const&) {
    d.free(start, {memory_kind::registered}, "cuMemHostUnregister");
  });
}

SIMULATED_CUDA(cuMemAllocManaged)(CUdeviceptr* out, std::size_t bytes, unsigned flags) {
  return in_context(cuMemAllocManaged_entry, [&](driver& d, context_ptr const& now) {
    expect(out != nullptr && bytes != 0 && (flags == 1 || flags == 2));
    d.refuse_unsafe(nullptr);
    *out = d.allocate(*now, memory_kind::managed, bytes)->start;
  });
}

SIMULATED_CUDA(cuPointerGetAttribute)(void* out, int which, CUdeviceptr address) {
  return initialized(cuPointerGetAttribute_entry, [&](driver& d) {
    expect(out != nullptr);
    answer(out, which, *d.lookup(pointer(address)), address);
  });
}

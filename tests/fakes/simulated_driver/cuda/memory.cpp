// SPDX-License-Identifier: BSD-3-Clause
// CUDA's functions of memory: allocation, registration, freeing and pointer attributes.
#include "../core/pointer_attributes.hpp"
#include "api.hpp"

using namespace simulated;
using namespace simulated::cuda;

namespace {

void query_attribute(void* out, int which, allocation const& target, CUdeviceptr address) {
  constexpr unsigned host = 1, device = 2;
  bool const is_of_host =
      target.kind == memory_kind::pinned || target.kind == memory_kind::registered;
  switch (static_cast<pointer_attribute>(which)) {
    case pointer_attribute::context:
      return store(out, target.context);
    case pointer_attribute::memory_type:
      return store(out, is_of_host ? host : device);
    case pointer_attribute::device_pointer:
      return store(out, address);
    case pointer_attribute::host_pointer:
      require(target.kind != memory_kind::device);
      return store(out, pointer(address));
    case pointer_attribute::buffer_id:
      return store(out, static_cast<unsigned long long>(target.id));
    case pointer_attribute::is_managed:
      return store(out, target.kind == memory_kind::managed ? 1U : 0U);
    case pointer_attribute::device_ordinal:
      return store(out, target.device);
    case pointer_attribute::range_start:
      return store(out, static_cast<CUdeviceptr>(target.start));
    case pointer_attribute::range_size:
      return store(out, target.bytes);
    case pointer_attribute::is_mapped:
      return store(out, 1U);
    default:
      fail(status::invalid_value);
  }
}

}  // namespace

SIMULATED_CUDA(cuMemAlloc_v2)(CUdeviceptr* out, std::size_t bytes) {
  return call_in_context(cuMemAlloc_v2_entry, [&](driver& d, context_ptr const& owner) {
    require(out != nullptr && bytes != 0);
    d.fail_if_unsafe_in_capture(nullptr);
    *out = d.allocate(*owner, memory_kind::device, bytes)->start;
  });
}

SIMULATED_CUDA(cuMemFree_v2)(CUdeviceptr start) {
  return call_in_context(cuMemFree_v2_entry, [&](driver& d, context_ptr const&) {
    if (start != 0) {
      d.free(pointer(start), {memory_kind::device, memory_kind::managed}, "cuMemFree_v2");
    }
  });
}

SIMULATED_CUDA(cuMemHostAlloc)(void** out, std::size_t bytes, unsigned flags) {
  return call_in_context(cuMemHostAlloc_entry, [&](driver& d, context_ptr const& owner) {
    require(out != nullptr && bytes != 0 && flags < 8);
    d.fail_if_unsafe_in_capture(nullptr);
    *out = pointer(d.allocate(*owner, memory_kind::pinned, bytes)->start);
  });
}

SIMULATED_CUDA(cuMemFreeHost)(void* start) {
  return call_in_context(cuMemFreeHost_entry, [&](driver& d, context_ptr const&) {
    d.free(start, {memory_kind::pinned}, "cuMemFreeHost");
  });
}

SIMULATED_CUDA(cuMemHostRegister_v2)(void* start, std::size_t bytes, unsigned flags) {
  return call_in_context(cuMemHostRegister_v2_entry, [&](driver& d, context_ptr const& owner) {
    require(flags < 16);
    d.register_host(*owner, start, bytes);
  });
}

SIMULATED_CUDA(cuMemHostUnregister)(void* start) {
  return call_in_context(cuMemHostUnregister_entry, [&](driver& d, context_ptr const&) {
    d.free(start, {memory_kind::registered}, "cuMemHostUnregister");
  });
}

SIMULATED_CUDA(cuMemAllocManaged)(CUdeviceptr* out, std::size_t bytes, unsigned flags) {
  return call_in_context(cuMemAllocManaged_entry, [&](driver& d, context_ptr const& owner) {
    require(out != nullptr && bytes != 0 && (flags == 1 || flags == 2));
    d.fail_if_unsafe_in_capture(nullptr);
    *out = d.allocate(*owner, memory_kind::managed, bytes)->start;
  });
}

SIMULATED_CUDA(cuPointerGetAttribute)(void* out, int which, CUdeviceptr address) {
  return call_initialized(cuPointerGetAttribute_entry, [&](driver& d) {
    require(out != nullptr);
    query_attribute(out, which, *d.lookup(pointer(address)), address);
  });
}

SIMULATED_CUDA(cuMemPrefetchAsync)(CUdeviceptr start, std::size_t bytes, CUdevice to,
                                   CUstream handle) {
  return call_initialized(cuMemPrefetchAsync_entry, [&](driver& d) {
    require(to >= -1 && to < d.device_count(), status::invalid_device);
    d.require_managed(pointer(start), bytes);
    d.enqueue(stream_of(d, handle), "cuMemPrefetchAsync", {}, [] {});
  });
}

SIMULATED_CUDA(cuMemAdvise)(CUdeviceptr start, std::size_t bytes, int advice, CUdevice device) {
  return call_initialized(cuMemAdvise_entry, [&](driver& d) {
    require(advice >= 1 && advice <= 6 && device >= -1 && device < d.device_count());
    d.require_managed(pointer(start), bytes);
  });
}

// SPDX-License-Identifier: BSD-3-Clause
// CUDA's functions of copies and fills.
#include "api.hpp"

using namespace simulated;
using namespace simulated::cuda;

namespace {

// The layout of CUDA_MEMCPY2D.
struct copy_2d {
  std::size_t from_x, from_y;
  unsigned from_type;
  void const* from_host;
  CUdeviceptr from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  unsigned to_type;
  void* to_host;
  CUdeviceptr to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};

std::uintptr_t number(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

copy_operand side(unsigned type, void const* host, CUdeviceptr device, std::size_t pitch,
                  std::size_t x, std::size_t y, copy_2d const& all) {
  constexpr unsigned of_host = 1, of_device = 2, unified = 4;
  require(type == of_host || type == of_device || type == unified);
  std::size_t const step = pitch == 0 ? x + all.width : pitch;
  require(step >= x + all.width);
  std::uintptr_t const base = type == of_host ? number(host) : device;
  return {base + y * step + x, step, type == of_device};
}

// A peer copy names the contexts of both addresses.
void check_owner(driver& d, CUdeviceptr address, CUcontext handle) {
  context_ptr const owner = d.find_context(handle);
  require(owner->is_alive, status::context_is_destroyed);
  require(d.lookup(pointer(address))->device == owner->device);
}

}  // namespace

SIMULATED_CUDA(cuMemcpyHtoDAsync_v2)(CUdeviceptr to, void const* from, std::size_t bytes,
                                     CUstream handle) {
  return call_in_context(cuMemcpyHtoDAsync_v2_entry, [&](driver& d, context_ptr const&) {
    d.copy(stream_of(d, handle), "cuMemcpyHtoDAsync_v2", {to, bytes, true},
           {number(from), bytes, false}, bytes);
  });
}

SIMULATED_CUDA(cuMemcpyDtoHAsync_v2)(void* to, CUdeviceptr from, std::size_t bytes,
                                     CUstream handle) {
  return call_in_context(cuMemcpyDtoHAsync_v2_entry, [&](driver& d, context_ptr const&) {
    d.copy(stream_of(d, handle), "cuMemcpyDtoHAsync_v2", {number(to), bytes, false},
           {from, bytes, true}, bytes);
  });
}

SIMULATED_CUDA(cuMemcpyDtoDAsync_v2)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                     CUstream handle) {
  return call_in_context(cuMemcpyDtoDAsync_v2_entry, [&](driver& d, context_ptr const&) {
    d.copy(stream_of(d, handle), "cuMemcpyDtoDAsync_v2", {to, bytes, true}, {from, bytes, true},
           bytes);
  });
}

SIMULATED_CUDA(cuMemcpyPeerAsync)(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                  CUcontext from_context, std::size_t bytes, CUstream handle) {
  return call_in_context(cuMemcpyPeerAsync_entry, [&](driver& d, context_ptr const&) {
    check_owner(d, to, to_context);
    check_owner(d, from, from_context);
    d.copy(stream_of(d, handle), "cuMemcpyPeerAsync", {to, bytes, true}, {from, bytes, true},
           bytes);
  });
}

// The layout of CUDA_MEMCPY3D_PEER.
struct copy_3d_peer {
  std::size_t from_x, from_y, from_z, from_lod;
  unsigned from_type;
  void const* from_host;
  CUdeviceptr from_device;
  void* from_array;
  CUcontext from_context;
  std::size_t from_pitch, from_height;
  std::size_t to_x, to_y, to_z, to_lod;
  unsigned to_type;
  void* to_host;
  CUdeviceptr to_device;
  void* to_array;
  CUcontext to_context;
  std::size_t to_pitch, to_height;
  std::size_t width, height, depth;
};

// Only for device memory and one plane.
SIMULATED_CUDA(cuMemcpy3DPeerAsync)(copy_3d_peer const* all, CUstream handle) {
  return call_in_context(cuMemcpy3DPeerAsync_entry, [&](driver& d, context_ptr const&) {
    require(all != nullptr && all->from_type == 2 && all->to_type == 2 && all->depth == 1);
    require(all->from_pitch >= all->width && all->to_pitch >= all->width);
    check_owner(d, all->to_device, all->to_context);
    check_owner(d, all->from_device, all->from_context);
    d.copy(stream_of(d, handle), "cuMemcpy3DPeerAsync", {all->to_device, all->to_pitch, true},
           {all->from_device, all->from_pitch, true}, all->width, all->height);
  });
}

SIMULATED_CUDA(cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream handle) {
  return call_in_context(cuMemcpyAsync_entry, [&](driver& d, context_ptr const&) {
    d.copy(stream_of(d, handle), "cuMemcpyAsync", {to, bytes, false}, {from, bytes, false}, bytes);
  });
}

SIMULATED_CUDA(cuMemcpy2DAsync_v2)(copy_2d const* all, CUstream handle) {
  return call_in_context(cuMemcpy2DAsync_v2_entry, [&](driver& d, context_ptr const&) {
    require(all != nullptr);
    copy_operand const to =
        side(all->to_type, all->to_host, all->to_device, all->to_pitch, all->to_x, all->to_y, *all);
    copy_operand const from = side(all->from_type, all->from_host, all->from_device,
                                   all->from_pitch, all->from_x, all->from_y, *all);
    d.copy(stream_of(d, handle), "cuMemcpy2DAsync_v2", to, from, all->width, all->height);
  });
}

SIMULATED_CUDA(cuMemsetD8Async)(CUdeviceptr to, unsigned char value, std::size_t bytes,
                                CUstream handle) {
  return call_in_context(cuMemsetD8Async_entry, [&](driver& d, context_ptr const&) {
    d.fill(stream_of(d, handle), "cuMemsetD8Async", pointer(to), value, bytes);
  });
}

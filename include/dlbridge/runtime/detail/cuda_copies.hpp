// try_copy, try_copy_peer, try_copy_peer_block for CUDA: enqueue copies on a stream.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

/// The struct CUDA_MEMCPY2D of cuda.h: the same members in the same order, under other names.
struct cuda_block_copy {
  std::size_t from_x, from_y;
  int from_type;
  void const* from_host;
  void const* from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void* to_host;
  void* to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};

/// The struct CUDA_MEMCPY3D_PEER of cuda.h: the same members in the same order, under other names.
struct cuda_peer_block_copy {
  std::size_t from_x, from_y, from_z, from_lod;
  int from_type;
  void const* from_host;
  void const* from_device;
  void* from_array;
  void* from_context;
  std::size_t from_pitch, from_height;
  std::size_t to_x, to_y, to_z, to_lod;
  int to_type;
  void* to_host;
  void* to_device;
  void* to_array;
  void* to_context;
  std::size_t to_pitch, to_height;
  std::size_t width, height, depth;
};

namespace detail {
// Enqueues one copy for each row.
DLBRIDGE_COLD inline report try_copy_rows(cuda_table const& driver, block_copy const& copy,
                                          void* stream) noexcept {
  report status;
  for (std::size_t i = 0; i < copy.height && status.ok(); ++i) {
    status =
        try_call(driver, driver.copy_async, static_cast<char*>(copy.to) + i * copy.to_pitch,
                 static_cast<char const*>(copy.from) + i * copy.from_pitch, copy.width, stream);
  }
  return status;
}
}  // namespace detail

/// Enqueues a copy on a stream of the current context. CUDA states that a copy of rows within a
/// device may fail for pitches that cuMemAllocPitch has not computed. The function then enqueues
/// one copy for each row.
/// @return a report: as try_call.
/// @par Lifetime
/// Both memories exist until the copy has completed.
inline report try_copy(cuda_table const& driver, block_copy const& copy, void* stream) noexcept {
  if (copy.height == 1) {
    return try_call(driver, driver.copy_async, copy.to, copy.from, copy.width, stream);
  }
  auto const type = [](memory_side side) {
    return side == memory_side::host ? 1 : side == memory_side::device ? 2 : 4;
  };
  cuda_block_copy block{};
  block.from_type = type(copy.from_side);
  block.from_host = copy.from;  // the driver reads the address that the type selects
  block.from_device = copy.from;
  block.from_pitch = copy.from_pitch;
  block.to_type = type(copy.to_side);
  block.to_host = copy.to;
  block.to_device = copy.to;
  block.to_pitch = copy.to_pitch;
  block.width = copy.width;
  block.height = copy.height;
  driver_result const result = driver.copy_block_async(&block, stream);
  if (result == driver_success) {
    return report{};
  }
  bool const is_on_device =
      copy.from_side != memory_side::host && copy.to_side != memory_side::host;
  return result == driver_invalid_value && is_on_device
             ? detail::try_copy_rows(driver, copy, stream)
             : detail::failed_call(driver, driver.copy_block_async.name(), result);
}

/// Enqueues a copy between the memories of two devices, whose contexts are to_context and
/// from_context.
/// @return a report: as try_call.
/// @par Lifetime
/// Both memories and contexts exist until the copy has completed.
inline report try_copy_peer(cuda_table const& driver, void* to, void* to_context, void const* from,
                            void* from_context, std::size_t bytes, void* stream) noexcept {
  return try_call(driver, driver.copy_peer_async, to, to_context, from, from_context, bytes,
                  stream);
}

/// Whether try_copy_peer_block needs one call for a block, and not one for each row.
constexpr bool copies_peer_blocks(cuda_table const&) noexcept { return true; }
/// Enqueues a copy of rows between the memories of two devices.
/// @return a report: as try_call.
inline report try_copy_peer_block(cuda_table const& driver, block_copy const& copy,
                                  void* to_context, void* from_context, void* stream) noexcept {
  constexpr int type_device = 2;
  cuda_peer_block_copy block{};
  block.from_type = type_device;
  block.from_device = copy.from;
  block.from_context = from_context;
  block.from_pitch = copy.from_pitch;
  block.to_type = type_device;
  block.to_device = copy.to;
  block.to_context = to_context;
  block.to_pitch = copy.to_pitch;
  block.width = copy.width;
  block.height = copy.height;
  block.depth = 1;
  return try_call(driver, driver.copy_peer_block_async, &block, stream);
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

// try_copy, try_copy_peer, try_copy_peer_block for CUDA: enqueue copies on a stream.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

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

/// Enqueues a copy on a stream of the current context. CUDA states that a copy of rows within a
/// device may fail for pitches that cuMemAllocPitch has not computed. The function then enqueues
/// one copy for each row.
/// @return a report: as try_call.
/// @par Lifetime
/// Both memories exist until the copy has completed.
report try_copy(cuda_table const& driver, block_copy const& copy, void* stream) noexcept;

/// Enqueues a copy between the memories of two devices, whose contexts are to_context and
/// from_context.
/// @return a report: as try_call.
/// @par Lifetime
/// Both memories and contexts exist until the copy has completed.
report try_copy_peer(cuda_table const& driver, void* to, void* to_context, void const* from,
                     void* from_context, std::size_t bytes, void* stream) noexcept;

/// Whether try_copy_peer_block needs one call for a block, and not one for each row.
constexpr bool copies_peer_blocks(cuda_table const&) noexcept { return true; }
/// Enqueues a copy of rows between the memories of two devices.
/// @return a report: as try_call.
report try_copy_peer_block(cuda_table const& driver, block_copy const& copy, void* to_context,
                           void* from_context, void* stream) noexcept;

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/cuda_copies.ipp>
#endif

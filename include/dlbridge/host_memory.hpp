// host_allocator and build_empty: allocate host memory and create a tensor on it.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// Two functions that allocate and free host memory.
struct host_allocator {
  /// Returns memory with the alignment, in bytes, or null on failure.
  void* (*allocate)(std::size_t bytes, std::size_t alignment) noexcept;
  /// Frees memory of allocate; the numbers are those of its call.
  void (*deallocate)(void* memory, std::size_t bytes, std::size_t alignment) noexcept;
};

/// The allocator that uses operator new. On Linux it advises pages of 2 MiB from 4 MiB on.
host_allocator default_allocator() noexcept;
/// The alignment, in bytes, of host memory that dlbridge allocates. With a smaller alignment JAX
/// copies and TensorFlow aborts.
DLBRIDGE_LOCAL inline constexpr std::size_t host_alignment = 64;

namespace detail {
// An owner of host memory. It throws out_of_memory and bad_argument.
struct host_buffer {
  void* memory = nullptr;
  std::size_t bytes = 0;
  host_allocator allocator{};

  host_buffer(std::size_t bytes_, host_allocator const& allocator_);
  host_buffer(host_buffer const&) = delete;
  host_buffer(host_buffer&& other) noexcept
      : memory(std::exchange(other.memory, nullptr)),
        bytes(other.bytes),
        allocator(other.allocator) {}
  host_buffer& operator=(host_buffer const&) = delete;
  ~host_buffer();
};

// The size in bytes of the memory of a compact tensor. It throws malformed and overflow. A valid
// tensor of few bytes, whose strides are 0, can have a copy that exceeds the address space of a
// 32-bit machine.
std::size_t compact_bytes(description const& d);

// Allocates memory for a compact tensor, whose description lacks only data. The unused bits after
// the last packed element are 0.
managed_tensor build_compact(description d, struct_kind kind, host_allocator const& memory);
}  // namespace detail

/// Creates a row-major tensor in new host memory. Its elements are not initialized.
/// @param type The dtype.
/// @param shape The extents.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return The tensor, aligned to host_alignment.
/// @throws error bad_argument (a negative extent, more than 64 dimensions, or memory of the
///   allocator that is not aligned), dtype_mismatch (not a dtype of DLPack), overflow (a size above
///   64 bits or the address space), out_of_memory.
managed_tensor build_empty(dtype type, dims const& shape, struct_kind kind = struct_kind::versioned,
                           host_allocator const& memory = default_allocator());

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/host_memory.ipp>
#endif

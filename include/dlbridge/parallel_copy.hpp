// copy and copy_of in parts: copy the elements of a host tensor in threads of the caller.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_elements.hpp>
#include <dlbridge/detail/copy_kernel.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The least size, in bytes of elements, of a part: to copy less takes about as long as to start it
/// in another thread.
constexpr std::int64_t least_bytes_of_part = std::int64_t{512} << 10;

/// Copies all elements to an existing tensor, as copy(source, destination), in threads of the
/// caller. dlbridge creates no thread.
/// @param source The tensor to read, with any strides, including 0 and negative ones.
/// @param destination The tensor to write, of the same dtype and shape. If it overlaps source, the
///   elements are first copied to temporary memory, also in parts.
/// @param parts The highest number of parts. With 1 and below (hardware_concurrency may return 0),
///   and if the elements are fewer than twice least_bytes_of_part or cannot be divided, the
///   function copies without run.
/// @param run A function that is called as `run(count, body)`, where 2 <= count <= parts; twice if
///   the tensors overlap. It calls `body(0)` to `body(count - 1)`, each once, in any order and in
///   any threads, and returns or throws after all of these calls have returned and their writes
///   are visible to the caller, as when it has joined the threads. body may be copied, and refers
///   to memory that is valid until then. Its calls do not throw, and write different bytes.
/// @throws error As copy(source, destination), before any element is written. What run throws, when
///   the elements of destination have any values.
/// @par Stream order
/// As copy_of, for both tensors.
template <class Run>
void copy(tensor_view const& source, tensor_view const& destination, int parts, Run&& run);

/// Copies a tensor to new host memory, as copy_of(source, order, kind, memory), in threads of the
/// caller. The thread that copies a part is the first that writes to its memory, unless elements
/// are packed.
/// @param source The tensor, in memory that the CPU can access.
/// @param parts The highest number of parts, as for copy.
/// @param run The function that calls the parts, as for copy.
/// @param order layout::row_major or layout::column_major.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return A compact, writable tensor, aligned to 64 bytes, with flag_is_copied. Sub-byte elements
///   are packed or padded as in source.
/// @throws error As copy_of(source, order, kind, memory). What run throws, after the new memory has
///   been freed.
/// @par Stream order
/// As copy_of.
template <class Run>
managed_tensor copy_of(tensor_view const& source, int parts, Run&& run,
                       layout order = layout::row_major, struct_kind kind = struct_kind::versioned,
                       host_allocator const& memory = default_allocator());

namespace detail {
// A division of the indices of one dimension into parts that write no byte in common. The first
// index of each part is a multiple of `grain`.
struct copy_division {
  int parts = 1;
  int dimension = 0;
  std::int64_t extent = 0;
  std::int64_t grain = 1;

  std::int64_t grains() const noexcept { return extent / grain + (extent % grain != 0 ? 1 : 0); }
  // The first index of a part; for part == parts, the extent.
  std::int64_t first(int part) const noexcept;
};

// Divides a copy along the slowest dimension of the destination that is long enough for parts of
// about equal size, or else along the longest one. Where elements are compact, a part begins at a
// cache line of both tensors, so that no line is read or written in two threads. Packed elements
// share bytes with their neighbours: there, parts begin at whole bytes.
copy_division divide_copy(tensor_view const& source, tensor_view const& destination,
                          int parts) noexcept;

inline namespace DLBRIDGE_COPY_KERNELS {
// The method for every part of a copy of `bytes` bytes. Its size decides whether the parts store
// past the cache, because together they leave the cache as one copy would.
copy_method method_of_parts(std::int64_t bytes) noexcept;
}  // namespace DLBRIDGE_COPY_KERNELS

// At most `parts`, and at most so many that none is shorter than least_bytes_of_part.
int useful_parts(tensor_view const& source, int parts) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/parallel_copy.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/parallel_copy.ipp>
#endif

// copy and copy_of in parts: copy the elements of a host tensor in threads of the caller.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_elements.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/detail/copy_kernel.hpp>
#include <dlbridge/detail/copy_registers.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// The least size, in bytes of elements, of a part: to copy less takes about as long as to start it
/// in another thread.
constexpr std::int64_t least_bytes_of_part = std::int64_t{512} << 10;

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
  std::int64_t first(int part) const noexcept {
    std::int64_t const each = grains() / parts;
    std::int64_t const longer = grains() % parts;  // the parts with one grain more
    std::int64_t const index = (each * part + (part < longer ? part : longer)) * grain;
    return index < extent ? index : extent;
  }
};

// The least power of two of indices that advance by a cache line or more, `least` of them or more.
// A stride of 0 does not advance.
inline std::int64_t indices_of_line(std::int64_t least, std::int64_t extent, std::int64_t stride,
                                    std::int64_t pitch) noexcept {
  constexpr std::int64_t line = 64 * 8;  // in bits, as pitch
  std::int64_t const step = (stride < 0 ? -stride : stride) * pitch;
  while (least < extent && step != 0 && least * step < line) {
    least *= 2;
  }
  return least;
}

// Divides a copy along the slowest dimension of the destination that is long enough for parts of
// about equal size, or else along the longest one. Where elements are compact, a part begins at a
// cache line of both tensors, so that no line is read or written in two threads. Packed elements
// share bytes with their neighbours: there, parts begin at whole bytes.
inline copy_division divide_copy(tensor_view const& source, tensor_view const& destination,
                                 int parts) noexcept {
  std::int64_t from[max_rank];
  std::int64_t to[max_rank];
  source.copy_strides(from);
  destination.copy_strides(to);
  std::int64_t const from_pitch = bit_pitch(source);
  std::int64_t const to_pitch = bit_pitch(destination);
  bool const packed = to_pitch % 8 != 0;
  std::int64_t const least = packed || from_pitch % 8 != 0 ? 8 : 1;
  copy_division best;
  for (int i = 0; packed && i < destination.rank(); ++i) {
    if (destination.extent(i) > 1 && to[i] < 0) {
      return best;  // the lowest bit of a part is not that of its first index
    }
  }
  int order[max_rank];
  std::int64_t most = 1;
  for (int i = sort_by_step(destination.rank(), destination.shape(), to, order); i-- > 0;) {
    int const dimension = order[i];
    copy_division division{1, dimension, destination.extent(dimension), least};
    division.grain = indices_of_line(least, division.extent, to[dimension], to_pitch);
    division.grain = indices_of_line(division.grain, division.extent, from[dimension], from_pitch);
    if (division.grains() > most) {
      best = division;
      most = division.grains();
      best.parts = most < parts ? static_cast<int>(most) : parts;
    }
    if (most >= std::int64_t{8} * parts || (packed && to[dimension] * to_pitch % 8 != 0)) {
      break;  // in the second case, faster dimensions begin inside a byte
    }
  }
  return best;
}

// The indices [first, last) of one dimension of a tensor.
class copy_slice {
 public:
  copy_slice(tensor_view const& whole, int dimension, std::int64_t first,
             std::int64_t last) noexcept
      : tensor_(whole.to_dltensor()), flags_(whole.flags()) {
    whole.copy_strides(strides_);
    for (int i = 0; i < whole.rank(); ++i) {
      shape_[i] = whole.extent(i);
    }
    shape_[dimension] = last - first;
    tensor_.shape = shape_;
    tensor_.strides = strides_;
    tensor_.data =
        static_cast<char*>(tensor_.data) + first * strides_[dimension] * bit_pitch(whole) / 8;
  }
  copy_slice(copy_slice const&) = delete;
  copy_slice& operator=(copy_slice const&) = delete;

  tensor_view view() const noexcept { return tensor_view(tensor_, flags_); }

 private:
  DLTensor tensor_;
  std::uint64_t flags_;
  std::int64_t shape_[max_rank];
  std::int64_t strides_[max_rank];
};

inline namespace DLBRIDGE_COPY_KERNELS {
// The method for every part of a copy of `bytes` bytes. Its size decides whether the parts store
// past the cache, because together they leave the cache as one copy would.
inline copy_method method_of_parts(std::int64_t bytes) noexcept {
  copy_method method = copy_method::best();
  method.stream_from = bytes >= method.stream_from ? 0 : INT64_MAX;
  return method;
}
}  // namespace DLBRIDGE_COPY_KERNELS

// Copies between tensors that are not empty and do not overlap, in up to `parts` parts of any size.
template <class Run>
void copy_in_parts(tensor_view const& source, tensor_view const& destination, int parts, Run& run) {
  copy_division const division =
      parts > 1 ? divide_copy(source, destination, parts) : copy_division{};
  if (division.parts <= 1) {
    return copy_disjoint(source, destination);
  }
  copy_method const method = method_of_parts(source.count() * element_bytes(source.dtype()));
  auto const body = [&](int part) noexcept {
    std::int64_t const first = division.first(part);
    std::int64_t const last = division.first(part + 1);
    copy_slice const from(source, division.dimension, first, last);
    copy_slice const to(destination, division.dimension, first, last);
    copy_disjoint(from.view(), to.view(), method);
  };
  run(division.parts, body);
}

// At most `parts`, and at most so many that none is shorter than least_bytes_of_part.
inline int useful_parts(tensor_view const& source, int parts) noexcept {
  std::int64_t const most = source.count() * element_bytes(source.dtype()) / least_bytes_of_part;
  return most < parts ? static_cast<int>(most) : parts;
}
}  // namespace detail

/// Copies all elements to an existing tensor, as copy(source, destination), in threads of the
/// caller. dlbridge creates no thread.
///
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
///   to memory that is valid until then. Its calls do not throw, and no two of them write the same
///   byte.
/// @throws error As copy(source, destination), before any element is written. What run throws, when
///   the elements of destination have any values.
///
/// @par Stream order
/// As copy_of, for both tensors.
template <class Run>
void copy(tensor_view const& source, tensor_view const& destination, int parts, Run&& run);

/// Copies a tensor to new host memory, as copy_of(source, order, kind, memory), in threads of the
/// caller. The thread that copies a part is the first that writes to its memory, unless elements
/// are packed.
///
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
///
/// @par Stream order
/// As copy_of.
template <class Run>
managed_tensor copy_of(tensor_view const& source, int parts, Run&& run,
                       layout order = layout::row_major, struct_kind kind = struct_kind::versioned,
                       host_allocator const& memory = default_allocator()) {
  managed_tensor result = detail::build_for_copy(source, order, kind, memory);
  if (!source.empty()) {
    detail::copy_in_parts(source, result.view(), detail::useful_parts(source, parts), run);
  }
  return result;
}

template <class Run>
void copy(tensor_view const& source, tensor_view const& destination, int parts, Run&& run) {
  require_view(source, requirement{});
  detail::require_destination(source, destination, device_filter{});
  if (source.empty()) {
    return;
  }
  int const count = detail::useful_parts(source, parts);
  if (detail::may_overlap(source, destination)) {
    managed_tensor const snapshot = copy_of(source, parts, run);
    return detail::copy_in_parts(snapshot.view(), destination, count, run);
  }
  detail::copy_in_parts(source, destination, count, run);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// copy and copy_of: copy the elements of a host tensor with any strides, to an existing tensor and
// to a new compact one.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/detail/copy_elements.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
// Whether the address ranges from the lowest to the highest element intersect.
inline bool may_overlap(tensor_view const& a, tensor_view const& b) noexcept {
  auto const ends = [](tensor_view const& v, std::uintptr_t& first, std::uintptr_t& last) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    static_cast<void>(try_reach(v.rank(), v.shape(), v.strides(), low, high));
    std::int64_t const bytes = element_bytes(v.dtype());
    auto const base = reinterpret_cast<std::uintptr_t>(v.data());
    first = base + static_cast<std::uintptr_t>(low * bytes);
    last = base + static_cast<std::uintptr_t>((high + 1) * bytes);
  };
  std::uintptr_t first_a = 0, last_a = 0, first_b = 0, last_b = 0;
  ends(a, first_a, last_a);
  ends(b, first_b, last_b);
  return first_a < last_b && first_b < last_a;
}

// Throws if the destination cannot receive the elements of source, or is not on a device of the
// filter.
inline void require_destination(tensor_view const& source, tensor_view const& destination,
                                device_filter where) {
  requirement need;
  need.type = source.dtype();
  need.rank = source.rank();
  need.extents = source.shape();
  need.where = where;
  need.writable = true;
  if (!meets(destination, need)) {
    report r = explain_mismatch(destination, need);
    if (r.has(errc::read_only)) {
      r.advice = "Pass a writable destination";
    }
    raise(r);
  }
  if (has_alias(destination.rank(), destination.shape(), destination.strides())) {
    std::int64_t strides[max_rank];
    destination.copy_strides(strides);
    report r = refusal(errc::layout_mismatch, "a destination whose elements share no memory",
                       name_of(destination).c_str());
    append_extents(r.got.append(" with strides "), destination.rank(), strides);
    r.got.append(", whose elements may share memory");
    raise(r);
  }
}

// Copies between tensors that do not overlap.
inline void copy_disjoint(tensor_view const& source, tensor_view const& destination,
                          copy_method const& method = copy_method::best()) noexcept {
  bool const packed =
      is_sub_byte(source.dtype()) && !(source.is_padded() && destination.is_padded());
  packed ? copy_packed(source, destination) : copy_elements(source, destination, method);
}
}  // namespace detail

/// Copies a tensor to new host memory.
///
/// @param source The tensor, in memory that the CPU can access.
/// @param order layout::row_major or layout::column_major.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return A compact, writable tensor, aligned to 64 bytes, with flag_is_copied. Sub-byte elements
///   are packed or padded as in source.
/// @throws error device_mismatch (the CPU cannot access the memory), bad_argument (another order;
///   memory of the allocator is not aligned), version_mismatch (kind is legacy, and the elements
///   are padded sub-byte elements), overflow (the size of the copy exceeds 64 bits), out_of_memory.
///
/// @par Stream order
/// The function waits for no stream: the elements must be ready when the caller calls it.
[[nodiscard]] managed_tensor copy_of(tensor_view const& source, layout order = layout::row_major,
                                     struct_kind kind = struct_kind::versioned,
                                     host_allocator const& memory = default_allocator());

/// Copies all elements to an existing tensor. The bits of every element are unchanged. The padding
/// bits of elements that are packed in source and padded in destination become 0.
///
/// @param source The tensor to read, with any strides, including 0 and negative ones.
/// @param destination The tensor to write, of the same dtype and shape. If it overlaps source, the
///   elements are first copied to temporary memory.
/// @throws error dtype_mismatch, rank_mismatch, extent_mismatch, device_mismatch (the CPU cannot
///   access both), read_only, layout_mismatch (elements of destination may share memory),
///   out_of_memory (the tensors overlap, and the allocation of temporary memory failed).
///
/// @par Stream order
/// As copy_of, for both tensors.
inline void copy(tensor_view const& source, tensor_view const& destination) {
  require_view(source, requirement{});
  detail::require_destination(source, destination, device_filter{});
  if (source.empty()) {
    return;
  }
  if (detail::may_overlap(source, destination)) {
    managed_tensor const snapshot = copy_of(source);
    detail::copy_disjoint(snapshot.view(), destination);
    return;
  }
  detail::copy_disjoint(source, destination);
}

DLBRIDGE_NOINLINE inline managed_tensor copy_of(tensor_view const& source, layout order,
                                                struct_kind kind, host_allocator const& memory) {
  managed_tensor result = detail::build_for_copy(source, order, kind, memory);
  if (!source.empty()) {
    detail::copy_disjoint(source, result.view(), detail::copy_method::to_new_memory());
  }
  return result;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// copy and copy_of: copy the elements of a host tensor with any strides, to an existing tensor and
// to a new compact one.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_elements.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// Copies a tensor to new host memory.
/// @param source The tensor, in memory that the CPU can access.
/// @param order layout::row_major or layout::column_major.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return A compact, writable tensor, aligned to 64 bytes, with flag_is_copied. Sub-byte elements
///   are packed or padded as in source.
/// @throws error device_mismatch (the CPU cannot access the memory), bad_argument (another order;
///   memory of the allocator is not aligned), version_mismatch (kind is legacy, and the elements
///   are padded sub-byte elements), overflow (the size of the copy exceeds 64 bits), out_of_memory.
/// @par Stream order
/// The function waits for no stream: the elements must be ready when the caller calls it.
[[nodiscard]] managed_tensor copy_of(tensor_view const& source, layout order = layout::row_major,
                                     struct_kind kind = struct_kind::versioned,
                                     host_allocator const& memory = default_allocator());
managed_tensor copy_of(DLTensor const&) = delete;  ///< not checked yet: write copy_of(view_of(t))
template <class Array, class = detail::if_no_view<Array>>
managed_tensor copy_of(Array const&) = delete;  ///< keep t = build_on(no_owner{}, describe(array))

/// Copies all elements to an existing tensor. The bits of every element are unchanged. The padding
/// bits of elements that are packed in source and padded in destination become 0.
/// @param source The tensor to read, with any strides, including 0 and negative ones.
/// @param destination The tensor to write, of the same dtype and shape. If it overlaps source, the
///   elements are first copied to temporary memory.
/// @throws error dtype_mismatch, rank_mismatch, extent_mismatch, device_mismatch (the CPU cannot
///   access both), read_only, layout_mismatch (elements of destination may share memory),
///   out_of_memory (the tensors overlap, and the allocation of temporary memory failed).
/// @par Stream order
/// As copy_of, for both tensors.
void copy(tensor_view const& source, tensor_view const& destination);

namespace detail {
// Whether the address ranges from the lowest to the highest element intersect.
bool may_overlap(tensor_view const& a, tensor_view const& b) noexcept;

// Throws if the destination cannot receive the elements, or the filter refuses its device.
void require_destination(tensor_view const& source, tensor_view const& destination,
                         device_filter where);

// Copies between tensors that do not overlap.
void copy_disjoint(tensor_view const& source, tensor_view const& destination,
                   copy_method const& method = copy_method::best()) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/copy.ipp>
#endif

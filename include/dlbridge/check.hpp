// check_view reports every rule of a requirement that a view breaks; require_view throws them in
// one message.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
// Compares all fields by one instruction. The operator == of dtype, which also works at compile
// time, takes six. The fields of `wanted`, as a rule constants, are named so that they stay
// constants.
DLBRIDGE_INLINE bool are_same(dtype type, dtype wanted) noexcept {
  dtype const fields(wanted.code, wanted.bits, wanted.lanes);
  return std::memcmp(&type, &fields, sizeof(type)) == 0;
}
static_assert(sizeof(dtype) == 4);

DLBRIDGE_INLINE bool has_layout(int rank, std::int64_t const* shape, std::int64_t const* strides,
                                layout order) noexcept {
  switch (order) {
    case layout::row_major:
      return is_row_major(rank, shape, strides);
    case layout::column_major:
      return is_column_major(rank, shape, strides);
    case layout::compact:
      return is_compact(rank, shape, strides);
    case layout::strided:
      break;
  }
  return true;
}
DLBRIDGE_INLINE bool has_layout(tensor_view const& view, layout order) noexcept {
  return order == layout::strided || has_layout(view.rank(), view.shape(), view.strides(), order);
}
// The same for a view of the required rank: most matrices are recognized by two comparisons.
DLBRIDGE_INLINE bool has_required_layout(tensor_view const& view,
                                         requirement const& need) noexcept {
  std::int64_t const* const strides = view.strides();
  return (need.rank == 2 && need.order == layout::row_major && strides != nullptr &&
          strides[1] == 1 && strides[0] == view.extent(1)) ||
         has_layout(view, need.order);
}

// Whether extent i, which has a name, equals the first extent of that name.
inline bool agrees_with_name(std::int64_t const* shape, requirement const& need, int i) noexcept {
  int first = 0;
  while (need.extents[first] != need.extents[i]) {
    ++first;
  }
  return shape[first] == shape[i];
}

// Whether the extents meet the requirement. The result for a wrong rank is true, because another
// rule, rank_mismatch, reports it.
inline bool has_extents(int rank, std::int64_t const* shape, requirement const& need) noexcept {
  if (need.extents == nullptr || rank != need.rank) {
    return true;
  }
  for (int i = 0; i < need.rank; ++i) {
    if (need.extents[i] != dynamic_extent && need.extents[i] != shape[i] &&
        (need.extents[i] >= 0 || !agrees_with_name(shape, need, i))) {
      return false;
    }
  }
  return true;
}
inline bool has_extents(tensor_view const& view, requirement const& need) noexcept {
  return has_extents(view.rank(), view.shape(), need);
}

// The number that must be a multiple of the alignment: the address of the first element, or its
// offset if data is a handle, since the bits of a handle are not an address.
inline std::uint64_t position_of(tensor_view const& view) noexcept {
  return has_address(view.device()) ? reinterpret_cast<std::uintptr_t>(view.data())
                                    : view.byte_offset();
}

DLBRIDGE_NOINLINE inline bool has_alignment_slow(tensor_view const& view,
                                                 std::size_t alignment) noexcept {
  return (position_of(view) & (alignment - 1)) == 0 || view.empty();
}
// As a rule the offset is 0 and data has the alignment; both are then multiples of it, and which of
// them is the position makes no difference.
DLBRIDGE_INLINE bool has_alignment(tensor_view const& view, std::size_t alignment) noexcept {
  std::uint64_t const both = reinterpret_cast<std::uintptr_t>(view.data()) | view.byte_offset();
  return (both & (alignment - 1)) == 0 || has_alignment_slow(view, alignment);
}

DLBRIDGE_LOCAL inline constexpr char const* other_layout_advice = "Pass a copy in that layout";

DLBRIDGE_COLD inline report explain_mismatch(tensor_view const& view,
                                             requirement const& need) noexcept {
  report r;
  auto rule = [&r](bool passes, errc code) {
    if (!passes) {
      r.add(code);
    }
    return !passes;
  };
  append_requirement(r.expected, need, need.extents != nullptr);
  append_name(r.got, view);
  rule(need.any_type() || need.type == view.dtype(), errc::dtype_mismatch);
  rule(need.rank == requirement::any_rank || need.rank == view.rank(), errc::rank_mismatch);
  rule(has_extents(view, need), errc::extent_mismatch);
  rule(need.where.accepts(view.device()), errc::device_mismatch);
  bool const is_copy_enough = r.ok();
  if (rule(has_layout(view, need.order), errc::layout_mismatch)) {
    std::int64_t strides[max_rank];
    view.copy_strides(strides);
    r.got.append(" with strides ");
    append_extents(r.got, view.rank(), strides);
    r.advice = is_copy_enough ? other_layout_advice : nullptr;
  }
  if (rule(!need.writable || !view.read_only(), errc::read_only)) {
    bool const is_copied = view.is_copied();
    r.got.append(is_copied ? ", a read-only copy by its producer" : ", read-only");
    r.advice = is_copied ? "Pass an array that is exported without a copy" : "Pass a writable copy";
  }
  if (rule(has_alignment(view, need.alignment), errc::misaligned)) {
    if (need.alignment <= max_unstated_alignment) {
      append_alignment(r.expected, need.alignment);
    }
    std::uint64_t const position = position_of(view);
    append_alignment(r.got, position & (0 - position));
    r.advice = is_copy_enough && r.advice == nullptr ? "Pass an aligned copy" : r.advice;
  }
  return r;
}
}  // namespace detail

/// Whether the view meets the requirement. The function composes no report. It is inlined, so that
/// a requirement that is a constant costs no more than the rules that it has.
DLBRIDGE_INLINE bool meets(tensor_view const& view, requirement const& need) noexcept {
  return (need.any_type() || detail::are_same(view.dtype(), need.type)) &&
         (need.rank == requirement::any_rank || need.rank == view.rank()) &&
         detail::has_extents(view, need) && need.where.accepts(view.device()) &&
         detail::has_required_layout(view, need) && (!need.writable || !view.read_only()) &&
         detail::has_alignment(view, need.alignment);
}

namespace detail {
// Whether the struct is an ordinary tensor in host memory, valid, and meets the requirement. If
// not, the caller takes the slow path, check_tensor and check_view, which may still accept the
// tensor.
DLBRIDGE_INLINE bool fits_fast_path(DLTensor const& t, requirement const& need) noexcept {
  bool const plain =
      t.dtype.code == need.type.code && t.dtype.bits == need.type.bits &&
      t.dtype.lanes == need.type.lanes && t.device.device_type == kDLCPU &&
      need.where.accepts(device(t.device)) &&
      (need.rank == requirement::any_rank || t.ndim == need.rank) &&
      (need.order == layout::row_major
           ? is_ordinary_memory<true>(t)
           : is_ordinary_memory(t) && has_layout(t.ndim, t.shape, t.strides, need.order)) &&
      t.byte_offset == 0 && (reinterpret_cast<std::uintptr_t>(t.data) & (need.alignment - 1)) == 0;
  return plain && has_extents(t.ndim, t.shape, need);
}
}  // namespace detail

/// Checks a view against a requirement.
///
/// @param view The view.
/// @param need The requirement.
/// @return a report with every rule that the view breaks: dtype_mismatch, rank_mismatch,
///   extent_mismatch, device_mismatch, layout_mismatch, read_only, misaligned.
inline report check_view(tensor_view const& view, requirement const& need) noexcept {
  return meets(view, need) ? report{} : detail::explain_mismatch(view, need);
}

/// Throws if a view does not meet a requirement.
///
/// @param view The view.
/// @param need The requirement.
/// @throws error with the report of check_view, if the view breaks a rule.
DLBRIDGE_INLINE void require_view(tensor_view const& view, requirement const& need) {
  if (!meets(view, need)) {
    raise(detail::explain_mismatch(view, need));
  }
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// The inline bodies of check.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/check.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Whether extent i, which has a name, equals the first extent of that name. It has no reference to
// the requirement, whose members would then be no constants for the callers.
bool agrees_with_name(std::int64_t const* shape, std::int64_t const* wanted, int i) noexcept;

bool has_alignment_slow(tensor_view const& view, std::size_t alignment) noexcept;

static_assert(sizeof(dtype) == 4);
// Compares all fields by one instruction. The operator == of dtype, which also works at compile
// time, takes six. The fields of `wanted`, as a rule constants, are named so that they stay
// constants.
DLBRIDGE_INLINE bool are_same(dtype type, dtype wanted) noexcept {
  dtype const fields(wanted.code, wanted.bits, wanted.lanes);
  return std::memcmp(&type, &fields, sizeof(type)) == 0;
}

DLBRIDGE_INLINE bool has_other_type(dtype type, requirement const& need) noexcept {
  bool found = false;
  for (std::size_t i = 0; i < need.other_count; ++i) {
    found = found || are_same(type, need.others[i]);
  }
  return found;
}

// The required alignment: where several dtypes are accepted, also that of the numbers.
DLBRIDGE_INLINE std::size_t alignment_for(dtype type, requirement const& need) noexcept {
  std::size_t const bytes =
      need.other_count == 0 ? 1U : (is_complex(type) ? type.bits / 16U : type.bits / 8U);
  return bytes > need.alignment ? bytes : need.alignment;
}

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

bool has_extents(int rank, std::int64_t const* shape, requirement const& need) noexcept {
  if (need.extents == nullptr || rank != need.rank) {
    return true;
  }
  for (int i = 0; i < need.rank; ++i) {
    if (need.extents[i] != dynamic_extent && need.extents[i] != shape[i] &&
        (need.extents[i] >= 0 || !agrees_with_name(shape, need.extents, i))) {
      return false;
    }
  }
  return true;
}

// What a requirement lacks, so that a check would pass over a field of it; null if nothing. The
// compiler evaluates it for a constant.
DLBRIDGE_INLINE char const* missing_in(requirement const& need) noexcept {
  return need.rank == requirement::any_rank && need.extents != nullptr
             ? "a requirement with the rank of its extents"
         : need.any_type() && need.other_count != 0 ? "a requirement with a type before its others"
         : need.where.id != device_filter::any_id && need.where.type <= device_filter::host
             ? "a requirement with the device type of its ordinal"
         : need.alignment == 0 || (need.alignment & (need.alignment - 1)) != 0
             ? "a requirement with an alignment that is a power of two"
             : nullptr;
}

// As a rule the offset is 0 and data has the alignment; both are then multiples of it, and which of
// them is the position makes no difference.
DLBRIDGE_INLINE bool has_alignment(tensor_view const& view, std::size_t alignment) noexcept {
  std::uint64_t const both = reinterpret_cast<std::uintptr_t>(view.data()) | view.byte_offset();
  return (both & (alignment - 1)) == 0 || has_alignment_slow(view, alignment);
}
}  // namespace detail

bool meets(tensor_view const& view, requirement const& need) noexcept {
  return detail::missing_in(need) == nullptr &&
         (need.any_type() || detail::are_same(view.dtype(), need.type) ||
          detail::has_other_type(view.dtype(), need)) &&
         (need.rank == requirement::any_rank || need.rank == view.rank()) &&
         detail::has_extents(view, need) && need.where.accepts(view.device()) &&
         detail::has_required_layout(view, need) && (!need.writable || !view.read_only()) &&
         detail::has_alignment(view, detail::alignment_for(view.dtype(), need));
}

namespace detail {
bool fits_fast_path(DLTensor const& t, requirement const& need) noexcept {
  bool const plain =
      ((t.dtype.code == need.type.code && t.dtype.bits == need.type.bits &&
        t.dtype.lanes == need.type.lanes) ||
       has_other_type(dtype(t.dtype), need)) &&
      t.device.device_type == kDLCPU && need.where.accepts(device(t.device)) &&
      (need.rank == requirement::any_rank || t.ndim == need.rank) &&
      (need.order == layout::row_major
           ? is_ordinary_memory<true>(t)
           : is_ordinary_memory(t) && has_layout(t.ndim, t.shape, t.strides, need.order)) &&
      t.byte_offset == 0 &&
      (reinterpret_cast<std::uintptr_t>(t.data) & (alignment_for(dtype(t.dtype), need) - 1)) == 0;
  return plain && has_extents(t.ndim, t.shape, need);
}
}  // namespace detail

void require_view(tensor_view const& view, requirement const& need) {
  if (!meets(view, need)) {
    raise(detail::explain_mismatch(view, need));
  }
}

DLBRIDGE_END_NAMESPACE

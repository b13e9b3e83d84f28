// The bodies of block_plan.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/runtime/detail/block_plan.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API byte_range range_of(tensor_view const& view) noexcept {
  byte_range range;
  if (view.empty()) {
    return range;
  }
  std::int64_t low = 0;
  std::int64_t high = 0;
  static_cast<void>(try_reach(view.rank(), view.shape(), view.strides(), low, high));
  std::int64_t const pitch = bit_pitch(view);
  std::int64_t const first_bit = low * pitch;  // 0 or negative
  range.first = -((7 - first_bit) / 8);
  range.size = (high * pitch + pitch + 7) / 8 - range.first;
  return range;
}

DLBRIDGE_API bool is_one_block(tensor_view const& source, tensor_view const& destination) noexcept {
  if (!source.is_compact() || !destination.is_compact() ||
      bit_pitch(source) != bit_pitch(destination)) {
    return false;
  }
  for (int i = 0; i < source.rank(); ++i) {
    if (source.extent(i) != 1 && source.stride(i) != destination.stride(i)) {
      return false;
    }
  }
  return true;
}

DLBRIDGE_API block_plan plan_blocks(tensor_view const& source,
                                    tensor_view const& destination) noexcept {
  std::int64_t const unit = element_bytes(source.dtype());
  constexpr std::int64_t max_pitch = INT32_MAX;  // every device accepts such a pitch
  block_plan plan;
  plan.outer = plan_copy(source, destination, unit, unit);
  copy_plan& outer = plan.outer;
  plan.width = unit;
  if (outer.rank > 0) {
    copy_dimension const& inner = outer.dimensions[outer.rank - 1];
    if (inner.source == unit && inner.destination == unit) {
      plan.width = unit * inner.extent;
      --outer.rank;
    }
  }
  int rows = -1;
  for (int i = 0; i < outer.rank; ++i) {
    copy_dimension const& each = outer.dimensions[i];
    bool const has_pitches = each.source >= plan.width && each.source <= max_pitch &&
                             each.destination >= plan.width && each.destination <= max_pitch;
    if (has_pitches && (rows < 0 || each.extent > outer.dimensions[rows].extent)) {
      rows = i;
    }
  }
  if (rows >= 0) {
    plan.rows = outer.dimensions[rows];
    for (int i = rows + 1; i < outer.rank; ++i) {
      outer.dimensions[i - 1] = outer.dimensions[i];
    }
    --outer.rank;
  }
  for (int i = 0; i < outer.rank; ++i) {
    plan.copies *= outer.dimensions[i].extent;
  }
  outer.dimensions[outer.rank++] = {1, 0, 0};
  return plan;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

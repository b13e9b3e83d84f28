// The bodies of copy_plan.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API void copy_plan::reverse(copy_dimension& each) noexcept {
  source += each.source * (each.extent - 1);
  destination += each.destination * (each.extent - 1);
  each.source = -each.source;
  each.destination = -each.destination;
}

DLBRIDGE_API std::int64_t bit_pitch(tensor_view const& view) noexcept {
  return view.is_padded() ? element_bytes(view.dtype()) * 8 : element_bits(view.dtype());
}

DLBRIDGE_API bool fills_bytes(tensor_view const& view) noexcept {
  return view.count() * bit_pitch(view) % 8 == 0;
}

DLBRIDGE_API copy_plan plan_copy(tensor_view const& source, tensor_view const& destination,
                                 std::int64_t source_unit, std::int64_t destination_unit) noexcept {
  copy_plan plan;
  std::int64_t from[max_rank];
  std::int64_t to[max_rank];
  source.copy_strides(from);
  destination.copy_strides(to);
  for (int i = 0; i < source.rank(); ++i) {
    if (source.extent(i) == 1) {
      continue;
    }
    copy_dimension dimension{source.extent(i), from[i] * source_unit, to[i] * destination_unit};
    if (dimension.destination < 0) {
      plan.reverse(dimension);
    }
    int position = plan.rank++;
    for (; position > 0 && plan.dimensions[position - 1].destination < dimension.destination;
         --position) {
      plan.dimensions[position] = plan.dimensions[position - 1];
    }
    plan.dimensions[position] = dimension;
  }
  int last = 0;
  for (int i = 1; i < plan.rank; ++i) {
    copy_dimension& outer = plan.dimensions[last];
    copy_dimension const& inner = plan.dimensions[i];
    if (outer.source == inner.extent * inner.source &&
        outer.destination == inner.extent * inner.destination) {
      outer = {outer.extent * inner.extent, inner.source, inner.destination};
    } else if (++last != i) {
      plan.dimensions[last] = inner;
    }
  }
  plan.rank = plan.rank == 0 ? 0 : last + 1;
  return plan;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

// copy_plan, plan_copy and for_each_row: describe a strided copy with few dimensions, and enumerate
// its rows.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {

// A dimension of a copy: its extent, and the steps in source and destination. Steps are in units of
// bytes, or of bits for packed elements.
struct copy_dimension {
  std::int64_t extent;
  std::int64_t source;
  std::int64_t destination;
};

struct copy_plan {
  int rank = 0;
  std::int64_t source = 0;  // from the data of each tensor to the element that the plan begins with
  std::int64_t destination = 0;
  copy_dimension dimensions[max_rank];  // slowest first

  copy_plan() noexcept {}  // user-provided: value-initialization does not zero the array

  // Reverses the order in which a dimension is copied.
  void reverse(copy_dimension& each) noexcept {
    source += each.source * (each.extent - 1);
    destination += each.destination * (each.extent - 1);
    each.source = -each.source;
    each.destination = -each.destination;
  }
};

// The distance, in bits, between elements with a stride of 1.
inline std::int64_t bit_pitch(tensor_view const& view) noexcept {
  return view.is_padded() ? element_bytes(view.dtype()) * 8 : element_bits(view.dtype());
}

// Whether the elements of a compact tensor end at the end of a byte.
inline bool fills_bytes(tensor_view const& view) noexcept {
  return view.count() * bit_pitch(view) % 8 == 0;
}

// Plans a copy of tensors that are not empty: drops dimensions of extent 1, follows the others in
// the direction in which the destination ascends, sorts them by the step of the destination, and
// merges neighbours that are contiguous in both tensors.
inline copy_plan plan_copy(tensor_view const& source, tensor_view const& destination,
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

// Calls body(source, destination) for each combination of the indices of the first `outer`
// dimensions, with the offsets in the units of the plan.
template <class Body>
void for_each_offset(copy_plan const& plan, int outer,
                     Body const& body) noexcept(noexcept(body(std::int64_t{}, std::int64_t{}))) {
  std::int64_t index[max_rank];
  for (int i = 0; i < outer; ++i) {
    index[i] = 0;
  }
  std::int64_t source = plan.source;
  std::int64_t destination = plan.destination;
  for (;;) {
    body(source, destination);
    int i = outer - 1;
    for (; i >= 0; --i) {
      copy_dimension const& d = plan.dimensions[i];
      if (++index[i] < d.extent) {
        source += d.source;
        destination += d.destination;
        break;
      }
      source -= d.source * (d.extent - 1);
      destination -= d.destination * (d.extent - 1);
      index[i] = 0;
    }
    if (i < 0) {
      return;
    }
  }
}

// Calls row(source, destination) for each row along the innermost dimension, with the offsets of
// its first element.
template <class Row>
void for_each_row(copy_plan const& plan,
                  Row const& row) noexcept(noexcept(row(std::int64_t{}, std::int64_t{}))) {
  for_each_offset(plan, plan.rank - 1, row);
}

}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

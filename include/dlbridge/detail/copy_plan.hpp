// copy_plan, plan_copy and for_each_row: describe a strided copy with few dimensions, and enumerate
// its rows.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
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
  void reverse(copy_dimension& each) noexcept;
};

// The distance, in bits, between elements with a stride of 1.
std::int64_t bit_pitch(tensor_view const& view) noexcept;

// Whether the elements of a compact tensor end at the end of a byte.
bool fills_bytes(tensor_view const& view) noexcept;

// Plans a copy of tensors that are not empty: drops dimensions of extent 1, follows the others in
// the direction in which the destination ascends, sorts them by the step of the destination, and
// merges neighbours that are contiguous in both tensors.
copy_plan plan_copy(tensor_view const& source, tensor_view const& destination,
                    std::int64_t source_unit, std::int64_t destination_unit) noexcept;

// Calls body(source, destination) for each combination of the indices of the first `outer`
// dimensions, with the offsets in the units of the plan.
template <class Body>
void for_each_offset(copy_plan const& plan, int outer,
                     Body const& body) noexcept(noexcept(body(std::int64_t{}, std::int64_t{})));

// Calls row(source, destination) for each row along the innermost dimension, with the offsets of
// its first element.
template <class Row>
void for_each_row(copy_plan const& plan,
                  Row const& row) noexcept(noexcept(row(std::int64_t{}, std::int64_t{}))) {
  for_each_offset(plan, plan.rank - 1, row);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/detail/copy_plan.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/copy_plan.ipp>
#endif

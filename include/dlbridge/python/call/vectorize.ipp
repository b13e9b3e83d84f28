// The bodies of vectorize.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include <dlbridge/broadcast.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/python/call/vectorize.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API element_loops::element_loops(tensor_view const* operands, std::size_t count,
                                          std::int64_t (*steps)[max_rank]) {
  auto const has_all_extents = [this](tensor_view const& each) {
    return each.rank() == extents_.size() &&
           std::equal(each.shape(), each.shape() + each.rank(), extents_.data());
  };
  for (tensor_view const* each = operands; each != operands + count; ++each) {
    if (extents_.size() == 0) {
      extents_ = dims::from(each->shape(), static_cast<std::size_t>(each->rank()));
    } else if (each->rank() != 0 && !has_all_extents(*each)) {
      extents_ = broadcast_extents(extents_, *each);
    }
  }
  int const rank = extents_.size();
  auto const* const leader = std::find_if(operands, operands + count, [&](auto const& each) {
    return has_all_extents(each) && each.is_compact();
  });
  if (leader != operands + count) {
    leader->copy_strides(strides_);
  } else {
    fill_row_major(rank, extents_.data(), strides_);
  }
  int order[max_rank];  // fastest first
  int const dimensions = dlbridge::detail::sort_by_step(rank, extents_.data(), strides_, order);
  lengths_[0] = dimensions < 0 ? 0 : 1;
  for (std::size_t k = 0; k < count; ++k) {
    std::int64_t strides[max_rank];
    dlbridge::detail::write_broadcast_strides(operands[k], extents_, strides);
    steps[k][0] = 0;
    for (int i = 0; i < dimensions; ++i) {
      steps[k][i] = strides[order[dimensions - 1 - i]];
    }
  }
  // Merges each loop with the one around it where no operand has a gap between them.
  int last = 0;
  for (int i = 0; i < dimensions; ++i) {
    std::int64_t const length = extents_[order[dimensions - 1 - i]];
    bool merges = i > 0;
    for (std::size_t k = 0; k < count; ++k) {
      merges = merges && steps[k][last] == length * steps[k][i];
    }
    last += merges || i == 0 ? 0 : 1;
    for (std::size_t k = 0; k < count; ++k) {
      steps[k][last] = steps[k][i];
    }
    lengths_[last] = merges ? lengths_[last] * length : length;
  }
  innermost_ = last;
}

DLBRIDGE_API managed_tensor element_loops::build(dtype type) const {
  description d;
  d.type = type;
  d.shape = extents_;
  d.strides = dims::from(strides_, static_cast<std::size_t>(extents_.size()));
  return dlbridge::detail::build_compact(d, struct_kind::versioned, default_allocator());
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

// The inline bodies of describe_block.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
void write_tensor(description const& d, std::int64_t* dims, std::int64_t* strides,
                  DLTensor& t) noexcept {
  int const rank = d.shape.size();
  copy_extents(d.shape.data(), rank, dims);
  if (d.strides.size() == 0) {
    fill_row_major(rank, dims, strides);
  }
  copy_extents(d.strides.data(), d.strides.size(), strides);
  t.data = d.data;
  t.byte_offset = d.byte_offset;
  t.device = d.device.abi();
  t.ndim = rank;
  t.dtype = d.type.abi();
  t.shape = rank == 0 ? nullptr : dims;
  t.strides = rank == 0 ? nullptr : strides;
}

void canonicalize_data(DLTensor& t) noexcept {
  if (keeps_data(device(t.device))) {
    return;
  }
  if (count_of(t.ndim, t.shape) == 0) {
    t.data = nullptr;
    t.byte_offset = 0;
  } else if (has_address(device(t.device))) {
    t.data = static_cast<char*>(t.data) + t.byte_offset;
    t.byte_offset = 0;
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

// plan_blocks, range_of: plan the copy of a strided tensor as blocks of rows of equal size, without
// calling a driver.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// The bytes from the first byte of a tensor's lowest element to the last byte of its highest one.
// first is relative to data().
struct byte_range {
  std::int64_t first = 0;
  std::int64_t size = 0;
};

byte_range range_of(tensor_view const& view) noexcept;

// Whether both tensors have no gaps, and have their elements in the same order in memory.
bool is_one_block(tensor_view const& source, tensor_view const& destination) noexcept;

// One copy of rows for each combination of the indices of outer. All sizes and steps are in bytes.
struct block_plan {
  std::int64_t width = 0;
  copy_dimension rows{1, 0, 0};
  copy_plan outer{};        // with a last dimension of extent 1, which for_each_row requires
  std::int64_t copies = 1;  // number of block copies
};

// The elements are not packed: packed elements can be copied by bytes only if is_one_block().
block_plan plan_blocks(tensor_view const& source, tensor_view const& destination) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/block_plan.ipp>
#endif

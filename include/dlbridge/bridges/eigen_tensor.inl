// The inline bodies of eigen_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/bridges/eigen_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Tensor>
description eigen_tensor_traits<Tensor>::describe(Tensor& t) noexcept {
  constexpr std::size_t rank = Tensor::NumIndices;
  std::int64_t extents[rank + 1] = {};
  std::int64_t strides[rank + 1] = {};
  for (unsigned i = 0; i < rank; ++i) {  // Tensor and TensorMap both accept unsigned
    extents[i] = t.dimension(i);
  }
  if (int{Tensor::Layout} == int{Eigen::RowMajor}) {
    fill_row_major(rank, extents, strides);
  } else {
    fill_column_major(rank, extents, strides);
  }
  return description::of(t.data(), dims::from(extents, rank), dims::from(strides, rank));
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

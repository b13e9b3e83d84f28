// The inline bodies of eigen_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/bridges/eigen_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Tensor>
inline description eigen_tensor_traits<Tensor>::describe(Tensor& t) noexcept {
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

template <class Plain, int Options, template <class> class Pointer>
inline auto view_traits<Eigen::TensorMap<Plain, Options, Pointer>>::view(tensor_view const& of)
    -> map {
  static_assert(std::is_same_v<extents, Eigen::DSizes<typename map::Index, map::NumIndices>>,
                "dlbridge: as<T> creates a TensorMap of Tensor, not of TensorFixedSize");
  requirement need = detail::requirement_of<element>(map::NumIndices, nullptr);
  need.order = int{map::Layout} == int{Eigen::RowMajor} ? layout::row_major : layout::column_major;
  if (map::IsAligned && EIGEN_MAX_ALIGN_BYTES > need.alignment) {
    need.alignment = EIGEN_MAX_ALIGN_BYTES;
  }
  require_view(of, need);
  detail::require_index_type<typename map::Index>(of);
  extents sizes;
  for (int i = 0; i < of.rank(); ++i) {
    sizes[static_cast<std::size_t>(i)] = static_cast<typename map::Index>(of.extent(i));
  }
  return map(detail::elements_of<element>(of), sizes);
}

DLBRIDGE_END_NAMESPACE

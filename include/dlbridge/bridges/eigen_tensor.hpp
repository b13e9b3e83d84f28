// array_traits and view_traits of Eigen's unsupported tensors: export Tensor, TensorFixedSize and
// TensorMap, and view a tensor as a TensorMap. They compile slower than eigen.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>

#include <unsupported/Eigen/CXX11/Tensor>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/bridges/eigen.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Tensor>
struct eigen_tensor_traits {
  static description describe(Tensor& t) noexcept;
};
}  // namespace detail

/// Exports a Tensor. Its elements are not copied.
template <class T, int Rank, int Options, class Index>
struct array_traits<Eigen::Tensor<T, Rank, Options, Index>>
    : detail::eigen_tensor_traits<Eigen::Tensor<T, Rank, Options, Index>> {};
/// Exports a TensorFixedSize, whose elements move with it into the tensor.
template <class T, class Extents, int Options, class Index>
struct array_traits<Eigen::TensorFixedSize<T, Extents, Options, Index>>
    : detail::eigen_tensor_traits<Eigen::TensorFixedSize<T, Extents, Options, Index>> {};
/// Exports the memory behind a TensorMap. A TensorMap of a const type is read-only.
/// @par Lifetime
/// The caller keeps the memory valid until the tensor is freed.
template <class Plain, int Options, template <class> class Pointer>
struct array_traits<Eigen::TensorMap<Plain, Options, Pointer>>
    : detail::eigen_tensor_traits<Eigen::TensorMap<Plain, Options, Pointer>> {
  static constexpr bool borrows = true;
};

/// as<Eigen::TensorMap<Eigen::Tensor<T, Rank>>>(view). The view must be compact in the order of the
/// type.
template <class Plain, int Options, template <class> class Pointer>
struct view_traits<Eigen::TensorMap<Plain, Options, Pointer>> {
  using map = Eigen::TensorMap<Plain, Options, Pointer>;
  using element = std::remove_pointer_t<typename map::StoragePointerType>;
  using extents = typename map::Dimensions;

  static map view(tensor_view const& of) {
    static_assert(std::is_same_v<extents, Eigen::DSizes<typename map::Index, map::NumIndices>>,
                  "dlbridge: as<T> creates a TensorMap of Tensor, not of TensorFixedSize");
    requirement need = detail::requirement_of<element>(map::NumIndices, nullptr);
    need.order =
        int{map::Layout} == int{Eigen::RowMajor} ? layout::row_major : layout::column_major;
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
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/eigen_tensor.inl>

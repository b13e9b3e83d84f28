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
  static constexpr bool borrows = true;  ///< The caller keeps the memory.
};

/// Lets as<Eigen::TensorMap<...>>(view) return a TensorMap of a view that is compact in its order.
template <class Plain, int Options, template <class> class Pointer>
struct view_traits<Eigen::TensorMap<Plain, Options, Pointer>> {
  using map = Eigen::TensorMap<Plain, Options, Pointer>;                    ///< The view type.
  using element = std::remove_pointer_t<typename map::StoragePointerType>;  ///< The element type.
  using extents = typename map::Dimensions;  ///< The type of its extents.

  static map view(tensor_view const& of);  ///< As as<T>.
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/eigen_tensor.inl>

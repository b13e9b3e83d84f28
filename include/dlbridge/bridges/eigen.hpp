// array_traits and view_traits of Eigen: export Matrix, Array, Map and Ref, and view a tensor as a
// Map.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Eigen/Core>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// float16.
template <>
struct dtype_traits<Eigen::half> {
  static constexpr dtype value{kDLFloat, 16};  ///< The dtype.
};
/// bfloat16.
template <>
struct dtype_traits<Eigen::bfloat16> {
  static constexpr dtype value{kDLBfloat, 16};  ///< The dtype.
};

namespace detail {
// Vectors at compile time have rank 1, all other arrays rank 2.
template <class Dense>
struct dense_traits {
  static description describe(Dense& m) noexcept;
};

// Constructs a Stride, an InnerStride or an OuterStride. A fixed stride of the type replaces the
// argument.
template <class Strides>
Strides strides_of(Eigen::Index outer, Eigen::Index inner) noexcept;
}  // namespace detail

/// Exports a Matrix. The elements are not copied, except those of a Matrix of fixed size, which lie
/// inside the object and move with it into the tensor.
template <class T, int Rows, int Columns, int Options, int MaxRows, int MaxColumns>
struct array_traits<Eigen::Matrix<T, Rows, Columns, Options, MaxRows, MaxColumns>>
    : detail::dense_traits<Eigen::Matrix<T, Rows, Columns, Options, MaxRows, MaxColumns>> {};
/// Exports an Array, in the same way as a Matrix.
template <class T, int Rows, int Columns, int Options, int MaxRows, int MaxColumns>
struct array_traits<Eigen::Array<T, Rows, Columns, Options, MaxRows, MaxColumns>>
    : detail::dense_traits<Eigen::Array<T, Rows, Columns, Options, MaxRows, MaxColumns>> {};

/// Exports the memory behind a Map. A Map of a const type is read-only.
/// @par Lifetime
/// The caller keeps the memory valid until the tensor is freed.
template <class Plain, int Options, class Strides>
struct array_traits<Eigen::Map<Plain, Options, Strides>>
    : detail::dense_traits<Eigen::Map<Plain, Options, Strides>> {
  static constexpr bool borrows = true;  ///< The caller keeps the memory.
};
/// Exports the memory behind a Ref, in the same way as that behind a Map. build refuses, with
/// bad_argument, a Ref that refers to a copy of its own, which does not move with the Ref.
template <class Plain, int Options, class Strides>
struct array_traits<Eigen::Ref<Plain, Options, Strides>> {
  static constexpr bool borrows = true;             ///< The caller keeps the memory.
  using ref = Eigen::Ref<Plain, Options, Strides>;  ///< The array type.
  static description describe(ref& r) noexcept;     ///< The memory behind a Ref.
};

/// Lets as<Eigen::Map<Plain, Options, Strides>>(view) return a Map. Dynamic strides may be
/// negative. Extents, strides and alignment that the type fixes must match the view.
template <class Plain, int Options, class Strides>
struct view_traits<Eigen::Map<Plain, Options, Strides>> {
  using map = Eigen::Map<Plain, Options, Strides>;  ///< The view type.
  /// The element type, const for a Map of a const type.
  using element =
      std::conditional_t<std::is_const_v<Plain>, typename map::Scalar const, typename map::Scalar>;
  static constexpr bool is_vector = map::IsVectorAtCompileTime;  ///< Whether it has rank 1.
  static_assert(int{map::RowsAtCompileTime} == int{map::MaxRowsAtCompileTime} &&
                    int{map::ColsAtCompileTime} == int{map::MaxColsAtCompileTime},
                "dlbridge: a Map of bounded dynamic size cannot be checked; leave out the bound");
  static_assert(Eigen::Dynamic == dynamic_extent, "dlbridge: Eigen has the same dynamic extent");

  static map view(tensor_view const& of);  ///< As as<T>.
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/eigen.inl>

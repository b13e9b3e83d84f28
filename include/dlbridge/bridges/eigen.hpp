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

template <>
struct dtype_traits<Eigen::half> {
  static constexpr dtype value{kDLFloat, 16};
};
template <>
struct dtype_traits<Eigen::bfloat16> {
  static constexpr dtype value{kDLBfloat, 16};
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
  static constexpr bool borrows = true;
};
/// Exports the memory behind a Ref, in the same way as that behind a Map. build refuses, with
/// bad_argument, a Ref that refers to a copy of its own, which does not move with the Ref.
template <class Plain, int Options, class Strides>
struct array_traits<Eigen::Ref<Plain, Options, Strides>> {
  static constexpr bool borrows = true;
  using ref = Eigen::Ref<Plain, Options, Strides>;
  static description describe(ref& r) noexcept;
};

/// as<Eigen::Map<Plain, Options, Strides>>(view). Dynamic strides may be negative. Extents, strides
/// and alignment that the type fixes must match the view.
template <class Plain, int Options, class Strides>
struct view_traits<Eigen::Map<Plain, Options, Strides>> {
  using map = Eigen::Map<Plain, Options, Strides>;
  using element =
      std::conditional_t<std::is_const_v<Plain>, typename map::Scalar const, typename map::Scalar>;
  static constexpr bool is_vector = map::IsVectorAtCompileTime;
  static_assert(int{map::RowsAtCompileTime} == int{map::MaxRowsAtCompileTime} &&
                    int{map::ColsAtCompileTime} == int{map::MaxColsAtCompileTime},
                "dlbridge: a Map of bounded dynamic size cannot be checked; leave out the bound");
  static_assert(Eigen::Dynamic == dynamic_extent, "dlbridge: Eigen has the same dynamic extent");

  static map view(tensor_view const& of) {
    std::int64_t const extents[] = {is_vector ? map::SizeAtCompileTime : map::RowsAtCompileTime,
                                    map::ColsAtCompileTime};
    requirement need = detail::requirement_of<element>(is_vector ? 1 : 2, extents);
    constexpr auto aligned = static_cast<std::size_t>(Options & Eigen::AlignedMask);
    need.alignment = aligned > need.alignment ? aligned : need.alignment;
    require_view(of, need);
    detail::require_index_type<Eigen::Index>(of);

    constexpr Eigen::Index fixed_outer = Strides::OuterStrideAtCompileTime;
    constexpr Eigen::Index fixed_inner = Strides::InnerStrideAtCompileTime;
    constexpr int inner_dimension = !is_vector && map::IsRowMajor ? 1 : 0;
    auto const step = [&of](int dimension, Eigen::Index otherwise) {
      bool const is_used = of.extent(dimension) > 1 && !of.empty();
      return is_used ? static_cast<Eigen::Index>(of.stride(dimension)) : otherwise;
    };
    Eigen::Index const least = fixed_inner > 0 ? fixed_inner : 1;
    Eigen::Index const inner = step(inner_dimension, least);
    auto const implied = detail::step_over(inner, of.extent(inner_dimension));
    Eigen::Index const next = fixed_outer > 0 ? fixed_outer : static_cast<Eigen::Index>(implied);
    Eigen::Index const outer = is_vector ? next : step(1 - inner_dimension, next);
    if ((fixed_inner != Eigen::Dynamic && inner != least) ||
        (fixed_outer != Eigen::Dynamic && outer != next)) {
      detail::raise_layout(of, need, ", in the strides of the Map");
    }
    auto const first = static_cast<Eigen::Index>(of.extent(0));
    Eigen::Index const rows = is_vector && map::RowsAtCompileTime == 1 ? 1 : first;
    Eigen::Index const columns = !is_vector ? static_cast<Eigen::Index>(of.extent(1))
                                            : (map::RowsAtCompileTime == 1 ? first : 1);
    return map(detail::elements_of<element>(of), rows, columns,
               detail::strides_of<Strides>(outer, inner));
  }
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/eigen.inl>

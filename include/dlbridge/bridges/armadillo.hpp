// array_traits and view_traits of Armadillo: export and view Mat, Col, Row and Cube, which are all
// column-major.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <armadillo>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// Exports a Mat with rank 2. Its elements are not copied, except that up to 16 elements (64 in a
/// Cube) lie inside the object and move with it into the tensor. Matrices and cubes of fixed size
/// have no traits, because a partial specialisation cannot name their types; move them into a Mat
/// or a Cube.
template <class T>
struct array_traits<arma::Mat<T>> {
  /// The memory of a Mat.
  static description describe(arma::Mat<T>& m) noexcept {
    return description::of(m.memptr(), {m.n_rows, m.n_cols}, {arma::uword{1}, m.n_rows});
  }
};
/// Exports a Col with rank 1.
template <class T>
struct array_traits<arma::Col<T>> {
  /// The memory of a Col.
  static description describe(arma::Col<T>& c) noexcept {
    return description::of(c.memptr(), {c.n_elem});
  }
};
/// Exports a Row with rank 1.
template <class T>
struct array_traits<arma::Row<T>> {
  /// The memory of a Row.
  static description describe(arma::Row<T>& r) noexcept {
    return description::of(r.memptr(), {r.n_elem});
  }
};
/// Exports a Cube with rank 3.
template <class T>
struct array_traits<arma::Cube<T>> {
  static description describe(arma::Cube<T>& c) noexcept;  ///< The memory of a Cube.
};

/// A constant Armadillo array on memory that it does not own, which as<T const> returns: Armadillo
/// has no type of its own for read-only memory.
/// @par Lifetime
/// As the tensor behind the view. A copy of the array inside owns its elements.
template <class Array>
class read_only {
 public:
  /// Constructs the array from the arguments.
  template <class... Argument>
  explicit read_only(std::in_place_t, Argument... argument) : array_(argument...) {}
  read_only(read_only const&) = delete;
  read_only& operator=(read_only const&) = delete;

  Array const& operator*() const& noexcept { return array_; }   ///< The array.
  Array const* operator->() const noexcept { return &array_; }  ///< The array.
  Array const& operator*() const&& = delete;                    ///< dangles: keep it in a variable

 private:
  Array const array_;
};

namespace detail {
// The array is strict: Armadillo reports an error where an operation would change its size.
template <class Result, class Element, std::size_t... Is, class... How>
Result arma_view(tensor_view const& of, std::index_sequence<Is...>, How... how);

template <class Array, std::size_t Rank>
struct arma_view_traits {
  static Array view(tensor_view const& of) {
    return arma_view<Array, typename Array::elem_type>(of, std::make_index_sequence<Rank>{});
  }
};
template <class Array, std::size_t Rank>
struct arma_view_traits<Array const, Rank> {
  static read_only<Array> view(tensor_view const& of);
};
}  // namespace detail

/// as<arma::Mat<T>>(view) returns a Mat on writable memory, and as<arma::Mat<T> const>(view) a
/// read_only<arma::Mat<T>>. The same holds for Col, Row and Cube. The view must be column-major.
template <class T>
struct view_traits<arma::Mat<T>> : detail::arma_view_traits<arma::Mat<T>, 2> {};
template <class T>
struct view_traits<arma::Mat<T> const> : detail::arma_view_traits<arma::Mat<T> const, 2> {};
template <class T>
struct view_traits<arma::Col<T>> : detail::arma_view_traits<arma::Col<T>, 1> {};
template <class T>
struct view_traits<arma::Col<T> const> : detail::arma_view_traits<arma::Col<T> const, 1> {};
template <class T>
struct view_traits<arma::Row<T>> : detail::arma_view_traits<arma::Row<T>, 1> {};
template <class T>
struct view_traits<arma::Row<T> const> : detail::arma_view_traits<arma::Row<T> const, 1> {};
template <class T>
struct view_traits<arma::Cube<T>> : detail::arma_view_traits<arma::Cube<T>, 3> {};
template <class T>
struct view_traits<arma::Cube<T> const> : detail::arma_view_traits<arma::Cube<T> const, 3> {};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/armadillo.inl>

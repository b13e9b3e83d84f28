// The inline bodies of armadillo.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/bridges/armadillo.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class T>
inline description array_traits<arma::Cube<T>>::describe(arma::Cube<T>& c) noexcept {
  return description::of(c.memptr(), {c.n_rows, c.n_cols, c.n_slices},
                         {arma::uword{1}, c.n_rows, c.n_elem_slice});
}

namespace detail {
template <class Result, class Element, std::size_t... Is, class... How>
Result arma_view(tensor_view const& of, std::index_sequence<Is...>, How... how) {
  requirement need = requirement_of<Element>(sizeof...(Is), nullptr);
  need.order = layout::column_major;
  require_view(of, need);
  require_index_type<arma::uword>(of);
  auto* const elements = const_cast<std::remove_const_t<Element>*>(elements_of<Element>(of));
  return Result(how..., elements, static_cast<arma::uword>(of.extent(static_cast<int>(Is)))...,
                false, true);
}

template <class Array, std::size_t Rank>
inline read_only<Array> arma_view_traits<Array const, Rank>::view(tensor_view const& of) {
  return arma_view<read_only<Array>, typename Array::elem_type const>(
      of, std::make_index_sequence<Rank>{}, std::in_place);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

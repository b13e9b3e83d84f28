// array_traits and view_traits of xtensor: export xarray, xtensor, xtensor_fixed and adaptors, and
// view a tensor as an adaptor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <xtensor/xarray.hpp>
#include <xtensor/xbuffer_adaptor.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xtensor.hpp>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Array>
struct xtensor_traits {
  static description describe(Array& a) noexcept;
};

template <class Buffer>
struct is_borrowed_buffer : std::false_type {};
template <class Pointer, class Allocator>
struct is_borrowed_buffer<xt::xbuffer_adaptor<Pointer, xt::no_ownership, Allocator>>
    : std::true_type {};

template <class T>
using borrowed_buffer =
    xt::xbuffer_adaptor<T*, xt::no_ownership, std::allocator<std::remove_const_t<T>>>;

// Creates an adaptor. With a dynamic layout it accepts all strides that are not negative, otherwise
// compact memory in the layout of the type. An adaptor that is written to needs compact memory: an
// assignment writes consecutive elements, whatever the strides.
template <class Adaptor, class Buffer, xt::layout_type Layout>
Adaptor adapt_view(tensor_view const& of, std::int32_t rank);
}  // namespace detail

/// An xtensor array of any rank on memory that it does not own, for as<T>.
/// @tparam T The element type. T const accepts read-only memory.
/// @tparam Layout With row_major and column_major the memory must be compact. With dynamic, no
///   stride of a T const may be negative, and memory that is written to must be row-major.
template <class T, xt::layout_type Layout = xt::layout_type::dynamic>
using xarray_view = xt::xarray_adaptor<detail::borrowed_buffer<T>, Layout>;
/// An xtensor array of rank N, otherwise as xarray_view.
template <class T, std::size_t N, xt::layout_type Layout = xt::layout_type::dynamic>
using xtensor_view = xt::xtensor_adaptor<detail::borrowed_buffer<T>, N, Layout>;

/// Exports an xarray, without copying its elements.
template <class Buffer, xt::layout_type Layout, class Shape, class Tag>
struct array_traits<xt::xarray_container<Buffer, Layout, Shape, Tag>>
    : detail::xtensor_traits<xt::xarray_container<Buffer, Layout, Shape, Tag>> {};
/// Exports an xtensor, without copying its elements.
template <class Buffer, std::size_t N, xt::layout_type Layout, class Tag>
struct array_traits<xt::xtensor_container<Buffer, N, Layout, Tag>>
    : detail::xtensor_traits<xt::xtensor_container<Buffer, N, Layout, Tag>> {};
/// Exports an array of fixed shape, whose elements move with it into the tensor.
template <class T, class Shape, xt::layout_type Layout, bool Sharable, class Tag>
struct array_traits<xt::xfixed_container<T, Shape, Layout, Sharable, Tag>>
    : detail::xtensor_traits<xt::xfixed_container<T, Shape, Layout, Sharable, Tag>> {};
/// Exports an adaptor of any rank. One on a const container or on a pointer to const is read-only.
/// @par Ownership
/// The tensor owns the buffer if the adaptor does.
/// @par Lifetime
/// If the adaptor does not own the memory, the caller keeps it valid until the tensor is freed.
template <class Buffer, xt::layout_type Layout, class Shape, class Tag>
struct array_traits<xt::xarray_adaptor<Buffer, Layout, Shape, Tag>>
    : detail::xtensor_traits<xt::xarray_adaptor<Buffer, Layout, Shape, Tag>> {
  static constexpr bool borrows = true;  ///< The adaptor may not own the memory.
};
/// Exports an adaptor of rank N, in the same way as one of any rank.
template <class Buffer, std::size_t N, xt::layout_type Layout, class Tag>
struct array_traits<xt::xtensor_adaptor<Buffer, N, Layout, Tag>>
    : detail::xtensor_traits<xt::xtensor_adaptor<Buffer, N, Layout, Tag>> {
  static constexpr bool borrows = true;  ///< The adaptor may not own the memory.
};

/// Lets as<dlbridge::xarray_view<T>>(view) return an adaptor.
template <class Buffer, xt::layout_type Layout, class Shape, class Tag>
struct view_traits<xt::xarray_adaptor<Buffer, Layout, Shape, Tag>> {
  using adaptor = xt::xarray_adaptor<Buffer, Layout, Shape, Tag>;  ///< The view type.
  /// As as<T>.
  static adaptor view(tensor_view const& of) {
    return detail::adapt_view<adaptor, Buffer, Layout>(of, dynamic_extent);
  }
};
/// Lets as<dlbridge::xtensor_view<T, N>>(view) return an adaptor.
template <class Buffer, std::size_t N, xt::layout_type Layout, class Tag>
struct view_traits<xt::xtensor_adaptor<Buffer, N, Layout, Tag>> {
  using adaptor = xt::xtensor_adaptor<Buffer, N, Layout, Tag>;  ///< The view type.
  /// As as<T>.
  static adaptor view(tensor_view const& of) {
    return detail::adapt_view<adaptor, Buffer, Layout>(of, static_cast<std::int32_t>(N));
  }
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/xtensor.inl>

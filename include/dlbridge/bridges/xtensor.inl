// The inline bodies of xtensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/bridges/xtensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// data() of an adaptor on a const container compiles only where the adaptor is const as well.
template <class Array>
auto* first_of(Array& a) noexcept {
  if constexpr (std::is_const_v<std::remove_reference_t<decltype(a.storage())>>) {
    return std::as_const(a).data();
  } else {
    return a.data();
  }
}

template <class Array>
inline description xtensor_traits<Array>::describe(Array& a) noexcept {
  return description::of(first_of(a) + a.data_offset(), dims::from(a.shape().data(), a.dimension()),
                         dims::from(a.strides().data(), a.dimension()));
}

template <class Adaptor, class Buffer, xt::layout_type Layout>
Adaptor adapt_view(tensor_view const& of, std::int32_t rank) {
  static_assert(
      is_borrowed_buffer<Buffer>::value,
      "dlbridge: as<T> creates adaptors that own nothing, such as dlbridge::xarray_view<T>");
  using element = std::remove_pointer_t<std::remove_reference_t<typename Buffer::pointer>>;
  requirement need = requirement_of<element>(rank, nullptr);
  constexpr bool is_written = !std::is_const_v<element>;
  need.order = Layout == xt::layout_type::column_major              ? layout::column_major
               : Layout == xt::layout_type::row_major || is_written ? layout::row_major
                                                                    : layout::strided;
  require_view(of, need);
  auto const size = static_cast<std::size_t>(of.rank());
  auto shape = xtl::make_sequence<typename Adaptor::shape_type>(size, 0);
  auto strides = xtl::make_sequence<typename Adaptor::strides_type>(size, 0);
  bool is_forward = true;
  for (std::size_t i = 0; i < size; ++i) {
    shape[i] = static_cast<std::size_t>(of.extent(static_cast<int>(i)));
    // xtensor requires a stride of 0 for dimensions of extent 1.
    strides[i] = shape[i] > 1 ? static_cast<std::ptrdiff_t>(of.stride(static_cast<int>(i))) : 0;
    is_forward = is_forward && strides[i] >= 0;
  }
  Buffer elements(elements_of<element>(of), static_cast<std::size_t>(of.count()));
  if (of.is_row_major() && Layout != xt::layout_type::column_major) {
    return Adaptor(std::move(elements), shape, xt::layout_type::row_major);
  }
  if (of.is_column_major()) {
    return Adaptor(std::move(elements), shape, xt::layout_type::column_major);
  }
  if (!is_forward) {
    raise_layout(of, need, ", strides of 0 and above");
  }
  return Adaptor(std::move(elements), shape, strides);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

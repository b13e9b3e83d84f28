// The inline bodies of kokkos.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/bridges/kokkos.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class Data, class... Properties>
inline description array_traits<Kokkos::View<Data, Properties...>>::describe(array& v) noexcept {
  std::int64_t extents[facts::rank + 1] = {};
  std::int64_t strides[facts::rank + 1] = {};
  for (int i = 0; i < facts::rank; ++i) {
    extents[i] = static_cast<std::int64_t>(v.extent(i));
    strides[i] = static_cast<std::int64_t>(v.stride(i));
  }
  description d =
      description::of(v.data(), dims::from(extents, facts::rank), dims::from(strides, facts::rank));
  if constexpr (facts::device_type != kDLCPU) {
    d.device =
        device(facts::device_type, detail::ordinal_of<typename array::execution_space>::get());
  }
  return d;
}

template <class Data, class... Properties>
inline auto view_traits<Kokkos::View<Data, Properties...>>::view(tensor_view const& of) -> array {
  std::int64_t extents[facts::rank + 1] = {};
  for (int i = 0; i < facts::rank; ++i) {
    extents[i] = i < facts::dynamic
                     ? dynamic_extent
                     : static_cast<std::int64_t>(array::static_extent(static_cast<unsigned>(i)));
  }
  requirement need = detail::requirement_of<typename facts::element>(facts::rank, extents);
  need.order = is_right ? layout::row_major : is_left ? layout::column_major : layout::strided;
  need.where.type = facts::device_type == kDLCPU ? device_filter::host : facts::device_type;
  if (array::traits::memory_traits::is_aligned) {
    need.alignment = Kokkos::Impl::MEMORY_ALIGNMENT;
  }
  require_view(of, need);
  typename facts::layout shape;
  for (int i = 0; i < (is_strided ? facts::rank : facts::dynamic); ++i) {
    shape.dimension[i] = static_cast<std::size_t>(of.extent(i));
  }
  if constexpr (is_strided) {
    bool const empty = of.empty();
    for (int i = 0; i < facts::rank; ++i) {
      bool const is_used = !empty && of.extent(i) > 1;
      if (is_used && of.stride(i) < 0) {
        detail::raise_layout(of, need, ", strides of 0 and above");
      }
      shape.stride[i] = is_used ? static_cast<std::size_t>(of.stride(i)) : 1;
    }
  }
  return array(detail::elements_of<typename facts::element>(of), shape);
}

DLBRIDGE_END_NAMESPACE

// The inline bodies of kokkos.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/bridges/kokkos.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class Data, class... Properties>
description array_traits<Kokkos::View<Data, Properties...>>::describe(array& v) noexcept {
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

DLBRIDGE_END_NAMESPACE

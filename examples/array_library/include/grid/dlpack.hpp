// Makes grid::array a DLPack producer and consumer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>

#include <dlbridge/dlbridge.hpp>
#include <grid/array.hpp>

// [traits]
template <class T>
struct dlbridge::array_traits<grid::array<T>> {
  static description describe(grid::array<T>& a) noexcept {
    return description::of(a.data(), dims::from(a.shape().data(), a.shape().size()),
                           dims::from(a.strides().data(), a.strides().size()));
  }

  // No copy: the arrays on this memory keep the tensor alive.
  static grid::array<T> adopt(managed_tensor&& m) {
    tensor_span<T> const source(m);  // throws unless it is writable T in host memory
    grid::sizes shape, strides;
    for (int i = 0; i < source.rank(); ++i) {
      shape.push_back(source.extent(i));
      strides.push_back(source.stride(i));
    }
    auto const owner = std::make_shared<managed_tensor>(std::move(m));
    return {std::shared_ptr<T>(owner, source.data()), std::move(shape), std::move(strides)};
  }
};
// [/traits]

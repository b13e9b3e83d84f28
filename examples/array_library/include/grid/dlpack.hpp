// What makes grid::array a DLPack producer and consumer: this file, and nothing else.
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

  // No copy: the tensor is kept for as long as any array looks at its memory.
  static grid::array<T> adopt(managed_tensor&& m) {
    tensor_span<T> const seen(m.view());  // refuses what is not writable T in host memory
    grid::sizes shape, strides;
    for (int i = 0; i < seen.rank(); ++i) {
      shape.push_back(seen.extent(i));
      strides.push_back(seen.stride(i));
    }
    auto const owner = std::make_shared<managed_tensor>(std::move(m));
    return {std::shared_ptr<T>(owner, seen.data()), std::move(shape), std::move(strides)};
  }
};
// [/traits]

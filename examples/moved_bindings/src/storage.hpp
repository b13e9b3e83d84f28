// The array of an inference library, which both bindings exchange: dtype and rank at run time, host
// memory. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace inference {

enum class element { float32, float16, bfloat16, int8, int16, int32 };

inline std::int64_t bytes_of(element e) {
  return e == element::float32 || e == element::int32 ? 4 : e == element::int8 ? 1 : 2;
}

struct storage {
  element type = element::float32;
  std::vector<std::int64_t> shape;  // row-major
  void* data = nullptr;
  std::shared_ptr<void> owner;  // null for memory of others

  /// Zeros of the same shape, as the numerics are a stub.
  storage to(element other) const {
    std::int64_t const count =
        std::accumulate(shape.begin(), shape.end(), bytes_of(other), std::multiplies<>());
    auto const memory = std::make_shared<std::vector<char>>(static_cast<std::size_t>(count));
    return {other, shape, memory->data(), memory};
  }
};

}  // namespace inference

// The functions and the class that the three extensions bind. They know nothing of the binding
// library.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace filters {

using gray = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using rgb = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent, 3>;
using image = dlbridge::argument<std::uint8_t const, rgb>;

// [core]
inline auto luma(image pixels) {  // any library's tensor
  auto out = pixels.empty_like<float>({pixels.extent(0), pixels.extent(1)});
  for (std::int64_t i = 0; i < pixels.extent(0); ++i) {
    for (std::int64_t j = 0; j < pixels.extent(1); ++j) {
      out(i, j) = 0.299F * pixels(i, j, 0) + 0.587F * pixels(i, j, 1) + 0.114F * pixels(i, j, 2);
    }
  }
  return out;  // an object of that library
}

inline void scale(dlbridge::tensor_span<float, gray> pixels, float factor) {
  for (std::int64_t i = 0; i < pixels.extent(0); ++i) {
    for (std::int64_t j = 0; j < pixels.extent(1); ++j) {
      pixels(i, j) *= factor;
    }
  }
}
// [/core]

class canvas {  // an array of the core, which consumers import
 public:
  canvas(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), pixels_(rows * columns) {}
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* data() { return pixels_.data(); }

 private:
  std::size_t rows_, columns_;
  std::vector<float> pixels_;
};

}  // namespace filters

template <>
struct dlbridge::array_traits<filters::canvas> {
  static description describe(filters::canvas& c) noexcept {
    return description::of(c.data(), {c.rows(), c.columns()});
  }
};

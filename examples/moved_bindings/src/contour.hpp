// What the contour module shows of its polygons, which both bindings use. Its numerics are a stub.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

namespace contour {

enum class fill { codes, chunk_codes, chunk_offsets };

/// One polygon of four points.
struct polygon {
  explicit polygon(double value) : points{{{value, 0}, {value, 1}, {value, 2}, {value, 3}}} {}

  std::array<std::array<double, 2>, 4> points;
  std::array<std::uint8_t, 4> codes{1, 2, 2, 79};
  std::array<std::uint32_t, 2> offsets{0, 4};
};

}  // namespace contour

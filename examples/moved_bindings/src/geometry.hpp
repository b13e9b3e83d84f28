// The tree of the geometry module, which both bindings use. Its numerics are a stub.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace geometry {

/// A tree of boxes, each of two points.
template <class T>
struct tree {
  tree(std::size_t count, double padding) : boxes(6 * count, static_cast<T>(padding)) {}

  std::array<std::array<T, 3>, 2> box(std::size_t i) const {
    T const* const b = boxes.data() + 6 * i;
    return {{{b[0], b[1], b[2]}, {b[3], b[4], b[5]}}};
  }

  std::vector<T> boxes;
};

/// The difference of the sums of n and of m points.
template <class T>
std::array<T, 3> distance(T const* p, std::size_t n, T const* q, std::size_t m) {
  std::array<T, 3> result{};
  for (std::size_t i = 0; i < 3 * n; ++i) {
    result[i % 3] += p[i];
  }
  for (std::size_t i = 0; i < 3 * m; ++i) {
    result[i % 3] -= q[i];
  }
  return result;
}

}  // namespace geometry

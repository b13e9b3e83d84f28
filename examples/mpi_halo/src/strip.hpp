// strip: the rows of a plate that one process computes, with one row of each neighbour above and
// below. It is independent of DLPack, MPI and Python, and counts its objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace plate {

/// Neighbouring rows of a strip, which must outlive them.
struct rows {
  double* first;
  std::ptrdiff_t count;
  std::ptrdiff_t columns;
};

class strip {
 public:
  /// Zeros: `count` rows, and one more at each end for the neighbours.
  strip(std::ptrdiff_t count, std::ptrdiff_t columns)
      : count_(count + 2), columns_(columns), points_(points_of(count, columns)) {
    ++created;
    ++alive;
  }
  strip(strip const&) = delete;
  strip& operator=(strip const&) = delete;
  ~strip() { --alive; }

  /// Rows `first` to `end`, exclusive; row 0 is that of the neighbour above.
  rows between(std::ptrdiff_t first, std::ptrdiff_t end) {
    if (first < 0 || end < first || end > count_) {
      throw std::out_of_range("no such rows");
    }
    return {points_.data() + first * columns_, end - first, columns_};
  }
  rows all() { return between(0, count_); }

  static inline long created = 0;  // objects so far
  static inline long alive = 0;    // objects now

 private:
  static std::size_t points_of(std::ptrdiff_t count, std::ptrdiff_t columns) {
    if (count < 1 || columns < 1) {
      throw std::invalid_argument("a strip has a row and a column at least");
    }
    return static_cast<std::size_t>((count + 2) * columns);
  }

  std::ptrdiff_t count_;
  std::ptrdiff_t columns_;
  std::vector<double> points_;
};

}  // namespace plate

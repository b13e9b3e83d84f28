// for_each_index: calls a function for each index of a shape, in row-major order.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// Calls visit(index) with a pointer to rank numbers, of which the last one changes fastest.
template <class Visit>
void for_each_index(int rank, std::int64_t const* shape, Visit visit) {
  std::int64_t index[64] = {};
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return;
    }
  }
  for (;;) {
    visit(static_cast<std::int64_t const*>(index));
    int i = rank - 1;
    while (i >= 0 && ++index[i] == shape[i]) {
      index[i--] = 0;
    }
    if (i < 0) {
      return;
    }
  }
}

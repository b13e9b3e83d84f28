// SPDX-License-Identifier: BSD-3-Clause
// The Euclidean norm of each row.
#include "norms.hpp"

#include <dlbridge/pybind11.hpp>

#include <cmath>
#include <cstdint>

using matrix = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;

static auto norms(dlbridge::argument<float const, matrix> rows) {
  auto out = rows.empty_like<float>({rows.extent(0)});
  for (std::int64_t i = 0; i < rows.extent(0); ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < rows.extent(1); ++j) {
      sum += rows(i, j) * rows(i, j);
    }
    out(i) = std::sqrt(sum);
  }
  return out;
}

void bind_norms(pybind11::module_& m) { dlbridge::def(m, "norms", norms, pybind11::arg("rows")); }

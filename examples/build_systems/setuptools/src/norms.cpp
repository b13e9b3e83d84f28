// SPDX-License-Identifier: BSD-3-Clause
// [source]
#include <dlbridge/pybind11.hpp>

#include <cmath>
#include <cstdint>

using matrix = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;

// The Euclidean norm of each row.
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

PYBIND11_MODULE(norms, m) {
  dlbridge::init(m);
  dlbridge::def(m, "norms", norms, pybind11::arg("rows"));
}
// [/source]

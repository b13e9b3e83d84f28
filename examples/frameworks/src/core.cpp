// SPDX-License-Identifier: BSD-3-Clause
// The soft threshold and its derivative, for arrays of any library.
#include <algorithm>
#include <cmath>
#include <cstdint>

// [functions]
#include <dlbridge/pybind11.hpp>

namespace py = pybind11;
using values = dlbridge::argument<float const, dlbridge::shape<dlbridge::named<'n'>>>;

// Moves each value towards 0, by level at most.
auto soft_threshold(values x, float level) {
  auto out = x.empty_like();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    out(i) = std::copysign(std::max(std::abs(x(i)) - level, 0.0F), x(i));
  }
  return out;
}

// The derivative at x, times slope: 0 where the result is 0, and otherwise 1.
auto soft_threshold_gradient(values x, values slope, float level) {
  auto out = x.empty_like();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    out(i) = std::abs(x(i)) > level ? slope(i) : 0.0F;
  }
  return out;
}

PYBIND11_MODULE(_core, m) {
  dlbridge::init(m);
  dlbridge::def(m, "soft_threshold", soft_threshold, py::arg("x"), py::arg("level"));
  dlbridge::def(m, "soft_threshold_gradient", soft_threshold_gradient, py::arg("x"),
                py::arg("slope"), py::arg("level"));
}
// [/functions]

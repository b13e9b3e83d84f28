// SPDX-License-Identifier: BSD-3-Clause
// The same extension with dlbridge.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <dlbridge/pybind11.hpp>

namespace py = pybind11;

using matrix = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;

namespace {

// [mean]
double mean(dlbridge::tensor_span<float const, matrix> x) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      sum += static_cast<double>(x(i, j));
    }
  }
  return sum / static_cast<double>(x.count());
}
// [/mean]

void scale(dlbridge::tensor_span<float, matrix> x, float factor) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      x(i, j) *= factor;
    }
  }
}

// [normalized]
auto normalized(dlbridge::argument<float const, matrix> x) {
  float largest = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      largest = std::max(largest, std::abs(x(i, j)));
    }
  }
  if (largest == 0) {
    throw py::value_error("a matrix of zeros cannot be normalized");
  }
  auto out = x.empty_like();
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      out(i, j) = x(i, j) / largest;
    }
  }
  return out;
}
// [/normalized]

}  // namespace

// [module]
PYBIND11_MODULE(after, m) {
  dlbridge::init(m);
  dlbridge::def(m, "mean", mean, py::arg("x"));
  dlbridge::def(m, "scale", scale, py::arg("x"), py::arg("factor"));
  dlbridge::def(m, "normalized", normalized, py::arg("x"));
}
// [/module]

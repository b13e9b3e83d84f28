// SPDX-License-Identifier: BSD-3-Clause
// The module, and its function that multiplies in place.
#include <dlbridge/pybind11.hpp>

#include <cstdint>

#include "norms.hpp"

static void scale(dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent>> values,
                  float factor) {
  for (std::int64_t i = 0; i < values.extent(0); ++i) {
    values(i) *= factor;
  }
}

PYBIND11_MODULE(two_units, m) {
  dlbridge::init(m);
  dlbridge::def(m, "scale", scale, pybind11::arg("values"), pybind11::arg("factor"));
  bind_norms(m);
}

// SPDX-License-Identifier: BSD-3-Clause
// The step bound with dlbridge, by def and by def_fast.
#include <dlbridge/pybind11.hpp>

#include "momentum.hpp"

namespace py = pybind11;

using vector = dlbridge::shape<dlbridge::named<'n'>>;
using writable = dlbridge::tensor_span<float, vector, dlbridge::row_major>;
using readable = dlbridge::tensor_span<float const, vector, dlbridge::row_major>;

// Refuses other dtypes, ranks, layouts and devices, read-only memory, and vectors of other lengths.
static void step(writable weights, readable gradient, writable velocity, float rate,
                 float momentum) {
  momentum_step(weights.data(), gradient.data(), velocity.data(), weights.count(), rate, momentum);
}

PYBIND11_MODULE(with_dlbridge, m) {
  dlbridge::init(m);
  dlbridge::def(m, "step", step, py::arg("weights"), py::arg("gradient"), py::arg("velocity"),
                py::arg("rate"), py::arg("momentum"));
  dlbridge::def_fast<&step>(m, "step_fast",
                            {"weights", "gradient", "velocity", "rate", "momentum"});
}

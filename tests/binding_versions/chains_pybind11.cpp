// Chains of overloads of one version of pybind11: see chains.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlbridge/pybind11.hpp>

#include "chains.hpp"

namespace py = pybind11;

PYBIND11_MODULE(MODULE_NAME, m) {
  dlbridge::init(m);
  chains::add(
      [&](char const* name, auto function) { dlbridge::def(m, name, function, py::arg("x")); },
      [&](char const* name, auto function) { m.def(name, function, py::arg("x")); });
}

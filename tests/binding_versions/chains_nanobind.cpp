// Chains of overloads of one version of nanobind: see chains.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <dlbridge/nanobind.hpp>

#include "chains.hpp"

namespace nb = nanobind;

NB_MODULE(MODULE_NAME, m) {
  dlbridge::init(m);
  chains::add(
      [&](char const* name, auto function) { dlbridge::def(m, name, function, nb::arg("x")); },
      [&](char const* name, auto function) { m.def(name, function, nb::arg("x")); });
}

// SPDX-License-Identifier: BSD-3-Clause
// The extension on the first screen of README.md.
// [all]
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python/call/vectorize.hpp>

float fahrenheit(float celsius) { return celsius * 9 / 5 + 32; }

PYBIND11_MODULE(degrees, m) {
  dlbridge::init(m);
  dlbridge::def(m, "fahrenheit", dlbridge::vectorize(fahrenheit), pybind11::arg("celsius"));
}
// [/all]

// SPDX-License-Identifier: BSD-3-Clause
// A function of numbers, vectorised by dlbridge and by pybind11.
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python/call/vectorize.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

PYBIND11_MODULE(vectorized_dlbridge, m) {
  dlbridge::init(m);
  auto const product = [](double x, double y) { return x * y; };
  dlbridge::def(m, "product", dlbridge::vectorize(product));
  m.def("py_product", pybind11::vectorize(product));
}

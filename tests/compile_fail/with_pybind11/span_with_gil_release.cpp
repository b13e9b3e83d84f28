// SPDX-License-Identifier: BSD-3-Clause
// A span is valid only while the thread holds the GIL, which the guard of dlbridge releases too.
// lines: 80
// says: a tensor_span is borrowed while the GIL is held, and this call releases
#include <dlbridge/pybind11.hpp>

namespace py = pybind11;
#ifdef WRONG
using parameter = dlbridge::tensor_span<float const>;
#else
using parameter = dlbridge::tensor<float const>;
#endif

PYBIND11_MODULE(bad, m) {
  dlbridge::def(
      m, "count", [](parameter const& x) { return x.count(); },
      py::call_guard<dlbridge::python::gil_release>());
}

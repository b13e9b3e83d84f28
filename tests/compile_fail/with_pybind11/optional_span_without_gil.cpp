// SPDX-License-Identifier: BSD-3-Clause
// An optional span is borrowed as well, so that the call cannot release the GIL.
// lines: 80
// says: a tensor_span is borrowed while the GIL is held, and this call releases
#include <dlbridge/pybind11.hpp>

namespace py = pybind11;
#ifdef WRONG
using parameter = dlbridge::tensor_span<float const>;
#else
using parameter = dlbridge::argument<float const>;
#endif

PYBIND11_MODULE(bad, m) {
  dlbridge::def(
      m, "has_value", [](std::optional<parameter> x) { return x.has_value(); },
      py::call_guard<py::gil_scoped_release>());
}

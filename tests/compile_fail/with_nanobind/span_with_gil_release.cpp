// SPDX-License-Identifier: BSD-3-Clause
// A span is valid only while the thread holds the GIL, which the guard of dlbridge releases too.
// lines: 80
// says: a tensor_span is borrowed while the GIL is held, and this call releases
#include <dlbridge/nanobind.hpp>

namespace nb = nanobind;
#ifdef WRONG
using parameter = dlbridge::tensor_span<float const>;
#else
using parameter = dlbridge::tensor<float const>;
#endif

NB_MODULE(bad, m) {
  dlbridge::def(
      m, "count", [](parameter const& x) { return x.count(); },
      nb::call_guard<dlbridge::python::gil_release>());
}

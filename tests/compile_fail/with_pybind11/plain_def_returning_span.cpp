// SPDX-License-Identifier: BSD-3-Clause
// The caster of plain pybind11 refuses to return a span with the same message.
// lines: 80
// says: a tensor_span that is returned would outlive its memory
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  m.def("same", [](dlbridge::tensor_span<float> x) { return x; });
#else
  m.def("same", [](dlbridge::tensor<float> x) { return x; });
#endif
}

// SPDX-License-Identifier: BSD-3-Clause
// def refuses to return a span, which does not own its memory.
// lines: 80
// says: a tensor_span that is returned would outlive its memory
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def(m, "same", [](dlbridge::tensor_span<float> x) { return x; });
#else
  dlbridge::def(m, "same", [](dlbridge::tensor<float> x) { return x; });
#endif
}

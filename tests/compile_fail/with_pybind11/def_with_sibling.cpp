// SPDX-License-Identifier: BSD-3-Clause
// def adds the function to those of its name, and pybind11's record of a sibling is incomplete.
// lines: 80
// says: def finds the other overloads of a name itself. Leave py::sibling out
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using extra = pybind11::sibling;
#else
using extra = pybind11::scope;
#endif

PYBIND11_MODULE(bad, m) {
  dlbridge::def(m, "count", [](dlbridge::tensor_span<float> x) { return x.count(); }, extra(m));
}

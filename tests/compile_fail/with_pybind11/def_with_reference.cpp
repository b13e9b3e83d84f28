// SPDX-License-Identifier: BSD-3-Clause
// A tensor parameter is made for the call: no caller has an object that a reference could change.
// lines: 80
// says: a tensor parameter is no reference to a non-const object
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using parameter = dlbridge::tensor_span<float>&;
#else
using parameter = dlbridge::tensor_span<float>;
#endif

PYBIND11_MODULE(bad, m) {
  dlbridge::def(m, "count", [](parameter x) { return x.count(); });
}

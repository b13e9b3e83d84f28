// SPDX-License-Identifier: BSD-3-Clause
// The caller has no C++ tensor that a non-const reference could modify.
// lines: 80
// says: take an argument by value or by const&
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
double first(dlbridge::tensor<float, dlbridge::shape<2>>& x) { return static_cast<double>(x(0)); }
#else
double first(dlbridge::tensor<float, dlbridge::shape<2>> const& x) {
  return static_cast<double>(x(0));
}
#endif

PYBIND11_MODULE(bad, m) { dlbridge::def_fast<&first>(m, "first"); }

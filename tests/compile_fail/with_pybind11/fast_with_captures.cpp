// SPDX-License-Identifier: BSD-3-Clause
// A fast function has no memory for the captures of a lambda.
// lines: 80
// says: def_fast takes functions and lambdas that capture nothing
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
  double factor = 2;
#ifdef WRONG
  dlbridge::def_fast(m, "scaled", [factor](double x) { return factor * x; });
#else
  dlbridge::def(m, "scaled", [factor](double x) { return factor * x; });
#endif
}

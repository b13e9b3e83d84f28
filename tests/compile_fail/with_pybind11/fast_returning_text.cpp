// SPDX-License-Identifier: BSD-3-Clause
// A fast function returns a tensor, a container of tensors, a number or nothing.
// lines: 80
// says: def_fast returns nothing, a number, a tensor or a container of
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def_fast(m, "name", [](int) { return "text"; });
#else
  dlbridge::def_fast(m, "name", [](int x) { return x; });
#endif
}

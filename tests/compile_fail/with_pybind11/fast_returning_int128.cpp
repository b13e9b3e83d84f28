// SPDX-License-Identifier: BSD-3-Clause
// An integer of 128 bits would be truncated. It is an integral type in the GNU dialect only.
// std: gnu++17
// lines: 80
// says: def_fast returns nothing, a number, a tensor or a container of
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def_fast(m, "square", [](long long x) -> __int128 { return x * x; });
#else
  dlbridge::def_fast(m, "square", [](long long x) -> long long { return x * x; });
#endif
}

// SPDX-License-Identifier: BSD-3-Clause
// A result that the binding library's casters convert has no library that `returns` could state.
// lines: 60
// says: returns applies to a tensor, and to containers of at most two levels
#include <dlbridge/pybind11.hpp>

#include <pybind11/stl.h>

#include <vector>

using list = std::vector<dlbridge::managed_tensor>;

PYBIND11_MODULE(bad, m) {
  dlbridge::returns const as{dlbridge::library::numpy};
#ifdef WRONG
  dlbridge::def(m, "name", [] { return std::vector<std::vector<list>>(); }, as);
#else
  dlbridge::def(m, "name", [] { return std::vector<list>(); }, as);
#endif
}

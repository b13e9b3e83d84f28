// SPDX-License-Identifier: BSD-3-Clause
// def_fast converts tensors, numbers and containers of tensors only.
// lines: 80
// says: def_fast takes tensors, numbers and containers of tensors
#include <dlbridge/pybind11.hpp>

#include <string>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def_fast(m, "count", [](std::string text) { return text.size(); });
#else
  dlbridge::def(m, "count", [](std::string const& text) { return text.size(); });
#endif
}

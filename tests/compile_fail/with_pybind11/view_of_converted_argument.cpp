// SPDX-License-Identifier: BSD-3-Clause
// The same of a list, which pybind11 copies to a vector.
// lines: 80
// says: a member_view keeps the Python object of the first parameter alive
#include <dlbridge/pybind11.hpp>

#include <utility>
#include <vector>

#include <pybind11/stl.h>

dlbridge::description of(std::vector<float> const& values) {
  return dlbridge::description::of(values.data(), {values.size()});
}

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def(m, "view", [](std::vector<float> const& x) {
    return std::pair<int, dlbridge::member_view>(1, dlbridge::member_view(of(x)));
  });
#else
  dlbridge::def(m, "copy", [](std::vector<float> x) { return dlbridge::build(std::move(x)); });
#endif
}

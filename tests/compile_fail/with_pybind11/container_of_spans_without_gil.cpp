// SPDX-License-Identifier: BSD-3-Clause
// A container of spans is borrowed as well, at any depth, so that the call cannot release the GIL.
// lines: 80
// says: a tensor_span is borrowed while the GIL is held, and this call releases
#include <dlbridge/pybind11.hpp>

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <vector>

namespace py = pybind11;
#ifdef WRONG
using element = dlbridge::tensor_span<float const>;
#else
using element = std::string;
#endif

PYBIND11_MODULE(bad, m) {
  dlbridge::def(
      m, "count", [](std::map<std::string, std::vector<element>> const& all) { return all.size(); },
      py::call_guard<py::gil_scoped_release>());
}

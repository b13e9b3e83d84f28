// SPDX-License-Identifier: BSD-3-Clause
// The functions of signatures_choices.hpp, and more of them.
#include "signatures_choices.hpp"

#include "signatures_parts.hpp"

#if defined(WITH_NANOBIND)
#include <nanobind/stl/optional.h>
#else
#include <pybind11/stl.h>
#endif

void add_choices(py::module_& m) {
  using namespace signatures;
  add_choices(binder{m});
  m.def("plain_trace", [](floats x) { return trace(x); }, py::arg("x"));
  m.def(
      "plain_trace_or_zero", [](std::optional<floats> x) { return x ? trace(*x) : 0; },
      py::arg("x").none());
  m.def("cast_choice",
        [](py::object const& x) { return trace(dlbridge::cast<kept_floats>(x, "x")); });
  dlbridge::def(
      m, "trace_without_gil", [](kept_floats const& x) { return trace(x); }, py::arg("x"),
      py::call_guard<py::gil_scoped_release>());
  m.def(
      "plain_kept_or_none", [](std::optional<kept_floats> x) { return x.has_value(); },
      py::arg("x").none());
  dlbridge::def(m, "kind_of_choice", [](floats const&) { return "floats"; }, py::arg("x"));
  dlbridge::def(m, "kind_of_choice", [](integers const&) { return "integers"; }, py::arg("x"));
}

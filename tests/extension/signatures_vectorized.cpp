// SPDX-License-Identifier: BSD-3-Clause
// The functions of signatures_vectorized.hpp, and those that use what the binding library has.
#include "signatures_vectorized.hpp"

#include "signatures_parts.hpp"

void add_vectorized(py::module_& m) {
  using namespace signatures;
  add_vectorized(binder{m});
  dlbridge::def(m, "hypot_by_default",
                vectorize([](double x, double y) { return std::hypot(x, y); }), py::arg("x"),
                py::arg("y") = 4.0, "The hypotenuse.", dlbridge::returns{dlbridge::library::torch});
  dlbridge::def(m, "element_bits", vectorize([](float) { return 32; }), py::arg("x"));
  dlbridge::def(m, "element_bits", vectorize([](double) { return 64; }), py::arg("x"));
  dlbridge::def(m, "holds_gil", vectorize([](double) { return PyGILState_Check() != 0; }),
                py::arg("x"));
  dlbridge::def(m, "releases_gil", vectorize([](double) { return PyGILState_Check() != 0; }),
                py::arg("x"), py::call_guard<py::gil_scoped_release>());
  dlbridge::def(m, "append_to", vectorize([](py::list list, double x) { list.append(x); }),
                py::arg("list"), py::arg("x"));
  py::class_<scale> bound(m, "Scale");
  bound.def(py::init<double>(), py::arg("factor"));
  dlbridge::def(bound, "apply", vectorize(&scale::apply), py::arg("x"));
  dlbridge::def(bound, "count", vectorize(&scale::count), py::arg("x"));
  py::property_readonly(bound, "calls", [](scale const& x) { return x.calls; });
}

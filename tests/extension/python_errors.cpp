// SPDX-License-Identifier: BSD-3-Clause
// The functions of python_errors.hpp, and containers that producers change while the casters of
// the binding library read them.
#include "python_errors.hpp"
#include "library_casters.hpp"
#include "registration.hpp"

void add_python_errors(py::module_& parent) {
  py::module_ m = parent.def_submodule("python_errors");
  python_errors::add([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, py::arg(names)...);
  });
  dlbridge::def_fast(m, "empty_fast",
                     [](python_errors::span) { return dlbridge::managed_tensor(); }, {"x"});
  dlbridge::def(
      m, "empty_for_numpy", [] { return dlbridge::managed_tensor(); },
      dlbridge::returns{dlbridge::library::numpy});

  m.def("sum_of_arguments", &python_errors::sum_of<python_errors::vector>, py::arg("x"));
  m.def("sum_of_tensors", &python_errors::sum_of<python_errors::owned>, py::arg("x"));
  m.def("sum_of_spans", &python_errors::sum_of<python_errors::span>, py::arg("x"));
  dlbridge::def(
      m, "sum_by_cast",
      [](py::dict_of<py::str, py::object> const& x) {
        float sum = 0;
        for (auto const& item : x) {
          sum += dlbridge::cast<python_errors::vector>(item.second, "x")(0);
        }
        return sum;
      },
      py::arg("x"));
}

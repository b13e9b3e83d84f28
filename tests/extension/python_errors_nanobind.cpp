// SPDX-License-Identifier: BSD-3-Clause
// The functions of python_errors.hpp, and a container that producers change while it is read.
#include <dlbridge/nanobind.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python_errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void add_python_errors(nb::module_& parent);

void add_python_errors(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("python_errors");
  python_errors::add([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, nb::arg(names)...);
  });
  dlbridge::def_fast(m, "empty_fast",
                     [](python_errors::span) { return dlbridge::managed_tensor(); }, {"x"});
  dlbridge::def(
      m, "empty_for_numpy", [] { return dlbridge::managed_tensor(); },
      dlbridge::returns{dlbridge::library::numpy});

  m.def("sum_of_arguments", &python_errors::sum_of<python_errors::vector>, "x"_a);
  m.def("sum_of_tensors", &python_errors::sum_of<python_errors::owned>, "x"_a);
  m.def("sum_of_spans", &python_errors::sum_of<python_errors::span>, "x"_a);
  dlbridge::def(
      m, "sum_by_cast",
      [](nb::dict const& x) {
        float sum = 0;
        for (auto const& item : x) {
          sum += dlbridge::cast<python_errors::vector>(item.second, "x")(0);
        }
        return sum;
      },
      "x"_a);
}

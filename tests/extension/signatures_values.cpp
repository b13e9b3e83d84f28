// SPDX-License-Identifier: BSD-3-Clause
// The functions of signatures_values.hpp, and overloads of such parameters.
#include "signatures_values.hpp"

#include "signatures_parts.hpp"

void add_values(py::module_& m) {
  using namespace signatures;
  signatures::add_values(binder{m});
  using small = convert<std::uint8_t, vector, by_value>;
  m.def("plain_sum_by_value", [](small const& x) { return total(x); }, py::arg("x"));
  dlbridge::def(m, "smallest", [](small const&) { return "uint8"; }, py::arg("x"));
  dlbridge::def(
      m, "smallest", [](convert<std::int32_t, vector, by_value> const&) { return "int32"; },
      py::arg("x"));
  dlbridge::def(
      m, "layout_of", [](dlbridge::tensor_span<double const> const&) { return "double"; },
      py::arg("x"));
  dlbridge::def(
      m, "layout_of",
      [](row_major_of<dlbridge::any_tensor> const& x) {
        return x.view().is_copied() ? "copied" : "row-major";
      },
      py::arg("x"));
  dlbridge::def_fast(m, "fast_sum_by_value", [](small x) { return total(x); }, {"x"});
}

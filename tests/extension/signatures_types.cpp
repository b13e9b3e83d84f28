// SPDX-License-Identifier: BSD-3-Clause
// The functions of signatures_types.hpp, and converted parameters of functions that others bind.
#include "signatures_types.hpp"

#include "signatures_parts.hpp"

namespace {
// Converted parameters by the binding library, by def_fast, in overloads and in a class.
void add_more_conversions(py::module_& m) {
  using namespace signatures;
  using doubles = tensor_span<double const, vector>;
  m.def("plain_sum_converted", [](converted_span x) { return total(x); }, py::arg("x"));
  m.def("plain_sum_exact", [](converted_span x) { return total(x); }, py::arg("x").noconvert());
  m.def("plain_kind", [](converted_span) { return "converted"; }, py::arg("x"));
  m.def("plain_kind", [](doubles) { return "double"; }, py::arg("x"));
  dlbridge::def(m, "kind", [](doubles) { return "double"; }, py::arg("x"));
  dlbridge::def(m, "kind", [](converted_span) { return "converted"; }, py::arg("x"));
  dlbridge::def_fast(m, "fast_sum_converted", [](converted_span x) { return total(x); }, {"x"});
  dlbridge::def_fast(m, "fast_double_converted",
                     [](convert<float, vector> x) { return times(x, 2); }, {"x"});
  m.def("cast_converted", [](py::object const& x) {
    return total(dlbridge::cast<convert<float, vector>>(x)) +
           total(py::cast<convert<double, vector>>(x));
  });
  py::class_<summed> bound(m, "Summed");
  dlbridge::def(bound, py::init<convert<float, vector>>(), py::arg("x"));
  dlbridge::def_static(bound, "of", &summed::of, py::arg("x"));
  py::property_readonly(bound, "sum", [](summed const& x) { return x.sum; });
}
}  // namespace

void add_types(py::module_& m) {
  signatures::add_element_types(signatures::binder{m});
  signatures::add_conversions(signatures::binder{m});
  signatures::add_broadcasts(signatures::binder{m});
  add_more_conversions(m);
}

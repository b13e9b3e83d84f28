// SPDX-License-Identifier: BSD-3-Clause
// Functions with several signatures.
#include <cstdint>

#include "containers_read_twice.hpp"
#include "registration.hpp"

namespace {

using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
template <class T>
using vector = dlbridge::tensor<T const, vector_shape>;

}  // namespace

void add_overloads(py::module_& m) {
  containers_read_twice::add([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, py::arg(names)...);
  });
  dlbridge::def(m, "kind", [](vector<float> const&) { return "float32"; }, py::arg("x"));
  dlbridge::def(m, "kind", [](vector<double> const&) { return "float64"; }, py::arg("x"));
  dlbridge::def(
      m, "kind", [](vector<std::int64_t> const&, int) { return "int64 and n"; }, py::arg("x"),
      py::arg("n"));
  dlbridge::def(
      m, "kind", [](vector<std::int64_t> const&, vector<float> const&) { return "two"; },
      py::arg("x"), py::arg("y"));

  // The first candidate accepts the argument and throws. The second, which also fits, is not
  // called.
  dlbridge::def(
      m, "first_throws",
      [](vector<float> const&) -> int { throw py::type_error("of the function itself"); },
      py::arg("x"));
  dlbridge::def(m, "first_throws", [](vector<float> const&) { return 2; }, py::arg("x"));

  m.def("define_overloads", [](py::module_ scope) {
    dlbridge::def(
        scope, "extent", [](vector<float> const& x) { return x.extent(0); }, py::arg("x"));
    dlbridge::def(
        scope, "extent", [](vector<double> const& x) { return x.extent(0); }, py::arg("x"));
  });
  m.def("add_overload_to_plain_function", [](py::module_ scope) {
    scope.def("occupied", [] {});
    dlbridge::def(scope, "occupied", [](vector<float> const&) {});
  });

  // A function that calls another overload set.
  dlbridge::def(
      m, "nested",
      [module = py::handle(m)](vector<float> const&, py::object const& other) -> py::object {
        return module.attr("kind")(other);
      },
      py::arg("x"), py::arg("other"));
  dlbridge::def(
      m, "nested",
      [](vector<double> const&, py::object const&) -> py::object { return py::none(); },
      py::arg("x"), py::arg("other"));
}

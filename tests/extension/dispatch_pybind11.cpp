// SPDX-License-Identifier: BSD-3-Clause
// The functions of dispatch.hpp, and overloads that plain pybind11 adds.
#include <dlbridge/pybind11.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "dispatch.hpp"
#include "registration.hpp"
#include "result_dtypes.hpp"

namespace py = pybind11;

struct strict {};

namespace {
void add_result_dtypes(py::module_ m) {
  result_dtypes::add_functions<py::function>([&](char const* name, auto function, auto... extra) {
    dlbridge::def(m, name, function, extra...);
  });
  result_dtypes::add_plain_functions(m);
  py::class_<result_dtypes::table> table(m, "Table");
  table.def(py::init<>());
  result_dtypes::add_methods(table);
  table.def("__iter__", [](py::object const& self) {
    auto& own = self.cast<result_dtypes::table&>();
    return dlbridge::make_iterator(
        self, 2, [&own](std::size_t) { return own.view(); },
        dlbridge::returns{dlbridge::library::jax});
  });
}
}  // namespace

// A caster that throws, in place of a refusal.
template <>
struct pybind11::detail::type_caster<strict> : type_caster_base<strict> {
  bool load(handle source, bool convert) {
    if (PyUnicode_Check(source.ptr()) != 0) {
      throw value_error("no strict one");
    }
    return type_caster_base<strict>::load(source, convert);
  }
};

void add_dispatch(py::module_& m) {
  add_result_dtypes(m.def_submodule("dtypes"));
  py::class_<dispatch::row> row(m, "Row");
  row.def(py::init<>());
  row.def("__repr__", [](dispatch::row const&) { return "<Row 1, 2>"; });
  dispatch::add_methods(row, py::is_operator());
  py::class_<dispatch::samples, std::shared_ptr<dispatch::samples>>(m, "Samples")
      .def(py::init(
          [](std::vector<double> values) { return dispatch::samples{std::move(values)}; }));
  py::class_<dispatch::holder> holder(m, "Holder");
  holder.def(py::init<>());
  dispatch::add_holder_methods(holder, py::return_value_policy::reference_internal);
  py::class_<dispatch::counted>(m, "Counted");
  py::class_<dispatch::deferred> deferred(m, "Deferred");
  deferred.def(py::init<bool>(), py::arg("fails") = false);
  dispatch::add_deferred_methods(deferred);
  py::class_<dispatch::cargo, py::smart_holder>(m, "Cargo")
      .def(py::init<>())
      .def_readonly("weight", &dispatch::cargo::weight);
  py::class_<dispatch::keeper>(m, "Keeper")
      .def("typed_extents", &dispatch::keeper::typed_extents)
      .def("any_extents", &dispatch::keeper::any_extents);
  dispatch::add_functions([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, py::arg(names)...);
  });
  py::class_<dispatch::measured, std::shared_ptr<dispatch::measured>>(m, "Measured")
      .def(py::init<double>(), py::arg("x"));
  py::implicitly_convertible<double, dispatch::measured>();
  dlbridge::def(
      m, "values_of",
      [](dispatch::measured& x) {
        return dlbridge::member_view(dlbridge::description::of(x.values, {2}));
      },
      py::arg("x"));
  dlbridge::def(
      m, "values_of_shared",
      [](std::shared_ptr<dispatch::measured> const& x) {
        return dlbridge::member_view(dlbridge::description::of(x->values, {2}));
      },
      py::arg("x"));
  dlbridge::def(
      m, "has_samples",
      [](std::pair<dispatch::span<float>, std::shared_ptr<dispatch::samples>> const& x) {
        return x.second != nullptr;
      },
      py::arg("x"));

  dlbridge::def(m, "plain_after", [](dispatch::span<float>) { return "float32"; }, py::arg("x"));
  m.def("plain_after", [](std::string const&) { return "text"; }, py::arg("x"));
  dlbridge::def(
      m, "plain_between", [](dispatch::span<float>) { return "float32"; }, py::arg("x"),
      "Takes float32.");
  m.def("plain_between", [](std::string const&) { return "text"; }, py::arg("x"));
  dlbridge::def(m, "plain_between", [](dispatch::span<double>) { return "float64"; }, py::arg("x"));
  dlbridge::def(
      m, "plain_rows", [](std::vector<dispatch::span<float>> const& x) { return x.size(); },
      py::arg("x"));
  m.def("plain_rows", [](std::string const&) { return "text"; }, py::arg("x"));

  // What pybind11 converts: integers, and variants of numbers alone.
  using number = std::variant<std::int64_t, double>;
  dlbridge::def(
      m, "steps", [](std::int64_t n, dispatch::span<float>) { return n; }, py::arg("n"),
      py::arg("x"));
  dlbridge::def(
      m, "exact_steps", [](std::int64_t n, dispatch::span<float>) { return n; },
      py::arg("n").noconvert(), py::arg("x"));
  dlbridge::def(
      m, "exact_small", [](std::uint8_t n, dispatch::span<float>) { return n; },
      py::arg("n").noconvert(), py::arg("x"));
  dlbridge::def(
      m, "number", [](number n, dispatch::span<float>) { return n; }, py::arg("n"), py::arg("x"));
  dlbridge::def(
      m, "exact_number", [](number n, dispatch::span<float>) { return n; },
      py::arg("n").noconvert(), py::arg("x"));

  dlbridge::def(m, "plain_before", [](dispatch::span<float>) { return "float32"; }, py::arg("x"));
  m.def("plain_before", [](std::string const&) { return "text"; }, py::arg("x"), py::prepend());
  dlbridge::def(
      m, "plain_before_two", [](dispatch::span<float>) { return "float32"; }, py::arg("x"));
  m.def("plain_before_two", [](std::string const&) { return "text"; }, py::arg("x"), py::prepend());
  dlbridge::def(
      m, "plain_before_two", [](dispatch::span<double>) { return "float64"; }, py::arg("x"));
  dlbridge::def(m, "plain_throws", [](dispatch::span<float>) { return "float32"; }, py::arg("x"));
  m.def(
      "plain_throws",
      [](std::string const& x) -> std::string { throw py::type_error("no colour: " + x); },
      py::arg("x"));
  dlbridge::def(m, "plain_throws", [](py::object const&) { return "object"; }, py::arg("x"));
  // A call looks for the candidate that takes k without a conversion, and reads its elements.
  dlbridge::def(
      m, "numbers_and_floats",
      [](std::vector<double> const& k, dispatch::span<float>) { return k; }, py::arg("k"),
      py::arg("x"));
  dlbridge::def(
      m, "numbers_and_floats",
      [](std::vector<double> const& k, dispatch::span<double>) { return k; }, py::arg("k"),
      py::arg("x"));

  py::module_ packs = m.def_submodule("packs");  // whose stubs lack types, as pybind11 writes them
  dlbridge::def(
      packs, "with_keywords",
      [](dispatch::span<float>, dispatch::span<float>, py::kwargs const&) {}, py::arg("x"),
      py::arg("y"));
  dlbridge::def(
      packs, "with_packs",
      [](dispatch::span<float>, py::args const&, dispatch::span<float>, py::kwargs const&) {},
      py::arg("x"), py::arg("y"));
  dlbridge::def(
      packs, "unconverted", [](std::multimap<int, float> const&, dispatch::span<float>) {},
      py::arg("x"), py::arg("y"));
  dlbridge::def(
      packs, "after_defaults",
      [](std::string const&, py::object const&, double, dispatch::span<float>) {},
      py::arg("separator") = "\\", py::arg("row") = dispatch::row(), py::arg("factor") = 1.0,
      py::arg("x"));
  py::class_<strict>(m, "Strict").def(py::init<>());
  dlbridge::def(m, "strict_first", [](strict const&) { return "strict"; }, py::arg("x"));
  dlbridge::def(m, "strict_first", [](dispatch::span<float>) { return "float32"; }, py::arg("x"));
  dlbridge::def(
      m, "none_or_class",
      [](std::pair<dispatch::span<float>, dispatch::row> const&) { return "class"; }, py::arg("x"));
  dlbridge::def(
      m, "none_or_class",
      [](std::pair<dispatch::span<float>, std::optional<int>> const&) { return "number"; },
      py::arg("x"));
}

// SPDX-License-Identifier: BSD-3-Clause
// The functions of dispatch.hpp, and those that use what one of the binding libraries alone has.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch.hpp"
#include "library_casters.hpp"
#include "registration.hpp"
#include "result_dtypes.hpp"

#if defined(WITH_NANOBIND)
#include <nanobind/stl/complex.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/unique_ptr.h>

using namespace nb::literals;
#else
#include <pybind11/complex.h>

struct strict {};

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
#endif

namespace {
void add_result_dtypes(py::module_ m) {
  result_dtypes::add_functions<py::function>([&](char const* name, auto function, auto... extra) {
    dlbridge::def(m, name, function, extra...);
  });
  dlbridge::def(m, "narrow_all", [m]() mutable { dlbridge::init(m, dlbridge::narrow); });
  result_dtypes::add_plain_functions(m);
  py::class_<result_dtypes::table> table(m, "Table");
  table.def(py::init<>());
  result_dtypes::add_methods(table);
  table.def("__iter__", [](py::object const& self) {
    auto& own = py::cast<result_dtypes::table&>(self);
    return dlbridge::make_iterator(
        self, 2, [&own](std::size_t) { return own.view(); },
        dlbridge::returns{dlbridge::library::jax});
  });
}

// What only one library has or converts.
#if defined(WITH_NANOBIND)
void add_own(nb::module_& m, nb::class_<dispatch::holder>& holder,
             nb::class_<dispatch::counted>& counted) {
  // nanobind passes nb::for_getter and nb::for_setter on to one of the two functions.
  dlbridge::def_property(
      holder, "length", [](dispatch::holder& self) { return self.inner.values.size(); },
      [](dispatch::holder& self, dispatch::span<float> x) {
        self.inner.values.resize(static_cast<std::size_t>(x.count()));
      },
      nb::for_getter("The number of values."), nb::for_setter("like"_a));
  dlbridge::def(
      m, "take_row",
      [](std::unique_ptr<dispatch::row> x, dispatch::span<float>) { return *x->values; }, "x"_a,
      "y"_a);
  using any_row = std::unique_ptr<dispatch::row, nb::deleter<dispatch::row>>;
  dlbridge::def(
      m, "take_any_row", [](any_row x, dispatch::span<float>) { return *x->values; }, "x"_a, "y"_a);
  dlbridge::def(
      m, "read_row", [](dispatch::row const& x, dispatch::span<float>) { return *x.values; }, "x"_a,
      "y"_a);
  dlbridge::def(counted, nb::new_([](dispatch::owned<float>) { return new dispatch::counted; }),
                "x"_a);
  dlbridge::def(
      m, "with_defaults",
      [](dispatch::span<float>, int, double, dispatch::counted const*) { return 1; }, "x"_a,
      "y"_a = 5, "z"_a = 2.5, "c"_a = nb::none());
  dlbridge::def(
      m, "with_defaults", [](dispatch::span<float>, std::string const&) { return 2; }, "x"_a,
      "y"_a = "a");
  dlbridge::def(
      m, "cargo_or_span",
      [](std::variant<dispatch::cargo*, dispatch::span<float>> const& x) { return x.index(); },
      "x"_a);
  dlbridge::def(m, "counted", [](dispatch::counted const&, dispatch::span<float>) {}, "c"_a, "x"_a);
  dlbridge::def(
      m, "none_or_tensor",
      [](std::variant<std::monostate, dispatch::owned<float>, dispatch::owned<double>> const& x) {
        return x.index();
      },
      "x"_a);
  dlbridge::def(
      m, "scaled_or_text", [](double, dispatch::span<float>) { return "float32"; }, "factor"_a,
      "x"_a);
  m.def("scaled_or_text", [](double, std::string const&) { return "text"; }, "factor"_a, "x"_a);

  // The first overload accepts the tensor, and passes the call on.
  dlbridge::def(
      m, "passed_on",
      [](dispatch::owned<float> x) -> std::int64_t {
        if (x.extent(0) != 2) {
          throw nb::next_overload();
        }
        return 2;
      },
      "x"_a);
  dlbridge::def(m, "passed_on", [](dispatch::owned<float> x) { return 100 + x.extent(0); }, "x"_a);

  nb::class_<dispatch::window>(m, "Window").def("first", [](dispatch::window& self) {
    return self.data[0];
  });
  auto const window_on = [](auto const& x) { return dispatch::window{x.data()}; };
  dlbridge::def(
      m, "window",
      [=](dlbridge::argument<float const, dispatch::shape> const& x) { return window_on(x); },
      "x"_a, nb::keep_alive<0, 1>());
  dlbridge::def(
      m, "window",
      [](dlbridge::argument<double const, dispatch::shape> const&) {
        return dispatch::window{nullptr};
      },
      "x"_a, nb::keep_alive<0, 1>());
}
#else
void add_own(py::module_& m, py::module_& packs) {
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
  dlbridge::def(
      m, "plain_between", [](dispatch::span<float>) { return "float32"; }, py::arg("x"),
      "Takes float32.");
  m.def("plain_between", [](std::string const&) { return "text"; }, py::arg("x"));
  dlbridge::def(m, "plain_between", [](dispatch::span<double>) { return "float64"; }, py::arg("x"));

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

  dlbridge::def(
      packs, "with_keywords",
      [](dispatch::span<float>, dispatch::span<float>, py::kwargs const&) {}, py::arg("x"),
      py::arg("y"));
  dlbridge::def(
      packs, "with_packs",
      [](dispatch::span<float>, py::args const&, dispatch::span<float>, py::kwargs const&) {},
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
#endif
}  // namespace

void add_dispatch(py::module_& m) {
  add_result_dtypes(m.def_submodule("dtypes"));
  py::class_<dispatch::row> row(m, "Row");
  row.def(py::init<>());
  row.def("__repr__", [](dispatch::row const&) { return "<Row 1, 2>"; });
  dispatch::add_methods(row, py::is_operator());
  py::shared_class<dispatch::samples>(m, "Samples").def(py::init<std::vector<double>>());
  py::class_<dispatch::holder> holder(m, "Holder");
  holder.def(py::init<>());
  dispatch::add_holder_methods(holder, py::return_value_policy::reference_internal);
  py::class_<dispatch::counted> counted(m, "Counted");
  py::class_<dispatch::deferred> deferred(m, "Deferred");
  deferred.def(py::init<bool>(), py::arg("fails") = false);
  dispatch::add_deferred_methods(deferred);
#if defined(WITH_NANOBIND)  // which gives away only what C++ has allocated
  nb::class_<dispatch::cargo> cargo(m, "Cargo");
  cargo.def(nb::new_([] { return std::make_unique<dispatch::cargo>(); }));
#else
  py::class_<dispatch::cargo, py::smart_holder> cargo(m, "Cargo");
  cargo.def(py::init<>());
#endif
  py::property_readonly(cargo, "weight", [](dispatch::cargo const& x) { return x.weight; });
  py::class_<dispatch::keeper>(m, "Keeper")
      .def("typed_extents", &dispatch::keeper::typed_extents)
      .def("any_extents", &dispatch::keeper::any_extents);
  dispatch::add_functions([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, py::arg(names)...);
  });
  dlbridge::def(m, "plain_after", [](dispatch::span<float>) { return "float32"; }, py::arg("x"));
  m.def("plain_after", [](std::string const&) { return "text"; }, py::arg("x"));
  dlbridge::def(
      m, "plain_rows", [](std::vector<dispatch::span<float>> const& x) { return x.size(); },
      py::arg("x"));
  m.def("plain_rows", [](std::string const&) { return "text"; }, py::arg("x"));
  py::module_ packs = m.def_submodule("packs");  // whose stubs lack types, as pybind11 writes them
  dlbridge::def(
      packs, "unconverted", [](std::multimap<int, float> const&, dispatch::span<float>) {},
      py::arg("x"), py::arg("y"));
#if defined(WITH_NANOBIND)
  add_own(m, holder, counted);
#else
  add_own(m, packs);
#endif
}

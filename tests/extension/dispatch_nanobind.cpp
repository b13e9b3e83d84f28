// SPDX-License-Identifier: BSD-3-Clause
// The functions of dispatch.hpp, and those that use what nanobind alone has.
#include <dlbridge/nanobind.hpp>

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch.hpp"
#include "result_dtypes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void add_dispatch(nb::module_& m);

namespace {
// A class with virtual functions, and what nanobind creates for its subclasses in Python.
struct virtual_class {
  explicit virtual_class(dispatch::span<float>) {}
  virtual_class(virtual_class const&) = default;
  virtual_class& operator=(virtual_class const&) = default;
  virtual ~virtual_class() = default;
  virtual bool is_alias() const { return false; }
};
struct alias_of_python : virtual_class {
  using virtual_class::virtual_class;
  bool is_alias() const override { return true; }
};

void add_result_dtypes(nb::module_ m) {
  result_dtypes::add_functions<nb::callable>([&](char const* name, auto function, auto... extra) {
    dlbridge::def(m, name, function, extra...);
  });
  result_dtypes::add_plain_functions(m);
  nb::class_<result_dtypes::table> table(m, "Table");
  table.def(nb::init<>());
  result_dtypes::add_methods(table);
  table.def("__iter__", [](nb::object const& self) {
    auto& own = nb::cast<result_dtypes::table&>(self);
    return dlbridge::make_iterator(
        self, 2, [&own](std::size_t) { return own.view(); },
        dlbridge::returns{dlbridge::library::jax});
  });
}
}  // namespace

void add_dispatch(nb::module_& m) {
  add_result_dtypes(m.def_submodule("dtypes"));
  nb::class_<dispatch::row> row(m, "Row");
  row.def(nb::init<>());
  dispatch::add_methods(row, nb::is_operator());
  nb::class_<dispatch::samples>(m, "Samples")
      .def("__init__", [](dispatch::samples* self, std::vector<double> values) {
        new (self) dispatch::samples{std::move(values)};
      });
  nb::class_<dispatch::holder> holder(m, "Holder");
  holder.def(nb::init<>());
  dispatch::add_holder_methods(holder, nb::rv_policy::reference_internal);
  // nanobind passes nb::for_getter and nb::for_setter on to one of the two functions.
  dlbridge::def_property(
      holder, "length", [](dispatch::holder& self) { return self.inner.values.size(); },
      [](dispatch::holder& self, dispatch::span<float> x) {
        self.inner.values.resize(static_cast<std::size_t>(x.count()));
      },
      nb::for_getter("The number of values."), nb::for_setter("like"_a));
  // nanobind gives away only what C++ has allocated.
  nb::class_<dispatch::cargo>(m, "Cargo")
      .def(nb::new_([] { return std::make_unique<dispatch::cargo>(); }))
      .def_ro("weight", &dispatch::cargo::weight);
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
  nb::class_<dispatch::keeper>(m, "Keeper")
      .def("typed_extents", &dispatch::keeper::typed_extents)
      .def("any_extents", &dispatch::keeper::any_extents);
  nb::class_<dispatch::deferred> deferred(m, "Deferred");
  deferred.def(nb::init<bool>(), "fails"_a = false);
  dispatch::add_deferred_methods(deferred);
  nb::class_<dispatch::counted> counted(m, "Counted");
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
  dispatch::add_functions([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, nb::arg(names)...);
  });
  dlbridge::def(
      m, "none_or_tensor",
      [](std::variant<std::monostate, dispatch::owned<float>, dispatch::owned<double>> const& x) {
        return x.index();
      },
      "x"_a);
  dlbridge::def(
      m, "unconverted", [](std::multimap<int, float> const&, dispatch::span<float>) {}, "x"_a,
      "y"_a);
  nb::class_<virtual_class, alias_of_python> with_alias(m, "WithAlias");
  dlbridge::def(with_alias, nb::init<dispatch::span<float>>(), "x"_a);
  with_alias.def("is_alias", &virtual_class::is_alias);

  dlbridge::def(m, "plain_after", [](dispatch::span<float>) { return "float32"; }, "x"_a);
  m.def("plain_after", [](std::string const&) { return "text"; }, "x"_a);
  dlbridge::def(
      m, "plain_rows", [](std::vector<dispatch::span<float>> const& x) { return x.size(); }, "x"_a);
  m.def("plain_rows", [](std::string const&) { return "text"; }, "x"_a);
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

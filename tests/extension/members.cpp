// SPDX-License-Identifier: BSD-3-Clause
// Constructors, static methods, properties and iterators of a class, and tensors of objects that
// are no parameters.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "library_casters.hpp"
#include "registration.hpp"

#if defined(WITH_NANOBIND)
#include <nanobind/trampoline.h>
#endif

namespace {

using dlbridge::library;
using dlbridge::member_view;
using dlbridge::returns;
using matrix_shape = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using matrix = dlbridge::tensor_span<float const, matrix_shape>;
using row_span = dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>>;

// Rows of numbers.
class table {
 public:
  using element_type = float;  // as std::span has, which is no smart pointer

  explicit table(matrix const& from, float factor = 1)
      : rows_(from.extent(0)), columns_(from.extent(1)) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j) {
        values_.push_back(from(i, j) * factor);
      }
    }
  }
  table(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), values_(static_cast<std::size_t>(rows * columns)) {}

  std::int64_t rows() const noexcept { return rows_; }
  member_view values() {
    return member_view(dlbridge::description::of(values_.data(), {rows_, columns_}));
  }
  member_view row(std::size_t i) {
    return member_view(dlbridge::description::of(
        values_.data() + static_cast<std::int64_t>(i) * columns_, {columns_}));
  }
  void set_values(matrix const& from) { *this = table(from); }
  bool same_as(matrix const& other) const { return table(other).values_ == values_; }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<float> values_{};
};

// A class with a virtual method, whose constructor makes the alias for a subclass in Python.
struct shape_base {
  explicit shape_base(row_span const& corners) : count(corners.extent(0)) {}
  virtual ~shape_base() = default;
  virtual std::string kind(int number) const { return std::to_string(number) + " plain"; }
  virtual bool is_alias() const { return false; }
  std::int64_t count;
};
struct shape_alias : shape_base {
#if defined(WITH_NANOBIND)
  NB_TRAMPOLINE(shape_base, 1);
  std::string kind(int number) const override { NB_OVERRIDE(kind, number); }
#else
  using shape_base::shape_base;
  std::string kind(int number) const override {
    PYBIND11_OVERRIDE(std::string, shape_base, kind, number);
  }
#endif
  bool is_alias() const override { return true; }
};

void add_table(py::module_& m) {
  py::class_<table> bound(m, "Table");
#if defined(WITH_NANOBIND)
  // [nanobind]
  dlbridge::def(bound, nb::init<matrix, float>(), nb::arg("values"), nb::arg("factor") = 1.0F,
                "A table of a copy of the values.");
  dlbridge::def(bound, nb::init<std::int64_t, std::int64_t>(), nb::arg("rows"), nb::arg("columns"));
  dlbridge::def_property(bound, "values", &table::values, &table::set_values, "All values.");
  dlbridge::def_property_readonly(bound, "rows", &table::rows);
  dlbridge::def_property_readonly(bound, "array", &table::values, returns{library::numpy});
  dlbridge::def(bound, "__iter__", [](nb::object self) {
    auto& t = nb::cast<table&>(self);
    return dlbridge::make_iterator(self, static_cast<std::size_t>(t.rows()),
                                   [&t](std::size_t i) { return t.row(i); });
  });
  // [/nanobind]
#else
  // [members]
  dlbridge::def(bound, py::init<matrix, float>(), py::arg("values"), py::arg("factor") = 1.0F,
                "A table of a copy of the values.");
  dlbridge::def(
      bound, py::init([](std::int64_t rows, std::int64_t columns) { return table(rows, columns); }),
      py::arg("rows"), py::arg("columns"));
  dlbridge::def_property(bound, "values", &table::values, &table::set_values, "All values.");
  dlbridge::def_property_readonly(bound, "rows", &table::rows);
  dlbridge::def_property_readonly(bound, "array", &table::values, returns{library::numpy});
  // [/members]
  // [iterator]
  dlbridge::def(bound, "__iter__", [](py::object const& self) {
    auto& t = self.cast<table&>();
    return dlbridge::make_iterator(self, static_cast<std::size_t>(t.rows()),
                                   [&t](std::size_t i) { return t.row(i); });
  });
  // [/iterator]
#endif
  // [static]
  dlbridge::def_static(
      bound, "column", [](row_span x) { return table(x.extent(0), 1); }, py::arg("x"));
  dlbridge::def_static(
      bound, "column", [](dlbridge::tensor_span<double const> x) { return table(x.count(), 1); },
      py::arg("x"));
  dlbridge::def_static(
      bound, "values_of", [](dlbridge::tensor<float const, matrix_shape> x) { return x; },
      py::arg("x"));
  // [/static]
  dlbridge::def(bound, "row", &table::row, py::arg("i"));
  dlbridge::def(bound, "values_like", [](table& t, row_span) { return t.values(); }, py::arg("x"));
  dlbridge::def(
      bound, "array_like", [](table& t, row_span) { return t.values(); }, py::arg("x"),
      returns{library::numpy});
  dlbridge::def(bound, "__eq__", &table::same_as, py::is_operator());

  dlbridge::def(bound, "arrays", [](py::object const& self) {
    auto& t = py::cast<table&>(self);
    return dlbridge::make_iterator(
        self, static_cast<std::size_t>(t.rows()), [&t](std::size_t i) { return t.row(i); },
        returns{library::numpy});
  });
  dlbridge::def(bound, "squares", [](py::object const& self) {
    return dlbridge::make_iterator(self, 3, [](std::size_t i) {
      return dlbridge::build(std::vector<float>{static_cast<float>(i * i)});
    });
  });

  dlbridge::def(bound, "broken", [](py::object const& self) {
    return dlbridge::make_iterator(self, 2, [](std::size_t) {
      return member_view(dlbridge::description::of<float>(nullptr, {-1}));
    });
  });

  py::class_<shape_base, shape_alias> base(m, "Shape");
  dlbridge::def(base, py::init<row_span>(), py::arg("corners"));
  base.def("kind", &shape_base::kind)
      .def("is_alias", &shape_base::is_alias)
      .def("count", [](shape_base const& shape) { return shape.count; });
  m.def("kind_of", [](shape_base const& shape) { return shape.kind(2); });
}

void add_objects(py::module_& m) {
  using vector = dlbridge::tensor<float const, dlbridge::shape<dlbridge::dynamic_extent>>;
#if defined(WITH_NANOBIND)
  // [nanobind_objects]
  dlbridge::def(m, "lengths", [](nb::args all, nb::kwargs named) {
    nb::list result;
    for (nb::handle each : all) {
      result.append(dlbridge::cast<vector>(each).extent(0));
    }
    for (auto [name, value] : named) {
      result.append(dlbridge::cast<vector>(value, nb::str(name).c_str()).extent(0));
    }
    return result;
  });
  // [/nanobind_objects]
#else
  // [objects]
  dlbridge::def(m, "lengths", [](py::args const& all, py::kwargs const& named) {
    py::list result;
    for (py::handle each : all) {
      result.append(dlbridge::cast<vector>(each).extent(0));
    }
    for (auto const& [name, value] : named) {
      std::string const text = py::str(name);
      result.append(dlbridge::cast<vector>(value, text.c_str()).extent(0));
    }
    return result;
  });
  // [/objects]
#endif
  dlbridge::def(m, "cast_by_library", [](py::kwargs const& named) {
    return py::cast<vector>(py::object(named["x"])).extent(0);
  });
  dlbridge::def(
      m, "optional_length",
      [](py::object const& x) {
        auto const found = dlbridge::cast<std::optional<vector>>(x, "x");
        return found ? found->extent(0) : -1;
      },
      py::arg("x").none());
}

}  // namespace

void add_members(py::module_& m) {
  py::module_ members = m.def_submodule("members");
  add_table(members);
  add_objects(members);
  using numbers = dlbridge::argument<float const>;
  dlbridge::def(
      members, "numbered", [](numbers const& x, std::int8_t n) { return x.count() + n; },
      py::arg("x"), py::arg("n"));
  dlbridge::def(
      members, "numbered_or_none",
      [](numbers const& x, std::optional<std::int8_t> n) { return x.count() + n.value_or(0); },
      py::arg("x"), py::arg("n"));
  dlbridge::def(
      members, "keyword_only",
      [](numbers const& x, std::string const& text, double scale) {
        return scale * static_cast<double>(x.count() + static_cast<std::int64_t>(text.size()));
      },
      py::arg("x"), py::kw_only(), py::arg("text") = "a, 'b = c", py::arg("scale"));
  dlbridge::def(
      members, "rest",
      [](numbers const& x, py::args const& others, float y, py::kwargs const& named) {
        return static_cast<float>(x.count() +
                                  static_cast<std::int64_t>(others.size() + named.size())) +
               y;
      },
#if defined(WITH_NANOBIND)
      nb::arg("x"), nb::arg("others"), nb::arg("y") = 0.5F, nb::arg("named"));
#else
      py::arg("x"), py::arg("y") = 0.5F);
#endif
  dlbridge::def(members, "unnamed",
                [](numbers const& x, table& t) { return x.count() + t.rows(); });
  dlbridge::def(
      members, "raises",
      [](numbers const&, int n) -> int {
        throw py::type_error(n > 0 ? "raises(): incompatible with the rest" : "of the body");
      },
      py::arg("x"), py::arg("n"));
  dlbridge::def(
      members, "no_conversion", [](numbers const&, bool y) { return y; }, py::arg("x"),
      py::arg("y").noconvert());
#if !defined(WITH_NANOBIND)  // which has no such extras
  dlbridge::def(
      members, "no_none", [](numbers const&, table* t) { return t == nullptr; }, py::arg("x"),
      py::arg("t").none(false));
  dlbridge::def(
      members, "no_none_for_optional",
      [](std::optional<numbers> const& x) { return x.has_value(); }, py::arg("x").none(false));
  dlbridge::def(
      members, "positional_only", [](numbers const& x, int n) { return x.count() + n; },
      py::arg("x"), py::pos_only(), py::arg("n") = 0);
#endif
  members.def("bind_a_default_of_none", [](py::module_ scope) {
    dlbridge::def(
        scope, "needs_x", [](int, py::args const&, numbers const& x) { return x.count(); },
#if defined(WITH_NANOBIND)
        nb::arg("n"), nb::arg("others"), nb::arg("x") = nb::none());
#else
        py::arg("n"), py::arg("x") = py::none());
#endif
  });
  dlbridge::def(
      members, "plain", [](int x, std::string const& y) { return x + static_cast<int>(y.size()); },
      py::arg("x"), py::arg("y"));
}

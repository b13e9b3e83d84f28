// SPDX-License-Identifier: BSD-3-Clause
// The module `nanobind_extension`: functions and classes for each feature of the headers for
// nanobind. tests/python/test_nanobind_extension.py calls them.
#include <dlbridge/nanobind.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "containers_read_twice.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void add_changes(nb::module_& m);
void add_dispatch(nb::module_& m);
void add_visible(nb::module_& m);
void add_python_errors(nb::module_& m);

namespace {

using dlbridge::library;
using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
using span_to_read = dlbridge::tensor_span<float const, vector_shape>;
using span_to_write = dlbridge::tensor_span<float, vector_shape>;
using integers = dlbridge::tensor_span<std::int64_t const, vector_shape>;
using owned = dlbridge::tensor<float const, vector_shape>;
using argument_to_read = dlbridge::argument<float const, vector_shape>;

std::uintptr_t address_of(dlbridge::tensor_view const& view) {
  return reinterpret_cast<std::uintptr_t>(view.data());
}
template <class Tensor>
std::uintptr_t address_of(Tensor const& tensor) {
  return address_of(tensor.view());
}

double sum(span_to_read const& x) {
  double total = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    total += static_cast<double>(x(i));
  }
  return total;
}

dlbridge::managed_tensor count_to(int n) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(static_cast<float>(i));
  }
  return dlbridge::build(std::move(values));
}

// The submodules by_def, by_nanobind and by_fast, which hold the same functions.
struct binder {
  nb::module_ by_def, by_nanobind, by_fast;

  explicit binder(nb::module_& m)
      : by_def(m.def_submodule("by_def")),
        by_nanobind(m.def_submodule("by_nanobind")),
        by_fast(m.def_submodule("by_fast")) {}
  template <class Lambda>
  void add(char const* name, Lambda function) {
    dlbridge::def(by_def, name, function, nb::arg("x"));
    by_nanobind.def(name, function, nb::arg("x"));
    dlbridge::def_fast(by_fast, name, function, {"x"});
  }
};

// A tensor parameter and its optional, whose result is 0 for None.
template <class Kind>
void add_kind(binder& functions, std::string const& name) {
  functions.add(name.c_str(), [](Kind x) { return address_of(x); });
  functions.add(("optional_" + name).c_str(),
                [](std::optional<Kind> x) { return x ? address_of(*x) : std::uintptr_t{0}; });
}

void add_arguments(nb::module_& m, binder& functions) {
  add_kind<span_to_read>(functions, "span_to_read");
  add_kind<span_to_write>(functions, "span_to_write");
  add_kind<owned>(functions, "owned");
  add_kind<argument_to_read>(functions, "argument");
  add_kind<dlbridge::any_tensor>(functions, "any_tensor");
  add_kind<dlbridge::managed_tensor>(functions, "managed_tensor");
  functions.by_nanobind.def("by_reference", [](span_to_read const& x) { return sum(x); }, "x"_a);
  functions.by_nanobind.def("total_of_all", [](std::vector<span_to_read> const& x) {
    double total = 0;
    for (span_to_read const& each : x) {
      total += sum(each);
    }
    return total;
  });
  functions.by_nanobind.def("cast_owning", [](nb::object const& x) {
    auto const tensor = nb::cast<owned>(x);
    return sum(tensor.span());
  });
  functions.by_nanobind.def(
      "cast_span", [](nb::object const& x) { return nb::cast<span_to_read>(x).extent(0); });

  dlbridge::def(
      m, "scale",
      [](span_to_write x, double factor) {
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          x(i) = static_cast<float>(static_cast<double>(x(i)) * factor);
        }
      },
      "x"_a, "factor"_a = 2.0, "Multiplies in place.");
  dlbridge::def(
      m, "join",
      [](argument_to_read const& x, span_to_read y, std::string const& how) {
        return how + " " + std::to_string(static_cast<int>(sum(y) + sum(x.span())));
      },
      "x"_a, "y"_a, nb::kw_only(), "how"_a = "here");
  dlbridge::def(m, "unnamed", [](span_to_read x, span_to_read y) { return sum(x) + sum(y); });
  dlbridge::def(
      m, "plain", [](int x, std::string const& y) { return x + static_cast<int>(y.size()); }, "x"_a,
      "y"_a);
  dlbridge::def(
      m, "no_conversion", [](span_to_read x, double factor) { return sum(x) * factor; }, "x"_a,
      nb::arg("factor").noconvert());
  dlbridge::def(
      m, "rest",
      [](span_to_read x, nb::args const& more, nb::kwargs const& named) {
        return nb::make_tuple(sum(x), more, named);
      },
      "x"_a, "more"_a, "named"_a);
  dlbridge::def(
      m, "without_gil", [](owned x) { return PyGILState_Check() != 0 ? -1.0 : sum(x.span()); },
      "x"_a, nb::call_guard<nb::gil_scoped_release>());
}

void add_results(nb::module_& m, binder& functions) {
  functions.add("to_managed", [](int x) { return count_to(x); });
  functions.add("to_optional", [](int x) {
    return x >= 0 ? std::optional<dlbridge::managed_tensor>(count_to(x)) : std::nullopt;
  });
  functions.add("same", [](argument_to_read x) { return x; });
  functions.add("doubled", [](argument_to_read x) {
    auto out = x.empty_like<float>({x.extent(0)});
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      out(i) = 2 * x(i);
    }
    return out;
  });
  functions.by_def.def("count", [] { return 1; });
  dlbridge::def(
      functions.by_def, "counted_like",
      [](span_to_read x) { return count_to(static_cast<int>(x.extent(0))); }, "x"_a);
  functions.by_nanobind.def("several", [](int n) {
    std::vector<dlbridge::managed_tensor> all;
    for (int i = 0; i < n; ++i) {
      all.push_back(count_to(i));
    }
    return all;
  });
  nb::module_ as = m.def_submodule("returns");
  for (auto const& [name, which] : {std::pair<char const*, library>{"dlbridge", library::dlbridge},
                                    {"numpy", library::numpy},
                                    {"torch", library::torch},
                                    {"jax", library::jax}}) {
    dlbridge::def(as, name, [](int n) { return count_to(n); }, "n"_a, dlbridge::returns{which});
  }
}

void add_overloads(nb::module_& m) {
  containers_read_twice::add([&](char const* name, auto function, auto... names) {
    dlbridge::def(m, name, function, nb::arg(names)...);
  });
  dlbridge::def(m, "kind_of", [](span_to_read) { return "floats"; }, "x"_a, "Floats.");
  dlbridge::def(m, "kind_of", [](integers) { return "integers"; }, "x"_a, "Integers.");
  dlbridge::def(m, "kind_of", [](integers, int) { return "integers and a number"; }, "x"_a, "n"_a);
  dlbridge::def(m, "mixed", [](span_to_read) { return "floats"; }, "x"_a);
  m.def("mixed", [](std::string const&) { return "text"; }, "x"_a);
  dlbridge::def(m, "taken", [](owned x) { return address_of(x); }, "x"_a);
  dlbridge::def(m, "taken", [](dlbridge::managed_tensor x) { return address_of(x); }, "x"_a);
  m.attr("taken_name") = 3;
  m.def("bind_taken_name", [](nb::module_ self) { dlbridge::def(self, "taken_name", [] {}); });
}

// Throws one of the exceptions that a function may throw, by number.
void fail(int how) {
  switch (how) {
    case 0:
      dlbridge::raise(dlbridge::refusal(dlbridge::errc::overflow, "less", "more"));
    case 1:
      throw nb::key_error("a nanobind exception");
    case 2:
      throw std::runtime_error("a standard exception");
    case 3:
      PyErr_SetString(PyExc_LookupError, "a Python exception");
      throw nb::python_error();
    case 4:
      PyErr_SetString(PyExc_LookupError, "a Python exception");
      throw dlbridge::python::python_error();
    case 5:
      throw std::bad_alloc();
    case 6:
      throw nb::type_error("of the function itself");
    case 7:
      throw std::out_of_range("an index");
    case 8:
      throw std::overflow_error("a number");
    default:
      throw std::length_error("a length");
  }
}

// An array of a C++ library, which def_dlpack makes a producer.
struct buffer {
  std::vector<float> values{};
};

}  // namespace

template <>
struct dlbridge::array_traits<buffer> {
  static description describe(buffer& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
  static buffer adopt(managed_tensor m) {
    tensor<float const, shape<dynamic_extent>> const from(std::move(m));
    buffer made;
    for (std::int64_t i = 0; i < from.extent(0); ++i) {
      made.values.push_back(from(i));
    }
    return made;
  }
};

namespace {

class scaler {
 public:
  explicit scaler(span_to_read x) : values_(std::make_shared<buffer>()) {
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      values_->values.push_back(x(i));
    }
  }
  double dot(span_to_read x) const {
    double total = 0;
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      total += static_cast<double>(x(i) * values_->values[static_cast<std::size_t>(i)]);
    }
    return total;
  }
  void add(span_to_read x, float factor) {
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      values_->values[static_cast<std::size_t>(i)] += factor * x(i);
    }
  }
  std::vector<float>& values() const noexcept { return values_->values; }

 private:
  std::shared_ptr<buffer> values_;
};

void add_classes(nb::module_& m) {
  nb::class_<scaler> bound(m, "Scaler");
  dlbridge::def(bound, nb::init<span_to_read>(), "x"_a, "Copies the factors.");
  dlbridge::def(bound, "dot", &scaler::dot, "x"_a);
  dlbridge::def(bound, "add", &scaler::add, "x"_a, "factor"_a = 1.0F);
  dlbridge::def(bound, "scaled", [](scaler const& self, argument_to_read x) {
    auto out = x.empty_like<float>();
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      out(i) = x(i) * self.values()[static_cast<std::size_t>(i)];
    }
    return out;
  });
  dlbridge::def_static(bound, "size_of", [](span_to_read x) { return x.extent(0); }, "x"_a);

  auto const view = [](scaler& self) {
    auto& values = self.values();
    return dlbridge::member_view(dlbridge::description::of(values.data(), {values.size()}));
  };
  bound.def_prop_ro("values", view);
  dlbridge::def(bound, "view", view);
  dlbridge::def(bound, "array", view, dlbridge::returns{dlbridge::library::numpy});
  dlbridge::def(
      bound, "view_like", [view](scaler& self, span_to_read) { return view(self); }, "x"_a);
  m.def("view_of_nothing", [] {
    static float memory[2] = {};
    return dlbridge::member_view(dlbridge::description::of(memory, {2}));
  });

  nb::class_<buffer> produced(m, "Buffer");
  produced.def("__init__", [](buffer* self, int n) {
    new (self) buffer{std::vector<float>(static_cast<std::size_t>(n), 1.0F)};
  });
  produced.def("resize", [](buffer& self, std::size_t n) { self.values.resize(n); }, "n"_a);
  dlbridge::def_dlpack(produced);
}

// Rows of numbers.
using matrix_shape = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using matrix = dlbridge::tensor_span<float const, matrix_shape>;
class table {
 public:
  explicit table(matrix const& from) { set_values(from); }

  std::int64_t rows() const noexcept { return rows_; }
  dlbridge::member_view values() {
    return dlbridge::member_view(dlbridge::description::of(values_.data(), {rows_, columns_}));
  }
  dlbridge::member_view row(std::size_t i) {
    return dlbridge::member_view(dlbridge::description::of(
        values_.data() + static_cast<std::int64_t>(i) * columns_, {columns_}));
  }
  void set_values(matrix const& from) {
    rows_ = from.extent(0);
    columns_ = from.extent(1);
    values_.clear();
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j) {
        values_.push_back(from(i, j));
      }
    }
  }

 private:
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::vector<float> values_{};
};

void add_members(nb::module_& m) {
  nb::class_<table> bound(m, "Table");
  // [members]
  dlbridge::def(bound, nb::init<matrix>(), "values"_a, "A table of a copy of the values.");
  dlbridge::def_property(bound, "values", &table::values, &table::set_values, "All values.");
  dlbridge::def_property_readonly(bound, "rows", &table::rows);
  dlbridge::def_property_readonly(bound, "array", &table::values,
                                  dlbridge::returns{library::numpy});
  dlbridge::def(bound, "__iter__", [](nb::object self) {
    auto& t = nb::cast<table&>(self);
    return dlbridge::make_iterator(self, static_cast<std::size_t>(t.rows()),
                                   [&t](std::size_t i) { return t.row(i); });
  });
  // [/members]
  dlbridge::def(bound, "arrays", [](nb::object self) {
    auto& t = nb::cast<table&>(self);
    return dlbridge::make_iterator(
        self, static_cast<std::size_t>(t.rows()), [&t](std::size_t i) { return t.row(i); },
        dlbridge::returns{library::numpy});
  });
  dlbridge::def(bound, "squares", [](nb::object self) {
    return dlbridge::make_iterator(self, 3, [](std::size_t i) {
      return dlbridge::build(std::vector<float>{static_cast<float>(i * i)});
    });
  });
  dlbridge::def(bound, "broken", [](nb::object self) {
    return dlbridge::make_iterator(self, 2, [](std::size_t) {
      return dlbridge::member_view(dlbridge::description::of<float>(nullptr, {-1}));
    });
  });

  // [objects]
  dlbridge::def(m, "lengths", [](nb::args all, nb::kwargs named) {
    nb::list result;
    for (nb::handle each : all) {
      result.append(dlbridge::cast<owned>(each).extent(0));
    }
    for (auto [name, value] : named) {
      result.append(dlbridge::cast<owned>(value, nb::str(name).c_str()).extent(0));
    }
    return result;
  });
  // [/objects]
  dlbridge::def(
      m, "optional_length",
      [](nb::object x) {
        auto const found = dlbridge::cast<std::optional<owned>>(x, "x");
        return found ? found->extent(0) : -1;
      },
      "x"_a.none());
  m.def("bind_none", [](nb::module_ scope) {
    dlbridge::def(scope, "needs_x", [](owned const& x) { return x.extent(0); }, "x"_a.none());
  });
  m.def("bind_a_default_of_none", [](nb::module_ scope) {
    dlbridge::def(
        scope, "needs_x", [](int, owned const& x) { return x.extent(0); }, "n"_a,
        "x"_a = nb::none());
  });
}

}  // namespace

NB_MODULE(nanobind_extension, m) {
  dlbridge::init(m);
  binder functions(m);
  add_arguments(m, functions);
  add_results(m, functions);
  add_overloads(m);
  add_changes(m);
  add_dispatch(m);
  add_python_errors(m);
  add_classes(m);
  add_members(m);
  add_visible(m);
  functions.add("fail", [](int x) { fail(x); });
  dlbridge::def(m, "fail_with", [](span_to_read, int how) { fail(how); }, "x"_a, "how"_a);
}

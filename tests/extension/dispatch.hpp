// Functions and operators of several overloads, and arguments that a call reads more than once.
// Both bindings bind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "library.hpp"

namespace dispatch {
using shape = dlbridge::shape<dlbridge::dynamic_extent>;
template <class T>
using span = dlbridge::tensor_span<T const, shape>;
template <class T>
using owned = dlbridge::tensor<T const, shape>;
using named = dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::named<'n'>>>;

struct row {
  float values[2] = {1, 2};
};
// A class whose objects a function takes over.
struct cargo {
  int weight = 4;
};
// A class that has the members of a sequence.
struct samples {
  using value_type = double;
  explicit samples(std::vector<double> x) : values(std::move(x)) {}
  std::vector<double> values;
  void push_back(double x) { values.push_back(x); }
  std::size_t size() const noexcept { return values.size(); }
  auto begin() noexcept { return values.begin(); }
  auto end() noexcept { return values.end(); }
};
// A class whose methods are called on lvalues, and that contains an object of another one.
struct holder {
  samples inner{{1, 2, 3}};
  std::size_t count() & { return inner.values.size(); }
  std::int64_t count_of(span<float> x) const& noexcept { return x.count(); }
};
// A class that counts its objects.
struct counted {
  counted() { ++alive(); }
  counted(counted const&) { ++alive(); }
  counted& operator=(counted const&) = default;
  ~counted() { --alive(); }
  static int& alive() noexcept {
    static int count = 0;
    return count;
  }
};
// A class that keeps its arguments.
struct keeper {
  dlbridge::tensor<float const, dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>>
      typed;
  dlbridge::any_tensor any;

  std::vector<std::int64_t> typed_extents() const { return {typed.extent(0), typed.extent(1)}; }
  std::vector<std::int64_t> any_extents() const {
    dlbridge::tensor_view const view = any.view();
    return std::vector<std::int64_t>(view.shape(), view.shape() + view.rank());
  }
};
// An array that is evaluated when it is exported, or cannot be.
struct deferred {
  explicit deferred(bool fails) : can_evaluate(!fails) {}
  bool can_evaluate;
  int evaluations = 0;
  std::vector<float> values{};
};
}  // namespace dispatch

template <>
struct dlbridge::array_traits<dispatch::deferred> {
  static void prepare(dispatch::deferred& x) {
    if (!x.can_evaluate) {
      throw std::runtime_error("no values to evaluate");
    }
    ++x.evaluations;
    x.values = {1, 2};
  }
  static description describe(dispatch::deferred& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
};

namespace dispatch {
// A class to which numbers are converted.
struct measured {
  explicit measured(double x) : values{static_cast<float>(x), 0} {}
  float values[2];
};
// A class that refers to the memory of an argument.
struct window {
  float const* data;
};

template <class Class>
void add_deferred_methods(Class& bound) {
  dlbridge::def_dlpack(bound);
  bound.def("evaluations", [](deferred const& self) { return self.evaluations; });
}
/// Adds an overload for a type of the binding library, which may convert an array, and then one for
/// tensors.
template <class T, class Bind>
void add_before_tensor(Bind const& bind, char const* name) {
  bind(name, [](T const&) { return "first"; }, "x");
  bind(name, [](dlbridge::any_tensor const&) { return "tensor"; }, "x");
}
/// Adds a function that returns the index of the alternative.
template <class Variant, class Bind>
void add_index_of(Bind const& bind, char const* name) {
  bind(name, [](Variant const& x) { return x.index(); }, "x");
}

/// @param bind bind(name, function, parameter names...)
template <class Bind>
void add_functions(Bind bind) {
  bind("load", [](std::unique_ptr<cargo> c, named, named) { return c->weight; }, "cargo", "x", "y");
  bind("load_any", [](std::unique_ptr<cargo>, span<float>) { return "float32"; }, "cargo", "x");
  bind("load_any", [](std::unique_ptr<cargo>&&, span<double>) { return "float64"; }, "cargo", "x");
  bind("sized", [](span<float>, bool) { return "bool"; }, "x", "größe");
  bind("sized", [](span<float>, span<float>) { return "tensor"; }, "x", "größe");
  bind(
      "nested", [](std::vector<std::vector<span<float>>> const& x) { return x.at(0).size(); }, "x");
  bind(
      "nested", [](std::vector<std::vector<span<double>>> const& x) { return 10 + x.at(0).size(); },
      "x");
  bind(
      "with_counted",
      [](owned<float> x) { return std::pair<owned<float>, counted*>(std::move(x), new counted); },
      "x");
  bind(
      "keep",
      [](decltype(keeper::typed) typed, dlbridge::any_tensor any) {
        return keeper{std::move(typed), std::move(any)};
      },
      "typed", "any");
  bind("count_counted", [] { return counted::alive(); });
  bind(
      "constants",
      [](dlbridge::any_argument const&) {
        static std::array<float, 2> const values{1, 2};
        return dlbridge::build(dlbridge::borrow(values));
      },
      "like");
  bind(
      "legacy_capsule",
      [](dlbridge::managed_tensor x) {
        return dlbridge::python::wrap_capsule(dlbridge::to_legacy(std::move(x)));
      },
      "x");
  bind(
      "kinds_of_elements",
      [](std::tuple<owned<float>, bool, std::string> x) {
        return std::pair<bool, std::string>(std::get<1>(x), std::get<2>(x));
      },
      "x");
  bind(
      "extent_beside_variant",
      [](std::vector<std::variant<span<float>, float>> const& x) {
        return std::get<0>(x.at(0)).extent(0);
      },
      "x");
  bind("stale", [](std::variant<span<float>, span<double>> const&, named, named) {}, "x", "y", "z");
  bind(
      "stale_in_tuple",
      [](std::tuple<std::variant<span<float>, span<double>>, std::string> const&) {}, "x");
  bind(
      "count_samples", [](std::pair<span<float>, samples> const& x) { return x.second.size(); },
      "x");
  bind(
      "with_samples",
      [](owned<float> x) {
        return std::pair<owned<float>, samples>(std::move(x), samples{{1, 2, 3}});
      },
      "x");
  bind("small", [](std::uint8_t n, span<float>) { return n; }, "n", "x");
  bind(
      "numbers_or_buffer",
      [](dlbridge::or_other<span<std::uint8_t>> const& x) { return x.extent(0); }, "x");
  bind("float_or_span", [](std::variant<float, span<float>> const& x) { return x.index(); }, "x");
  bind("has_row", [](std::pair<span<float>, row> const&) { return true; }, "x");
  bind(
      "lists_or_none",
      [](std::variant<std::monostate, std::vector<span<float>>, std::vector<span<double>>> const&
             x) { return x.index(); },
      "x");
  bind(
      "floats_like",
      [](dlbridge::argument<float const> x, std::vector<std::int64_t> const& extents) {
        return x.empty_like<float>(extents);
      },
      "x", "extents");
  bind("of_one_length", [](named, named) { return "float32"; }, "x", "y");
  bind("of_one_length", [](span<double>, span<double>) { return "float64"; }, "x", "y");
  bind("exact_first", [](bool) { return "bool"; }, "x");
  bind("exact_first", [](double) { return "number"; }, "x");
  bind("exact_first", [](span<float>) { return "float32"; }, "x");
  bind("converted_or_any", [](dlbridge::convert<double>) { return "converted"; }, "x");
  bind("converted_or_any", [](dlbridge::any_tensor) { return "any"; }, "x");
  add_before_tensor<std::optional<double>>(bind, "optional_first");
  add_before_tensor<std::complex<double>>(bind, "complex_first");
  add_before_tensor<std::variant<double, std::string>>(bind, "variant_first");
  add_before_tensor<std::vector<bool>>(bind, "vector_first");
  add_before_tensor<std::pair<bool, bool>>(bind, "pair_first");
  bind("beside", [](span<float>, bool) { return "bool"; }, "x", "y");
  bind("beside", [](span<float>, dlbridge::any_tensor const&) { return "tensor"; }, "x", "y");
  add_index_of<std::variant<std::optional<double>, span<double>>>(bind, "optional_or_span");
  add_index_of<std::variant<std::vector<double>, span<float>>>(bind, "vector_or_span");
  add_index_of<std::variant<std::vector<double>, std::vector<span<float>>>>(bind, "vectors");
  add_index_of<std::variant<std::pair<double, double>, std::pair<int, int>, span<float>>>(bind,
                                                                                          "pairs");
  bind("kind_of_number", [](std::int64_t, span<float>) { return "int"; }, "n", "x");
  bind("kind_of_number", [](double, span<float>) { return "float"; }, "n", "x");
  bind("count_or_tensor", [](std::uint8_t) { return "int"; }, "n");
  bind("count_or_tensor", [](span<double>) { return "tensor"; }, "n");
  bind(
      "number_beside_tensor",
      [](std::variant<std::int64_t, double, span<float>> const& x) { return x.index(); }, "x");
  bind("scaled", [](double, span<float>) { return "float32"; }, "factor", "x");
  bind("scaled", [](double, span<double>) { return "float64"; }, "factor", "x");
}

/// Adds a static method and one of objects under one name.
/// @return the message of the exception
template <class Class>
std::string add_both_kinds(Class& holder_class, char const* name, bool is_static_first) {
  auto const add_static = [&] { dlbridge::def_static(holder_class, name, [] {}); };
  try {
    if (is_static_first) {
      add_static();
    }
    dlbridge::def(holder_class, name, [](holder&) { return "method"; });
    add_static();
  } catch (std::exception const& e) {
    return e.what();
  }
  return "no exception";
}

/// @param holder_class the class of holder
/// @param internal the policy by which the binding library refers to a part of the object
template <class Class, class Policy>
void add_holder_methods(Class& holder_class, Policy internal) {
  dlbridge::def(holder_class, "count", &holder::count);
  holder_class.attr("after_static") = add_both_kinds(holder_class, "of_none", true).c_str();
  holder_class.attr("after_method") = add_both_kinds(holder_class, "of_object", false).c_str();
  dlbridge::def(holder_class, "count_of", &holder::count_of);
  dlbridge::def_property_readonly(holder_class, "inner",
                                  [](holder& self) -> samples& { return self.inner; });
  dlbridge::def(
      holder_class, "with_inner",
      [](holder& self, owned<float> x) {
        return std::pair<owned<float>, samples*>(std::move(x), &self.inner);
      },
      internal);
  dlbridge::def(
      holder_class, "views",
      [](holder& self) {
        std::vector<dlbridge::member_view> result;
        result.emplace_back(dlbridge::description::of(self.inner.values.data(), {3}));
        return result;
      },
      dlbridge::returns{dlbridge::library::numpy});
  dlbridge::def(holder_class, "view_beside", [](holder& self, span<float> x) {
    return std::pair<std::int64_t, dlbridge::member_view>(
        x.count(), dlbridge::description::of(self.inner.values.data(), {3}));
  });
  dlbridge::def(holder_class, "lengths_agree", [](holder&, named, named) {});
  dlbridge::def_property(
      holder_class, "values",
      [](holder& self) {
        return dlbridge::member_view(dlbridge::description::of(self.inner.values.data(), {3}));
      },
      nullptr, dlbridge::returns{dlbridge::library::numpy});
}

/// @param row_class the class of row
/// @param is_operator the extra of the binding library for operators
template <class Class, class IsOperator>
void add_methods(Class& row_class, IsOperator is_operator) {
  dlbridge::def(row_class, "__add__", [](row&, span<float>) { return "float32"; }, is_operator);
  dlbridge::def(row_class, "__add__", [](row&, span<double>) { return "float64"; }, is_operator);
  dlbridge::def(row_class, "__sub__", [](row&, span<float>) { return "float32"; }, is_operator);
  dlbridge::def(
      row_class, "view_or_none",
      [](row& self, bool none) {
        return none ? std::nullopt
                    : std::optional<dlbridge::member_view>(
                          dlbridge::description::of(self.values, {2}));
      },
      dlbridge::returns{dlbridge::library::numpy});
  dlbridge::def(row_class, "view_like", [](row& self, std::vector<span<float>> const&) {
    return dlbridge::member_view(dlbridge::description::of(self.values, {2}));
  });
}
}  // namespace dispatch

// Results of dtypes that are known at run time, by each way on which a tensor becomes a Python
// object. Both bindings bind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/member_view.hpp>

namespace result_dtypes {
using dlbridge::any_argument;
using dlbridge::any_tensor;
using dlbridge::library;
using dlbridge::managed_tensor;
using dlbridge::returns;

// A class with memory that its objects export.
struct table {
  double values[2] = {1e300, 2};
  dlbridge::member_view view() { return dlbridge::member_view(describe()); }
  dlbridge::description describe() { return dlbridge::description::of(values, {2}); }
};

inline managed_tensor copied(any_argument const&, any_tensor const& values) {
  return dlbridge::copy_of(values.view());
}
// Keeps the strides.
inline managed_tensor moved(any_argument const&, managed_tensor values) { return values; }
inline any_argument like(any_argument const& other, any_tensor const& values) {
  dlbridge::tensor_view const view = values.view();
  any_argument result = other.empty_like(
      view.dtype(), dlbridge::dims::from(view.shape(), static_cast<std::size_t>(view.rank())));
  dlbridge::copy(view, result);
  return result;
}

/// @tparam Function a Python function, of the binding library
/// @param bind bind(name, function, extra...)
template <class Function, class Bind>
void add_functions(Bind bind) {
  bind("managed", copied);
  bind("managed_narrow", copied, dlbridge::narrow);
  bind("moved", moved);
  bind("like", like);
  bind("like_narrow", like, dlbridge::narrow);
  bind("in_tuple", [](any_argument const& other, any_tensor const& values) {
    return std::tuple<managed_tensor, int>(copied(other, values), 1);
  });
  bind(
      "in_tuple_narrow",
      [](any_argument const& other, any_tensor const& values) {
        return std::tuple<managed_tensor, int>(copied(other, values), 1);
      },
      dlbridge::narrow);
  bind("in_list", [](any_argument const& other, any_tensor const& values) {
    std::vector<any_argument> result;
    result.push_back(like(other, values));
    return result;
  });
  bind("in_dict", [](any_argument const& other, any_tensor const& values) {
    std::map<std::string, managed_tensor> result;
    result["values"] = copied(other, values);
    return result;
  });
  bind("optional", [](any_argument const& other, any_tensor const& values) {
    return std::optional<managed_tensor>(copied(other, values));
  });
  bind("variant", [](any_argument const& other, any_tensor const& values) {
    return std::variant<std::string, managed_tensor>(copied(other, values));
  });
  bind("overloaded", copied);
  bind("overloaded", [](any_argument const&, any_tensor const&) { return "second"; });
  bind("called", [](any_argument const& other, any_tensor const& values, Function const& f) {
    return f(like(other, values));
  });
  auto const in_jax = [](any_tensor const& values) { return dlbridge::copy_of(values.view()); };
  bind("in_jax", in_jax, returns{library::jax});
  bind("in_jax_narrow", in_jax, dlbridge::narrow, returns{library::jax});
}
inline auto halves(dlbridge::argument<float const> const& x) {
  auto result = x.empty_like<double>();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    result.data()[i] = x.data()[i] / 2.0;
  }
  return result;
}

template <class Module>
void add_plain_functions(Module& m) {
  // [narrow]
  // A caller with JAX arrays receives float32, unless jax_enable_x64 is set.
  dlbridge::def(m, "halves", halves, dlbridge::narrow);
  // [/narrow]
  m.def("plain", like);
  m.def("plain", [](any_argument const&, any_tensor const&) { return "second"; });
  dlbridge::def_fast<&copied>(m, "fast");
  dlbridge::def_fast<&copied>(m, "fast_narrow", {}, "", dlbridge::narrow);
}
template <class Class>
void add_methods(Class& bound) {
  dlbridge::def_property_readonly(bound, "in_jax", &table::view, returns{library::jax});
  dlbridge::def(bound, "like", [](table& self, any_argument const&) { return self.view(); });
}
}  // namespace result_dtypes

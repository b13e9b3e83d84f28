// Functions whose containers are read more than once: by several overloads or alternatives, or
// after code of Python that changes an earlier tensor. Both bindings bind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <variant>
#include <vector>

#include <dlbridge/dlbridge.hpp>

namespace containers_read_twice {
template <class T>
using vector = dlbridge::tensor<T const, dlbridge::shape<dlbridge::dynamic_extent>>;
using span = dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>>;

using writable = dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent>>;

inline float sum(span x) {
  float result = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    result += x(i);
  }
  return result;
}

/// @param bind bind(name, function, parameter names...)
template <class Bind>
void add(Bind bind) {
  bind("floats_of", [](std::vector<vector<float>> const& x) { return x.size(); }, "x");
  bind("floats_of", [](std::vector<vector<double>> const& x) { return 10 + x.size(); }, "x");
  bind(
      "alternative_of",
      [](std::variant<std::vector<double>, std::vector<vector<float>>> const& x) {
        return 10 * x.index() + (x.index() == 0 ? std::get<0>(x).size() : std::get<1>(x).size());
      },
      "x");
  // A variant, as a call of several overloads imports its tensors before it reads containers.
  bind(
      "extent_after",
      [](std::vector<span> const& x, std::variant<vector<float>, double> const&) {
        return x.at(0).extent(0);
      },
      "x", "y");
  bind("sum_after", [](span x, span) { return sum(x); }, "x", "y");
  bind("sum_after", [](span x, float) { return sum(x); }, "x", "y");
  bind("sum_after_alone", [](span x, span) { return sum(x); }, "x", "y");
  bind("write_after", [](writable x, span) { x(x.count() - 1) = 1; }, "x", "y");
  bind("extent_after", [](int, int, int) { return std::int64_t{0}; }, "x", "y", "z");
  bind(
      "extent_in_tuple", [](std::tuple<span, span> const& x) { return std::get<0>(x).extent(0); },
      "x");
  bind("tensor_or_number", [](vector<float> const& x) { return x.count(); }, "x");
  bind("tensor_or_number", [](double) { return std::int64_t{-1}; }, "x");
}
}  // namespace containers_read_twice

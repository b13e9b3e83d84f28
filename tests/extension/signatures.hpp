// The functions of the table in tests/python/signatures.py, independent of the binding library.
// Each binding passes an object whose call binds one function: add("name", function, "x", "y").
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace signatures {

using dlbridge::argument;
using dlbridge::dynamic_extent;
using dlbridge::shape;
using dlbridge::tensor_span;

using vector = shape<dynamic_extent>;
using matrix = shape<dynamic_extent, dynamic_extent>;
using points = shape<dynamic_extent, 3>;

/// @return the sum of a vector of any span, tensor or argument type
template <class X>
double total(X const& x) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += static_cast<double>(x(i));
  }
  return sum;
}

/// @return the sum of numbers
template <class Numbers>
double total_of(Numbers const& numbers) {
  double sum = 0;
  for (double const each : numbers) {
    sum += each;
  }
  return sum;
}

/// @return a tensor of x's library, with the elements of x multiplied
template <class X>
auto times(X const& x, float factor) {
  auto out = x.template empty_like<float>();
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) = x(i) * factor;
  }
  return out;
}

/// Tensors and numbers by themselves.
template <class Add>
void add_single(Add&& add) {
  add("sum", [](tensor_span<float const, vector> x) { return total(x); }, "x");
  add(
      "fill",
      [](tensor_span<float, vector> x, float value) {
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          x(i) = value;
        }
      },
      "x", "value");
  add("doubled", [](argument<float const, vector> x) { return times(x, 2); }, "x");
  add("same", [](argument<float const> x) { return x; }, "x");
  add(
      "sum_or_zero",
      [](std::optional<tensor_span<float const, vector>> x) { return x ? total(*x) : 0; }, "x");
  add("points", [](tensor_span<double const, points> x) { return x.extent(0); }, "x");
  add(
      "compact", [](tensor_span<float const, matrix, dlbridge::row_major> x) { return x.count(); },
      "x");
  add("rank", [](dlbridge::any_tensor x) { return x.view().rank(); }, "x");
  add(
      "iota",
      [](std::int64_t n) {
        auto out = dlbridge::build_empty(dlbridge::dtype_of<float>(), {n});
        dlbridge::tensor_span<float, vector> const elements(out.view());
        for (std::int64_t i = 0; i < n; ++i) {
          elements(i) = static_cast<float>(i);
        }
        return out;
      },
      "n");
}

}  // namespace signatures

// Functions of tests of or_other<P, numbers>: parameters that also accept numbers, and lists of
// them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "signatures.hpp"

namespace signatures {

using dlbridge::or_other;
using numbers = or_other<dlbridge::convert<double, vector>, dlbridge::numbers>;

// [numbers]
// Of an array of any real dtype, a list, a tuple, a range.
inline auto running_mean(
    dlbridge::or_other<dlbridge::convert<double, vector>, dlbridge::numbers> const& x) {
  auto out = x.empty_like();
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += x(i);
    out(i) = sum / static_cast<double>(i + 1);
  }
  return out;
}
// [/numbers]

template <class Add>
void add_numbers(Add&& add) {
  add("running_mean", [](numbers const& x) { return running_mean(x); }, "x");
  add(
      "negated",
      [](or_other<dlbridge::convert<double, dlbridge::dynamic_rank, dlbridge::row_major>,
                  dlbridge::numbers> const& x) {
        auto out = x.empty_like();
        for (std::int64_t i = 0; i < x.count(); ++i) {
          out.data()[i] = -x.data()[i];
        }
        return out;
      },
      "x");
  add(
      "copied_numbers",
      [](or_other<dlbridge::tensor<float const, dlbridge::dynamic_rank>, dlbridge::numbers> x) {
        return x;
      },
      "x");
  add(
      "sum_points",
      [](or_other<tensor_span<float const, points>, dlbridge::numbers> const& x) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          sum += static_cast<double>(x(i, 0) + 10 * x(i, 1) + 100 * x(i, 2));
        }
        return sum;
      },
      "x");
  add(
      "sum_columns",
      [](or_other<tensor_span<float const, matrix, dlbridge::column_major>,
                  dlbridge::numbers> const& x) {
        return static_cast<double>(x.data()[0] + 10 * x.data()[1]);  // of one column
      },
      "x");
  add(
      "count_true",
      [](or_other<tensor_span<bool const, vector>, dlbridge::numbers> const& x) {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          count += x(i) ? 1 : 0;
        }
        return count;
      },
      "x");
  add(
      "sum_indices",
      [](or_other<dlbridge::convert<std::int64_t, vector>, dlbridge::numbers> const& x) {
        return total(x);
      },
      "x");
  add(
      "sum_bytes_or_numbers",
      [](or_other<tensor_span<std::uint8_t const, vector>> const& x) { return total(x); }, "x");
  add(
      "sum_numbers_or_zero", [](std::optional<numbers> const& x) { return x ? total(*x) : 0; },
      "x");
  add(
      "sum_lists",
      [](std::vector<numbers> const& xs) {
        double sum = 0;
        for (numbers const& each : xs) {
          sum += total(each);
        }
        return sum;
      },
      "xs");
  add(
      "kind_of_numbers",
      [](std::variant<numbers, std::string> const& x) {
        return static_cast<std::int64_t>(x.index());
      },
      "x");
  add(
      "weigh_numbers",
      [](or_other<tensor_span<double const, shape<dlbridge::named<'n'>>>, dlbridge::numbers> const&
             x,
         or_other<tensor_span<double const, shape<dlbridge::named<'n'>>>, dlbridge::numbers> const&
             y) { return total(x) + 10 * total(y); },
      "x", "y");
}

}  // namespace signatures

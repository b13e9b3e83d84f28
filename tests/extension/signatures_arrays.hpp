// Functions of tests of or_other<P, arrays> and or_other<P, arrow>: parameters that also accept
// the arrays of libraries without DLPack.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "signatures.hpp"

namespace signatures {

// [arrays]
// The mean of an array of any real dtype, a column of pandas, polars or pyarrow, a list, a buffer.
inline double mean(
    dlbridge::or_other<dlbridge::convert<double, dlbridge::shape<dlbridge::dynamic_extent>>> const&
        x) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += x(i);
  }
  return sum / static_cast<double>(x.extent(0));
}
// [/arrays]

template <class Add>
void add_arrays(Add&& add) {
  using dlbridge::any_tensor;
  using dlbridge::or_other;
  using array = or_other<tensor_span<double const, vector>, dlbridge::arrays>;
  using arrow = or_other<tensor_span<double const, vector>, dlbridge::arrow>;
  add("mean", [](or_other<dlbridge::convert<double, vector>> const& x) { return mean(x); }, "x");
  add("sum_ndarray", [](array const& x) { return total(x); }, "x");
  add("sum_arrow", [](arrow const& x) { return total(x); }, "x");
  add("sum_arrow_or_zero", [](std::optional<arrow> const& x) { return x ? total(*x) : 0; }, "x");
  add(
      "sum_arrows",
      [](std::vector<arrow> const& xs) {
        double sum = 0;
        for (arrow const& each : xs) {
          sum += total(each);
        }
        return sum;
      },
      "xs");
  add("kept_array", [](or_other<any_tensor, dlbridge::arrays> x) { return x; }, "x");
  add("kept_arrow", [](or_other<any_tensor, dlbridge::arrow> x) { return x; }, "x");
  add("kept_other", [](or_other<any_tensor> x) { return x; }, "x");
  add("kept_plain", [](any_tensor x) { return x; }, "x");
  add(
      "count_mask",
      [](or_other<tensor_span<bool const, vector>> const& x) {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          count += x(i) ? 1 : 0;
        }
        return count;
      },
      "x");
}

}  // namespace signatures

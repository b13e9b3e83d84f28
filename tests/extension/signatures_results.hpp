// Functions of the table of signatures that allocate their results.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "signatures.hpp"

namespace signatures {

using dlbridge::any_argument;

/// Fills a tensor of any shape with 0, 1, 2, ...
template <class X>
X counted(X x) {
  for (std::int64_t i = 0; i < x.count(); ++i) {
    x.data()[i] = static_cast<typename X::element_type>(i);
  }
  return x;
}

template <class Add>
void add_results(Add&& add) {
  // empty_like returns the spelled type.
  add(
      "like",
      [](argument<float const, matrix> x) -> argument<float, matrix> {
        return counted(x.empty_like());
      },
      "x");
  add(
      "like_row_major",
      [](argument<float const, matrix> x) -> argument<float, matrix, dlbridge::row_major> {
        return counted(x.empty_like());
      },
      "x");
  add(
      "like_list",
      [](argument<float const, matrix> x) -> argument<double, vector> {
        return counted(x.empty_like<double>({x.extent(1)}));
      },
      "x");
  add(
      "like_dims",
      [](argument<float const, matrix> x) -> argument<float> {
        return counted(x.empty_like<float, matrix>({x.extent(1), 1}));
      },
      "x");
  add(
      "like_vector",
      [](argument<float const, matrix> x) -> argument<float, matrix> {
        std::vector<int> const extents{2, 1};
        return counted(x.empty_like<float, matrix>(extents));
      },
      "x");
  add(
      "like_array_of_wrong_rank",
      [](argument<float const, matrix> x) {
        return x.empty_like<float, matrix>(std::array<std::int64_t, 1>{3});
      },
      "x");
  add(
      "like_dtype",
      [](argument<float const> x, std::int64_t bits) -> any_argument {
        any_argument out = x.empty_like(dlbridge::dtype(kDLInt, static_cast<int>(bits)), {2});
        dlbridge::visit(out, [](auto span) {
          using element = typename decltype(span)::element_type;
          span.data()[0] = element(1);
          span.data()[1] = element(0);
        });
        return out;
      },
      "x", "bits");
  add("same_of_any_dtype", [](any_argument x) { return x; }, "x");
  add(
      "larger",
      [](argument<float const, vector> x, argument<float const, vector> y) {
        if (x.extent(0) < y.extent(0)) {
          std::swap(x, y);
        }
        argument<float const, vector> result = std::move(y);
        result = std::move(x);
        return result;
      },
      "x", "y");
}

}  // namespace signatures

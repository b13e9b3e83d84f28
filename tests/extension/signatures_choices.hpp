// Functions of tests of any_of: parameters of one of several dtypes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlbridge/types/complex.hpp>

#include "signatures.hpp"

namespace signatures {

using dlbridge::any_of;
using dlbridge::types;
using floats = any_of<types<float const, double const>, matrix>;
using pixels = any_of<types<std::uint8_t, std::uint16_t, float>>;
using rows = any_of<types<double const, std::complex<float> const>, dlbridge::dynamic_rank,
                    dlbridge::row_major>;
using kept_floats = dlbridge::any_tensor_of<types<float const, double const>, matrix>;
using integers = any_of<types<std::int32_t const, std::int64_t const>>;

// [any_of]
using real_matrix =
    dlbridge::any_of<dlbridge::types<float const, double const>,
                     dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>>;

inline double trace(real_matrix x) {
  return dlbridge::visit(x, [](auto span) {  // a tensor_span<float const, S>, or of double
    double sum = 0;
    for (std::int64_t i = 0; i < span.extent(0) && i < span.extent(1); ++i) {
      sum += span(i, i);
    }
    return sum;
  });
}
// [/any_of]

// [same_dtype]
using real_vector = dlbridge::any_of<dlbridge::types<float const, double const>, vector>;

inline dlbridge::managed_tensor running_total(real_vector x) {
  return dlbridge::visit(x, [](auto span) {
    using T = std::remove_const_t<typename decltype(span)::element_type>;
    dlbridge::tensor<T, vector> out(
        dlbridge::build_empty(dlbridge::dtype_of<T>(), {span.extent(0)}));
    T sum = 0;
    for (std::int64_t i = 0; i < span.extent(0); ++i) {
      out(i) = sum += span(i);
    }
    return std::move(out).release();
  });
}
// [/same_dtype]

template <class Add>
void add_choices(Add&& add) {
  add("sum_diagonal", [](floats x) { return trace(x); }, "x");
  add("sum_diagonal_or_zero", [](std::optional<floats> x) { return x ? trace(*x) : 0; }, "x");
  add(
      "sum_diagonals",
      [](std::vector<floats> const& all) {
        double sum = 0;
        for (floats const& each : all) {
          sum += trace(each);
        }
        return sum;
      },
      "x");
  add("copied_choice", [](floats const& x) { return dlbridge::copy_of(x); }, "x");
  add("running_total", [](real_vector x) { return running_total(std::move(x)); }, "x");
  add("is_rows", [](rows x) { return x.view().rank(); }, "x");
  add("kept_choice", [](kept_floats x) { return x; }, "x");
  add(
      "paint",
      [](pixels x, double value) {
        dlbridge::visit(x, [value](auto span) {
          using element = typename decltype(span)::element_type;
          for (std::int64_t i = 0; i < span.count(); ++i) {
            span.data()[i] = static_cast<element>(value);
          }
        });
      },
      "x", "value");
}

}  // namespace signatures

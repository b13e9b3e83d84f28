// Functions of the table of signatures, and of tests that compare them with NumPy, for conversions
// by value and to complex numbers, and for tensors of any dtype that are row-major.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "signatures.hpp"

namespace signatures {

using dlbridge::by_value;
using dlbridge::convert;
using dlbridge::or_other;
using dlbridge::row_major_of;

// [by_value]
// A mask: bool, or another dtype whose elements are 0 and 1; or a list of them.
using mask =
    dlbridge::or_other<dlbridge::convert<bool, matrix, dlbridge::by_value>, dlbridge::numbers>;

// A list of indices: integers that int32 has, or floats without a fraction.
inline auto gather(dlbridge::argument<float const, vector> x,
                   dlbridge::convert<std::int32_t, vector, dlbridge::by_value> at) {
  auto out = x.empty_like<float>({at.extent(0)});
  for (std::int64_t i = 0; i < at.extent(0); ++i) {
    out(i) = x.at(at(i));
  }
  return out;
}
// [/by_value]

// [complex]
// Of real and complex arrays, numbers and lists.
inline auto conjugate(dlbridge::or_other<dlbridge::convert<std::complex<double>, vector>,
                                         dlbridge::numbers> const& x) {
  auto out = x.empty_like();
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) = std::conj(x(i));
  }
  return out;
}
// [/complex]

// [row_major]
// Any dtype: the bytes of an array, which is copied only if it is not row-major already.
inline std::int64_t sum_of_bytes(dlbridge::row_major_of<dlbridge::any_tensor> const& x) {
  auto const* const bytes = static_cast<unsigned char const*>(x.view().data());
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < x.view().count() * element_bytes(x.dtype()); ++i) {
    sum += bytes[i];
  }
  return sum;
}
// [/row_major]

// [row_major_of_several]
using floats = dlbridge::types<float const, double const>;

// The digits of a matrix of one of two dtypes, which is copied only if it is not row-major already.
inline double number_of(dlbridge::row_major_of<dlbridge::any_tensor_of<floats, matrix>> const& x) {
  return dlbridge::visit(x, [](auto span) {
    double number = 0;
    std::int64_t const count = span.count();
    for (std::int64_t i = 0; i < count; ++i) {
      number = 10 * number + static_cast<double>(span.data()[i]);
    }
    return number;
  });
}
// [/row_major_of_several]

/// Functions that return their argument, converted by value: an array, or also a list.
template <class T, class Add>
void add_by_value(Add&& add, std::string const& name) {
  using converted = convert<T, dlbridge::dynamic_rank, by_value>;
  add(("by_value_" + name).c_str(), [](converted x) { return x; }, "x");
  if constexpr (std::is_arithmetic_v<T> || dlbridge::dtype_of<T>().code == kDLComplex) {
    add(("listed_" + name).c_str(), [](or_other<converted, dlbridge::numbers> x) { return x; },
        "x");
  }
}

template <class Add>
void add_values(Add&& add) {
  add_by_value<bool>(add, "bool");
  add_by_value<std::int8_t>(add, "int8");
  add_by_value<std::int16_t>(add, "int16");
  add_by_value<std::int32_t>(add, "int32");
  add_by_value<std::int64_t>(add, "int64");
  add_by_value<std::uint8_t>(add, "uint8");
  add_by_value<std::uint16_t>(add, "uint16");
  add_by_value<std::uint32_t>(add, "uint32");
  add_by_value<std::uint64_t>(add, "uint64");
  add_by_value<dlbridge::float16>(add, "float16");
  add_by_value<dlbridge::bfloat16>(add, "bfloat16");
  add_by_value<dlbridge::float8_e4m3fn>(add, "float8_e4m3fn");
  add_by_value<float>(add, "float32");
  add_by_value<double>(add, "float64");
  add_by_value<std::complex<float>>(add, "complex64");
  add_by_value<std::complex<double>>(add, "complex128");
  add("converted_complex64", [](convert<std::complex<float>> x) { return x; }, "x");
  add("converted_complex128", [](convert<std::complex<double>> x) { return x; }, "x");

  add(
      "count_mask",
      [](std::optional<mask> const& x) {
        std::int64_t count = x ? 0 : -1;
        for (std::int64_t i = 0; x && i < x->extent(0); ++i) {
          for (std::int64_t j = 0; j < x->extent(1); ++j) {
            count += (*x)(i, j) ? 1 : 0;
          }
        }
        return count;
      },
      "x");
  add(
      "gather",
      [](argument<float const, vector> x, convert<std::int32_t, vector, by_value> at) {
        return gather(std::move(x), std::move(at));
      },
      "x", "at");
  add(
      "sum_columns_by_value",
      [](convert<std::uint8_t, matrix, by_value, dlbridge::column_major> x) {
        return static_cast<double>(x.data()[0] + 10 * x.data()[1]);  // of one column
      },
      "x");
  add(
      "sum_list_by_value",
      [](std::vector<tensor_span<std::uint8_t const, vector, by_value>> const& xs) {
        double sum = 0;
        for (auto const& each : xs) {
          sum += total(each);
        }
        return sum;
      },
      "xs");
  add(
      "kind_by_value",
      [](std::variant<tensor_span<std::uint8_t const, vector, by_value>,
                      convert<float, vector>> const& x) {
        return static_cast<std::int64_t>(x.index());
      },
      "x");
  add(
      "conjugate",
      [](or_other<convert<std::complex<double>, vector>, dlbridge::numbers> const& x) {
        return conjugate(x);
      },
      "x");
  add(
      "copied_complex64",
      [](or_other<convert<std::complex<float>>, dlbridge::numbers> x) { return x; }, "x");

  add(
      "sum_of_bytes", [](row_major_of<dlbridge::any_tensor> const& x) { return sum_of_bytes(x); },
      "x");
  add(
      "number_of",
      [](row_major_of<dlbridge::any_tensor_of<floats, matrix>> const& x) { return number_of(x); },
      "x");
  add(
      "number_or_zero",
      [](std::optional<or_other<row_major_of<dlbridge::any_tensor_of<floats, matrix>>>> const& x) {
        return x ? number_of(*x) : 0;
      },
      "x");
  add(
      "row_major_bools",
      [](row_major_of<dlbridge::any_tensor_of<dlbridge::types<bool const>>> x) { return x; }, "x");
  add("row_major_argument", [](row_major_of<dlbridge::any_argument> x) { return x; }, "x");
  add("row_major_tensor", [](row_major_of<dlbridge::managed_tensor> x) { return x; }, "x");
  add(
      "row_major_address",
      [](std::optional<row_major_of<dlbridge::any_tensor>> const& x) {
        return x ? reinterpret_cast<std::intptr_t>(x->view().data()) : 0;
      },
      "x");
  add(
      "row_major_buffer",
      [](or_other<row_major_of<dlbridge::any_tensor>, dlbridge::buffers> const& x) {
        return sum_of_bytes(x);
      },
      "x");
}

}  // namespace signatures

// Functions of the table of signatures for element types of 16 and 8 bits, and of tests that
// compare them with NumPy and ml_dtypes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "signatures.hpp"

namespace signatures {

/// Functions that convert each bit pattern of a type to float, and numbers to bit patterns.
template <class T, class Add>
void add_small_float(Add&& add, std::string const& name) {
  using bits = typename T::storage;
  add(("decode_" + name).c_str(),
      [](argument<T const, vector> x) {
        auto out = x.template empty_like<float>();
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          out(i) = x(i);
        }
        return out;
      },
      "x");
  auto const encode = [](auto const& x) {
    auto out = x.template empty_like<bits>();
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      out(i) = T(x(i)).bits();
    }
    return out;
  };
  add(("encode_" + name).c_str(), [encode](argument<float const, vector> x) { return encode(x); },
      "x");
  add(("encode_double_" + name).c_str(),
      [encode](argument<double const, vector> x) { return encode(x); }, "x");
  add(("encode_int64_" + name).c_str(),
      [encode](argument<std::int64_t const, vector> x) { return encode(x); }, "x");
}

// [half]
inline auto halved(dlbridge::argument<dlbridge::float16 const, vector> x) {
  auto out = x.empty_like();
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) = dlbridge::float16(x(i) / 2);  // computes with float, and rounds once
  }
  return out;
}
// [/half]

template <class Add>
void add_element_types(Add&& add) {
  add_small_float<dlbridge::float16>(add, "float16");
  add_small_float<dlbridge::bfloat16>(add, "bfloat16");
  add_small_float<dlbridge::float8_e3m4>(add, "float8_e3m4");
  add_small_float<dlbridge::float8_e4m3>(add, "float8_e4m3");
  add_small_float<dlbridge::float8_e4m3b11fnuz>(add, "float8_e4m3b11fnuz");
  add_small_float<dlbridge::float8_e4m3fn>(add, "float8_e4m3fn");
  add_small_float<dlbridge::float8_e4m3fnuz>(add, "float8_e4m3fnuz");
  add_small_float<dlbridge::float8_e5m2>(add, "float8_e5m2");
  add_small_float<dlbridge::float8_e5m2fnuz>(add, "float8_e5m2fnuz");
  add_small_float<dlbridge::float8_e8m0fnu>(add, "float8_e8m0fnu");
  add(
      "halved", [](argument<dlbridge::float16 const, vector> x) { return halved(std::move(x)); },
      "x");
  add(
      "negate_bfloat16",
      [](tensor_span<dlbridge::bfloat16, vector> x) {
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          x(i) = dlbridge::bfloat16(-x(i));
        }
      },
      "x");
}

using dlbridge::convert;
using dlbridge::converted;
using converted_span = tensor_span<float const, vector, converted>;

// [convert]
inline auto running_sum(dlbridge::convert<float, vector> x) {  // float32, or a copy converted to it
  auto out = x.empty_like();                                   // of the caller's library
  float sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) = sum += x(i);
  }
  return out;
}
// [/convert]

/// A class whose constructor and static method convert.
struct summed {
  explicit summed(convert<float, vector> x) : sum(total(x)) {}
  static double of(converted_span x) { return total(x); }
  double sum;
};

/// A function that returns its converted argument.
template <class T, class Add>
void add_converted(Add&& add, std::string const& name) {
  add(("converted_" + name).c_str(), [](convert<T> x) { return x; }, "x");
}

template <class Add>
void add_conversions(Add&& add) {
  add_converted<std::int8_t>(add, "int8");
  add_converted<std::int16_t>(add, "int16");
  add_converted<std::int32_t>(add, "int32");
  add_converted<std::int64_t>(add, "int64");
  add_converted<std::uint8_t>(add, "uint8");
  add_converted<std::uint16_t>(add, "uint16");
  add_converted<std::uint32_t>(add, "uint32");
  add_converted<std::uint64_t>(add, "uint64");
  add_converted<float>(add, "float32");
  add_converted<double>(add, "float64");
  add_converted<dlbridge::float16>(add, "float16");
  add_converted<dlbridge::bfloat16>(add, "bfloat16");
  add_converted<dlbridge::float8_e4m3fn>(add, "float8_e4m3fn");
  // What the function received: the strides of a matrix, or whether it is a copy, or its address.
  auto const property = [](auto const& x, std::int64_t which) {
    return which == 0 || which == 1 ? x.stride(static_cast<int>(which))
           : which == 2             ? std::int64_t{x.view().is_copied()}
                                    : reinterpret_cast<std::intptr_t>(x.data());
  };
  add(
      "property_of_span",
      [property](tensor_span<float const, matrix, converted> x, std::int64_t which) {
        return property(x, which);
      },
      "x", "which");
  add(
      "property_of_converted",
      [property](convert<float, matrix> x, std::int64_t which) { return property(x, which); }, "x",
      "which");
  add(
      "property_of_row_major",
      [property](convert<float, matrix, dlbridge::row_major> x, std::int64_t which) {
        return property(x, which);
      },
      "x", "which");
  add(
      "property_of_column_major",
      [property](convert<float, matrix, dlbridge::column_major> x, std::int64_t which) {
        return property(x, which);
      },
      "x", "which");
  add(
      "property_of_aligned",
      [property](convert<float, matrix, dlbridge::aligned<64>> x, std::int64_t which) {
        return property(x, which);
      },
      "x", "which");

  add("running_sum", [](convert<float, vector> x) { return running_sum(std::move(x)); }, "x");
  add("sum_converted", [](converted_span x) { return total(x); }, "x");
  add("double_converted", [](convert<float, vector> x) { return times(x, 2); }, "x");
  add("same_converted", [](convert<float> x) { return x; }, "x");
  add(
      "sum_converted_tensor",
      [](dlbridge::tensor<float const, vector, converted> x) { return total(x); }, "x");
  add(
      "sum_converted_or_zero", [](std::optional<converted_span> x) { return x ? total(*x) : 0; },
      "x");
  add(
      "sum_converted_list",
      [](std::vector<converted_span> const& xs) {
        double sum = 0;
        for (auto const& each : xs) {
          sum += total(each);
        }
        return sum;
      },
      "xs");
  add(
      "sum_converted_dict",
      [](std::map<std::string, convert<float, vector>> const& xs) {
        double sum = 0;
        for (auto const& [name, each] : xs) {
          sum += total(each);
        }
        return sum;
      },
      "xs");
  add(
      "kind_of_converted",
      [](std::variant<argument<std::int32_t const>, convert<float>> const& x) {
        return static_cast<std::int64_t>(x.index());
      },
      "x");
  add(
      "sum_converted_integers",
      [](tensor_span<std::int32_t const, vector, converted> x) { return total(x); }, "x");
  add(
      "dot_converted",
      [](tensor_span<float const, shape<dlbridge::named<'n'>>, converted> x,
         convert<double, shape<dlbridge::named<'n'>>> y) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          sum += static_cast<double>(x(i)) * y(i);
        }
        return sum;
      },
      "x", "y");
}

// [broadcast]
using dlbridge::broadcast_to;
using operand = std::variant<float, dlbridge::convert<float>>;

inline auto add(dlbridge::argument<float const, matrix> x, operand const& y) {
  auto out = x.empty_like();
  auto const other = broadcast_to<float, matrix>(y, x);  // of the extents of x
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      out(i, j) = x(i, j) + other(i, j);
    }
  }
  return out;
}
// [/broadcast]

template <class Add>
void add_broadcasts(Add&& bind) {
  bind(
      "add", [](argument<float const, matrix> x, operand const& y) { return add(std::move(x), y); },
      "x", "y");
  bind(
      "scale",
      [](argument<float const, matrix> x, std::variant<float, tensor_span<float const>> const& y) {
        auto out = x.empty_like();
        auto const factor = broadcast_to<float, matrix>(y, {x.extent(0), x.extent(1)});
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          for (std::int64_t j = 0; j < x.extent(1); ++j) {
            out(i, j) = x(i, j) * factor(i, j);
          }
        }
        return out;
      },
      "x", "y");
  // An outer product, of the extents to which both broadcast.
  bind(
      "multiply_both",
      [](convert<float> x, convert<float> y) {
        auto out = x.empty_like<float, matrix>(dlbridge::broadcast_extents(x, y));
        auto const a = broadcast_to<float, matrix>(x, out);
        auto const b = broadcast_to<float, matrix>(y, out);
        for (std::int64_t i = 0; i < out.extent(0); ++i) {
          for (std::int64_t j = 0; j < out.extent(1); ++j) {
            out(i, j) = a(i, j) * b(i, j);
          }
        }
        return out;
      },
      "x", "y");
  // Copies of what is broadcast, for tests of every shape.
  bind(
      "broadcast_like",
      [](argument<float const> x, dlbridge::any_tensor like) {
        auto const view = broadcast_to<float>(x, like);
        return dlbridge::copy_of(view.view());
      },
      "x", "like");
  bind(
      "broadcast_strides",
      [](argument<float const> x, argument<float const> like) {
        auto const view = broadcast_to<float>(x, like);
        auto out = x.empty_like<std::int64_t>({std::int64_t{view.rank()}});
        for (int i = 0; i < view.rank(); ++i) {
          out(i) = view.data() == x.data() ? view.stride(i) : -1;
        }
        return out;
      },
      "x", "like");
  bind(
      "broadcast_number_like",
      [](double x, dlbridge::any_tensor like) {
        auto const view = broadcast_to<double>(x, like);
        return dlbridge::copy_of(view.view());
      },
      "x", "like");
}

}  // namespace signatures

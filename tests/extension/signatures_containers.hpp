// Functions of the table of signatures whose parameters and results are containers of tensors.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "signatures.hpp"

namespace signatures {

using borrowed = tensor_span<float const, vector>;
using owned = argument<float const, vector>;

template <class Tensors>
std::vector<double> totals(Tensors const& tensors) {
  std::vector<double> result;
  for (auto const& each : tensors) {
    result.push_back(total(each));
  }
  return result;
}

/// Parameters.
template <class Add>
void add_containers(Add&& add) {
  add("sum_list", [](std::vector<borrowed> const& xs) { return total_of(totals(xs)); }, "xs");
  add("sum_owned_list", [](std::vector<owned> xs) { return total_of(totals(xs)); }, "xs");
  add(
      "sum_dict",
      [](std::map<std::string, borrowed> const& xs) {
        double sum = 0;
        for (auto const& [name, each] : xs) {
          sum += total(each) * static_cast<double>(name.size());
        }
        return sum;
      },
      "xs");
  add(
      "sum_pair", [](std::pair<borrowed, double> const& x) { return total(x.first) * x.second; },
      "x");
  add(
      "sum_tuple",
      [](std::tuple<borrowed, owned, int> x) {
        return total(std::get<0>(x)) + total(std::get<1>(x)) + std::get<2>(x);
      },
      "x");
  add("sum_array", [](std::array<borrowed, 2> const& x) { return total(x[0]) + total(x[1]); }, "x");
  add(
      "sum_optional_list",
      [](std::optional<std::vector<borrowed>> const& xs) {
        return xs ? total_of(totals(*xs)) : -1.0;
      },
      "xs");
  add(
      "sum_list_of_optional",
      [](std::vector<std::optional<owned>> const& xs) {
        double sum = 0;
        for (auto const& each : xs) {
          sum += each ? total(*each) : 100;
        }
        return sum;
      },
      "xs");
  add(
      "kind_of_variant",
      [](std::variant<owned, argument<std::int32_t const, vector>> const& x) {
        return static_cast<std::int64_t>(x.index());
      },
      "x");
  add(
      "fill_all",
      [](std::vector<tensor_span<float, vector>> const& xs, float value) {
        for (auto const& x : xs) {
          for (std::int64_t i = 0; i < x.extent(0); ++i) {
            x(i) = value;
          }
        }
      },
      "xs", "value");
}

/// Extents that agree by name.
template <class Add>
void add_named_extents(Add&& add) {
  using dlbridge::named;
  using points_n = tensor_span<float const, shape<named<'n'>, 3>>;
  using weights_n = tensor_span<float const, shape<named<'n'>>>;
  add("weigh", [](points_n x, weights_n y) { return x.extent(0) * y.extent(0); }, "x", "y");
  add(
      "weigh_optional",
      [](points_n x, std::optional<weights_n> y) { return x.extent(0) + (y ? y->extent(0) : 0); },
      "x", "y");
  add(
      "multiply",
      [](argument<float const, shape<named<'n'>, named<'k'>>> x,
         argument<float const, shape<named<'k'>, named<'m'>>> y) {
        auto out = x.empty_like({x.extent(0), y.extent(1)});
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          for (std::int64_t j = 0; j < y.extent(1); ++j) {
            out(i, j) = 0;
            for (std::int64_t k = 0; k < x.extent(1); ++k) {
              out(i, j) += x(i, k) * y(k, j);
            }
          }
        }
        return out;
      },
      "x", "y");
  add(
      "trace",
      [](tensor_span<float const, shape<named<'n'>, named<'n'>>> x) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          sum += static_cast<double>(x(i, i));
        }
        return sum;
      },
      "x");
  add(
      "agree_inside",
      [](argument<float const> x, argument<float const> y) {
        weights_n const a(x.view());
        weights_n const b(y.view());
        dlbridge::require_agreement(a, b);
        return a.extent(0);
      },
      "x", "y");
}

/// Results, and numbers in place of tensors.
template <class Add>
void add_container_results(Add&& add) {
  add(
      "plus",
      [](argument<float const, vector> x, std::variant<float, owned> y) {
        auto out = x.empty_like();
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          out(i) = x(i) + (y.index() == 0 ? std::get<0>(y) : std::get<1>(y)(i));
        }
        return out;
      },
      "x", "y");
  add(
      "kind_of_number",
      [](std::variant<std::int64_t, double, owned> const& x) {
        return static_cast<std::int64_t>(x.index());
      },
      "x");
  add(
      "split",
      [](argument<float const, vector> x) {
        std::vector<argument<float, vector>> parts;
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          parts.push_back(x.empty_like({1}));
          parts.back()(0) = x(i);
        }
        return parts;
      },
      "x");
  add(
      "named",
      [](argument<float const, vector> x) {
        std::map<std::string, argument<float, vector>> result;
        result.emplace("double", times(x, 2));
        result.emplace("half", times(x, 0.5F));
        return result;
      },
      "x");
  add(
      "pair_of", [](argument<float const, vector> x) { return std::make_pair(times(x, 3), 3); },
      "x");
  add(
      "tuple_of",
      [](std::vector<owned> xs) {
        return std::make_tuple(times(xs.at(0), 2), std::string("two"),
                               dlbridge::copy_of(xs.at(0).view()));
      },
      "xs");
  add(
      "either_of",
      [](owned x, bool sum) -> std::variant<double, owned> {
        if (sum) {
          return total(x);
        }
        return x;
      },
      "x", "sum");
  add(
      "maybe",
      [](std::optional<owned> x) -> std::optional<argument<float, vector>> {
        if (!x) {
          return std::nullopt;
        }
        return times(*x, 2);
      },
      "x");
  add("same_list", [](std::vector<owned> xs) { return xs; }, "xs");
  add(
      "chunks",  // of two levels, as generators of contours return
      [](argument<float const, vector> x, bool with_offsets) {
        using list = std::vector<std::optional<argument<float, vector>>>;
        list parts;
        parts.emplace_back(times(x, 2));
        parts.emplace_back(std::nullopt);
        std::map<std::string, argument<float, vector>> offsets;
        std::variant<std::tuple<list, list>, std::tuple<list, decltype(offsets)>> result;
        if (with_offsets) {
          offsets.emplace("x", times(x, 3));
          result = std::make_tuple(std::move(parts), std::move(offsets));
        } else {
          result = std::make_tuple(std::move(parts), list());
        }
        return result;
      },
      "x", "with_offsets");
}

}  // namespace signatures

// Functions of tests of or_other<P, buffers>: parameters that also accept Python buffers.
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

using dlbridge::buffers;
using dlbridge::or_other;
using bytes = or_other<tensor_span<std::uint8_t const, vector>, buffers>;

// [buffers]
// The checksum of an array of bytes, or of bytes, a bytearray, a memoryview, an mmap.
inline std::int64_t checksum(dlbridge::or_other<dlbridge::tensor_span<std::uint8_t const, vector>,
                                                dlbridge::buffers> const& x) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum = (31 * sum + x(i)) % 65521;
  }
  return sum;
}
// [/buffers]

template <class Add>
void add_buffers(Add&& add) {
  add("checksum", [](bytes const& x) { return checksum(x); }, "x");
  add("sum_bytes", [](bytes const& x) { return total(x); }, "x");
  add(
      "double_all",
      [](or_other<tensor_span<double, vector>, buffers> const& x) {
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          x(i) *= 2;
        }
      },
      "x");
  add(
      "count_bits",
      [](or_other<dlbridge::any_tensor, buffers> const& x) {
        return x.view().count() * x.dtype().bits;
      },
      "x");
  add("same_buffer", [](or_other<dlbridge::any_tensor, buffers> x) { return x; }, "x");
  add("kept_buffer", [](or_other<dlbridge::managed_tensor, buffers> x) { return x; }, "x");
  add(
      "double_buffer",
      [](or_other<argument<double const, vector>, buffers> const& x) {
        auto out = x.empty_like<double>();
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          out(i) = 2 * x(i);
        }
        return out;
      },
      "x");
  add(
      "sum_converted_buffer",
      [](or_other<dlbridge::convert<float, vector>, buffers> const& x) { return total(x); }, "x");
  add("sum_buffer_or_zero", [](std::optional<bytes> const& x) { return x ? total(*x) : 0; }, "x");
  add(
      "sum_buffers",
      [](std::vector<bytes> const& xs) {
        double sum = 0;
        for (bytes const& each : xs) {
          sum += total(each);
        }
        return sum;
      },
      "xs");
  add(
      "kind_of_buffer",
      [](std::variant<bytes, std::string> const& x) {
        return static_cast<std::int64_t>(x.index());
      },
      "x");
  using named = shape<dlbridge::named<'n'>>;
  add(
      "count_both",
      [](or_other<tensor_span<std::uint8_t const, named>, buffers> const& x,
         tensor_span<float const, named> y) { return x.count() + y.count(); },
      "x", "y");
}

}  // namespace signatures

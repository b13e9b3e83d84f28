// SPDX-License-Identifier: BSD-3-Clause
// broadcast.hpp: views that repeat numbers and tensors. tests/python/test_broadcast.py compares
// them with those of NumPy.
#include <dlbridge/any_tensor.hpp>
#include <dlbridge/broadcast.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/types/small_floats.hpp>

#include <dlbridge/bridges/std.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <variant>
#include <vector>

#include "refusal.hpp"

// Element types of another library. A number becomes an element by what the dtype holds.
enum class label : std::uint8_t {};
struct counter {
  counter() = default;
  explicit counter(std::int64_t number) : value(number) {}
  std::int64_t value = 0;
};
struct half {
  half() = default;
  explicit half(float number) : value(number) {}
  dlbridge::float16 value;
};
template <>
struct dlbridge::dtype_traits<label> {
  static constexpr dlbridge::dtype value{kDLUInt, 8};
};
template <>
struct dlbridge::dtype_traits<counter> {
  static constexpr dlbridge::dtype value{kDLInt, 64};
};
template <>
struct dlbridge::dtype_traits<half> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};

namespace {

using dlbridge::broadcast_extents;
using dlbridge::broadcast_span;
using dlbridge::broadcast_to;
using dlbridge::dims;
using dlbridge::dynamic_extent;
using dlbridge::managed_tensor;
using dlbridge::shape;
using dlbridge::tensor_span;

using matrix = shape<dynamic_extent, dynamic_extent>;

std::vector<std::int64_t> list(dims const& extents) {
  return {extents.data(), extents.data() + extents.size()};
}

TEST(BroadcastTo, RepeatsANumber) {
  auto const x = broadcast_to<float, matrix>(2.5, {2, 3});
  EXPECT_EQ(x(0, 0), 2.5F);
  EXPECT_EQ(x(1, 2), 2.5F);
  EXPECT_EQ(x.count(), 6);
  EXPECT_EQ(x.extent(1), 3);
  EXPECT_EQ(x.stride(0), 0);
  EXPECT_TRUE(x.view().read_only());
  EXPECT_STREQ(name_of(x.view()).c_str(), "float32[2, 3] on cpu");
  auto const halves = broadcast_to<dlbridge::float16>(1.5F, {2});
  EXPECT_EQ(halves.data()[0], 1.5F);
  EXPECT_EQ(broadcast_to<std::int64_t>(true, dims()).rank(), 0);
  EXPECT_EQ((broadcast_to<std::uint8_t, shape<1>>(255.0, {1})(0)), 255);
  EXPECT_EQ((broadcast_to<float, shape<1>>(1e300, {1})[0]), HUGE_VALF);
}

TEST(BroadcastTo, RefusesANumberThatAnIntegerDoesNotRepresent) {
  auto const refused = [](auto number, auto like) {
    return refusal_of([&] { return broadcast_to<decltype(like)>(number, {1}); });
  };
  EXPECT_EQ(refused(300, std::uint8_t{}),
            "bad_argument: bad argument: expected a number that the dtype has: uint8; got 300");
  EXPECT_EQ(refused(-1, std::uint64_t{}),
            "bad_argument: bad argument: expected a number that the dtype has: uint64; got -1");
  EXPECT_EQ(refused(INT64_MAX - 1, std::int32_t{}),
            "bad_argument: bad argument: expected a number that the dtype has: int32; got "
            "9223372036854775806");
  EXPECT_EQ(refused(UINT64_MAX, std::int64_t{}),
            "bad_argument: bad argument: expected a number that the dtype has: int64; got "
            "18446744073709551615");
  EXPECT_EQ(refused(3.75, std::int32_t{}),
            "bad_argument: bad argument: expected a number that the dtype has: int32; got 3.75");
  EXPECT_EQ(refused(300, std::byte{}),
            "bad_argument: bad argument: expected a number that the dtype has: uint8; got 300");
  for (double const number : {1e20, 0x1p63, -0x1.0p64, std::nan(""), HUGE_VAL}) {
    EXPECT_NE(refused(number, std::int64_t{}), "") << number;
  }
  EXPECT_EQ((broadcast_to<std::int64_t, shape<1>>(-0x1p63, {1})(0)),
            std::numeric_limits<std::int64_t>::min());
}

TEST(BroadcastTo, AnEnumOrAClassHasTheNumbersOfItsDtype) {
  EXPECT_EQ((broadcast_to<label, shape<1>>(7, {1})(0)), label{7});
  EXPECT_EQ((broadcast_to<counter, shape<1>>(16777217, {1})(0).value), 16777217);
  double const above_the_middle = 1 + 1.0 / 2048 + 1.0 / (1LL << 40);  // of two halves
  EXPECT_EQ((broadcast_to<half, shape<1>>(above_the_middle, {1})(0).value.bits()), 0x3C01);
  EXPECT_EQ(refusal_of([] { return broadcast_to<label>(300, {1}); }),
            "bad_argument: bad argument: expected a number that the dtype has: uint8; got 300");
  EXPECT_EQ(refusal_of([] { return broadcast_to<counter>(1.5, {1}); }),
            "bad_argument: bad argument: expected a number that the dtype has: int64; got 1.5");
}

TEST(BroadcastTo, ChecksTheIndicesOfAt) {
  auto const x = broadcast_to<float, matrix>(2.5, {2, 3});
  EXPECT_EQ(x.at(1, 2), 2.5F);
  EXPECT_THROW(x.at(1, 3), std::out_of_range);
}

TEST(BroadcastTo, RepeatsExtentsOf1AndMissingOnes) {
  managed_tensor const m = dlbridge::build(std::vector<std::array<float, 1>>{{1}, {2}});
  auto const x = broadcast_to<float, shape<4, 2, dynamic_extent>>(m, {4, 2, 3});
  EXPECT_EQ(x.data(), m.view().data());
  EXPECT_EQ(x.stride(0), 0);
  EXPECT_EQ(x.stride(1), 1);
  EXPECT_EQ(x.stride(2), 0);
  EXPECT_EQ(x(3, 1, 2), 2);
  EXPECT_EQ(x(0, 0, 2), 1);
}

TEST(BroadcastTo, OfEmptyExtents) {
  managed_tensor const one = dlbridge::build(std::vector<float>{1});
  EXPECT_EQ(broadcast_to<float>(one, {3, 0}).count(), 0);
  managed_tensor const none = dlbridge::build(std::vector<float>{});
  EXPECT_EQ(broadcast_to<float>(none, {3, 0}).count(), 0);
  EXPECT_EQ(
      refusal_of([&] { return broadcast_to<float>(none, {1}); }),
      "extent_mismatch: expected extents that broadcast to [1]; got float32[0] on cpu: extents "
      "differ");
}

TEST(BroadcastTo, TheExtentsOfATensor) {
  managed_tensor const m = dlbridge::build(std::vector<std::array<std::uint8_t, 3>>(2));
  EXPECT_EQ(broadcast_to<float>(1, m).extent(1), 3);
  tensor_span<std::uint8_t, matrix> const span(m.view());
  EXPECT_EQ((broadcast_to<std::uint8_t, matrix>(span, span).stride(0)), 3);
  EXPECT_EQ(broadcast_to<float>(1, m.view()).rank(), 2);
}

TEST(BroadcastTo, AVariant) {
  using operand = std::variant<float, tensor_span<float const>>;
  managed_tensor const m = dlbridge::build(std::vector<float>{1, 2, 3});
  operand y = 4.0F;
  EXPECT_EQ((broadcast_to<float, matrix>(y, {2, 3})(1, 1)), 4);
  y = tensor_span<float const>(m.view());
  EXPECT_EQ((broadcast_to<float, matrix>(y, {2, 3})(1, 1)), 2);
  EXPECT_EQ(list(broadcast_extents(y, 1.0F)), std::vector<std::int64_t>{3});
}

TEST(BroadcastTo, RefusesOtherExtentsWithBothShapes) {
  managed_tensor const m = dlbridge::build(std::vector<std::array<float, 3>>(2));
  EXPECT_EQ(refusal_of([&] { return broadcast_to<float>(m, {2, 4}); }),
            "extent_mismatch: expected extents that broadcast to [2, 4]; got float32[2, 3] on cpu: "
            "extents differ");
  EXPECT_EQ(refusal_of([&] { return broadcast_to<float>(m, {3}); }),
            "rank_mismatch: expected extents that broadcast to [3]; got float32[2, 3] on cpu: rank "
            "differs");
  EXPECT_EQ(
      refusal_of([&] { return broadcast_to<double>(m, {2, 3}); }),
      "dtype_mismatch: expected float64[...] on cpu; got float32[2, 3] on cpu: dtype differs");
  EXPECT_EQ(refusal_of([&] { return broadcast_to<float, matrix>(m, {5, 2, 3}); }),
            "rank_mismatch: expected float32[*, *] on cpu; got float32[5, 2, 3] on cpu: rank "
            "differs");
  EXPECT_EQ(refusal_of([] { return broadcast_to<float, shape<3>>(1, {2}); }),
            "extent_mismatch: expected float32[3] on cpu; got float32[2] on cpu: extents differ");
}

TEST(BroadcastTo, RefusesExtentsThatNoTensorHas) {
  EXPECT_EQ(refusal_of([] { return broadcast_to<float>(1, {2, -1}); }),
            "bad_argument: bad argument: expected extents of 0 and above; got shape [2, -1]");
  std::int64_t const large = std::int64_t{1} << 32;
  EXPECT_EQ(refusal_of([&] { return broadcast_to<float>(1, {large, large}); }),
            "overflow: size overflows: expected a size that fits 64 bits; got shape [4294967296, "
            "4294967296]");
  EXPECT_EQ(refusal_of([&] { return broadcast_to<double>(1, {INT64_MAX}); }).substr(0, 8),
            "overflow")
      << "of its bits";
  std::vector<int> const many(65, 1);
  EXPECT_EQ(refusal_of([&] { return broadcast_to<float>(1, dims::from(many.data(), 65)); }),
            "bad_argument: bad argument: expected at most 64 extents; got shape of more than 64 "
            "dimensions");
}

// The number is stored in the object, and copies with it.
TEST(BroadcastSpan, CopiesANumber) {
  auto const x = broadcast_to<float, matrix>(1, {2, 3});
  std::optional<broadcast_span<float, matrix>> first(broadcast_to<float, matrix>(7, {1, 1}));
  auto const second = *first;
  auto third = x;
  third = *first;
  first.reset();
  EXPECT_EQ(second(0, 0), 7);
  EXPECT_EQ(third(0, 0), 7);
  EXPECT_EQ(third.extent(1), 1);
  EXPECT_EQ(second.view().data(), second.data());
  EXPECT_NE(second.data(), third.data());
}

TEST(BroadcastSpan, IsAViewForOtherFunctions) {
  managed_tensor const m = dlbridge::build(std::vector<float>{1, 2});
  auto const x = broadcast_to<float>(m, {2, 2});
  managed_tensor const copy = dlbridge::copy_of(x.view());
  auto const* const elements = static_cast<float const*>(copy.view().data());
  EXPECT_EQ(std::vector<float>(elements, elements + 4), (std::vector<float>{1, 2, 1, 2}));
  tensor_span<float const, matrix> const span(x.view());
  EXPECT_EQ(span(1, 1), 2);
  EXPECT_EQ((tensor_span<float const, matrix>(x)(1, 1)), 2);
  EXPECT_EQ(dlbridge::tensor_view(x).count(), 4);
  EXPECT_EQ(refusal_of([&] { return tensor_span<float, matrix>(x.view()); }).substr(0, 9),
            "read_only");
}

TEST(BroadcastSpan, MayBecomeABroadcastOfItself) {
  auto x = broadcast_to<float, matrix>(2.0F, {1, 3});
  x = broadcast_to<float, matrix>(x, {4, 3});
  EXPECT_EQ(x(3, 2), 2);
  EXPECT_EQ(x.extent(0), 4);
}

TEST(BroadcastExtents, OfNumbersAndTensors) {
  managed_tensor const column = dlbridge::build(std::vector<std::array<float, 1>>(2));
  managed_tensor const row = dlbridge::build(std::vector<float>(3));
  EXPECT_EQ(list(broadcast_extents(column, row)), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(list(broadcast_extents(row, column, 1)), (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(list(broadcast_extents(1, 2)).empty());
  managed_tensor const two = dlbridge::build(std::vector<float>(2));
  EXPECT_EQ(refusal_of([&] { return broadcast_extents(row, two); }),
            "extent_mismatch: expected extents that broadcast with [3]; got [2]: extents differ");
}

TEST(BroadcastExtents, OfOtherExtents) {
  managed_tensor const row = dlbridge::build(std::vector<float>(3));
  managed_tensor const column = dlbridge::build(std::vector<std::array<float, 1>>(2));
  dims const first = broadcast_extents(row, 1);
  EXPECT_EQ(list(broadcast_extents(first, column)), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(refusal_of([] { return broadcast_extents(dims{-2}, 1); }).substr(0, 12),
            "bad_argument");
}

TEST(Broadcast, ANumberOfASmallFloatIsConverted) {
  using dlbridge::bfloat16;
  using dlbridge::float16;
  EXPECT_EQ((broadcast_to<float, shape<3>>(bfloat16(1.5F), {3})(2)), 1.5F);
  EXPECT_EQ((broadcast_to<double, shape<3>>(float16(0.5F), {3})(2)), 0.5);
  EXPECT_EQ((broadcast_to<bfloat16, shape<3>>(float16(0.5F), {3})(2)), 0.5F);
  EXPECT_EQ((broadcast_to<bfloat16, shape<3>>(bfloat16(2), {3})(2)), 2.F);
}

TEST(Broadcast, HasTheMembersOfASpan) {
  using span = tensor_span<float const, matrix>;
  using view = broadcast_span<float, matrix>;
  static_assert(view::has_static_rank && !broadcast_span<float>::has_static_rank);
  static_assert(view::required().rank == span::required().rank &&
                view::required().alignment == span::required().alignment &&
                !view::required().writable);
  auto const ones = broadcast_to<float, matrix>(1, {2, 3});
  EXPECT_EQ(ones.device(), dlbridge::cpu);
  EXPECT_TRUE(dlbridge::check_view(ones.view(), view::required()).ok());
}

}  // namespace

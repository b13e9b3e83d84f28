// SPDX-License-Identifier: BSD-3-Clause
// types/small_floats.hpp: the numbers of 16 and 8 bits. tests/python/test_small_floats.py compares
// all bit patterns with NumPy and ml_dtypes.
#include <dlbridge/dlbridge.hpp>
#include <dlbridge/types/small_floats.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "refusal.hpp"

namespace {

using dlbridge::bfloat16;
using dlbridge::dtype_of;
using dlbridge::float16;
using dlbridge::float8_e3m4;
using dlbridge::float8_e4m3;
using dlbridge::float8_e4m3b11fnuz;
using dlbridge::float8_e4m3fn;
using dlbridge::float8_e4m3fnuz;
using dlbridge::float8_e5m2;
using dlbridge::float8_e5m2fnuz;
using dlbridge::float8_e8m0fnu;

template <class T>
constexpr bool is_storage = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                            std::is_trivially_default_constructible_v<T> &&
                            sizeof(T) * 8 == dtype_of<T>().bits && dtype_of<T>().lanes == 1;
static_assert(is_storage<float16> && is_storage<bfloat16> && is_storage<float8_e4m3fn> &&
              is_storage<float8_e5m2> && is_storage<float8_e8m0fnu>);
static_assert(!std::is_convertible_v<float, float16>, "a rounding is explicit");
static_assert(!std::is_convertible_v<float16, bfloat16>);
static_assert(std::is_convertible_v<float16, float>);
static_assert(float16::from_bits(0x3C00).bits() == 0x3C00);
static_assert(dtype_of<float16 const>() == dlbridge::dtype(kDLFloat, 16));
static_assert(dtype_of<bfloat16>() == dlbridge::dtype(kDLBfloat, 16));

TEST(SmallFloats, NamesAreThoseOfMlDtypes) {
  EXPECT_STREQ(name_of(dtype_of<float16>()).c_str(), "float16");
  EXPECT_STREQ(name_of(dtype_of<bfloat16>()).c_str(), "bfloat16");
  EXPECT_STREQ(name_of(dtype_of<dlbridge::float8_e3m4>()).c_str(), "float8_e3m4");
  EXPECT_STREQ(name_of(dtype_of<dlbridge::float8_e4m3>()).c_str(), "float8_e4m3");
  EXPECT_STREQ(name_of(dtype_of<dlbridge::float8_e4m3b11fnuz>()).c_str(), "float8_e4m3b11fnuz");
  EXPECT_STREQ(name_of(dtype_of<float8_e4m3fn>()).c_str(), "float8_e4m3fn");
  EXPECT_STREQ(name_of(dtype_of<float8_e4m3fnuz>()).c_str(), "float8_e4m3fnuz");
  EXPECT_STREQ(name_of(dtype_of<float8_e5m2>()).c_str(), "float8_e5m2");
  EXPECT_STREQ(name_of(dtype_of<dlbridge::float8_e5m2fnuz>()).c_str(), "float8_e5m2fnuz");
  EXPECT_STREQ(name_of(dtype_of<float8_e8m0fnu>()).c_str(), "float8_e8m0fnu");
}

TEST(SmallFloats, BitsOfSomeNumbers) {
  EXPECT_EQ(float16(1.0F).bits(), 0x3C00);
  EXPECT_EQ(float16(-2).bits(), 0xC000);
  EXPECT_EQ(float16(65504.0).bits(), 0x7BFF);
  EXPECT_EQ(bfloat16(1.0F).bits(), 0x3F80);
  EXPECT_EQ(float8_e4m3fn(448).bits(), 0x7E);
  EXPECT_EQ(float8_e5m2(57344).bits(), 0x7B);
  EXPECT_EQ(float8_e8m0fnu(1).bits(), 0x7F);
  EXPECT_EQ(float16::from_bits(0x0001), 0x1p-24F);
  EXPECT_EQ(bfloat16::from_bits(0x0001), 0x1p-133F);
  EXPECT_EQ(float8_e8m0fnu::from_bits(0), 0x1p-127F);
}

TEST(SmallFloats, NumbersAboveTheLargestBecomeInfinityOrNan) {
  EXPECT_TRUE(std::isinf(float16(65520)));
  EXPECT_EQ(float16(65519), 65504.0F);
  EXPECT_TRUE(std::isinf(bfloat16(std::numeric_limits<float>::max())));
  EXPECT_TRUE(std::isnan(float8_e4m3fn(465)));
  EXPECT_EQ(float8_e4m3fn(464), 448.0F);
  EXPECT_EQ(float8_e4m3fnuz(1000).bits(), 0x80);
  EXPECT_EQ(float8_e4m3fnuz(-0.0F).bits(), 0);
  EXPECT_TRUE(std::isnan(float8_e8m0fnu(0)));
  EXPECT_TRUE(std::isnan(float16(std::numeric_limits<double>::quiet_NaN())));
}

TEST(SmallFloats, NumbersAreRoundedOnce) {
  // To float first it would be 1 + 2^-11, half way between two numbers, and then 1.
  EXPECT_EQ(float16(1 + 0x1p-11 + 0x1p-40).bits(), 0x3C01);
  EXPECT_EQ(float16(1 + 0x1p-11 - 0x1p-40).bits(), 0x3C00);
  EXPECT_EQ(float16(1 + 0x1p-11).bits(), 0x3C00);
  EXPECT_EQ(bfloat16((std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1).bits(), 0x5E81);
  EXPECT_EQ(bfloat16((std::int64_t{1} << 62) + (std::int64_t{1} << 54)).bits(), 0x5E80);
  EXPECT_EQ(bfloat16(0x1p-134 + 0x1p-180).bits(), 0x0001);
  EXPECT_EQ(bfloat16(0x1p-134).bits(), 0x0000);
  EXPECT_EQ(bfloat16(std::numeric_limits<std::int64_t>::min()).bits(), 0xDF00);
  EXPECT_EQ(bfloat16(std::numeric_limits<std::uint64_t>::max()).bits(), 0x5F80);
}

TEST(SmallFloats, ElementsOfTensors) {
  dlbridge::managed_tensor m =
      dlbridge::build(std::vector<float16>{float16(1.5F), float16(2), float16(-1)});
  using vector = dlbridge::shape<dlbridge::dynamic_extent>;
  dlbridge::tensor<float16, vector> t(std::move(m));
  t(1) = float16(t(0) * 2);  // the arithmetic is that of float
  EXPECT_EQ(static_cast<std::uint16_t const*>(t.view().data())[1], 0x4200);
  EXPECT_EQ(refusal_of([&] { return dlbridge::tensor_span<bfloat16 const, vector>(t.view()); }),
            "dtype_mismatch: expected bfloat16[*] on cpu; got float16[3] on cpu: dtype differs");
  float sum = 0;
  dlbridge::visit<dlbridge::types<float, float16>>(t.view(), [&](auto span) {
    for (std::int64_t i = 0; i < span.count(); ++i) {
      sum += static_cast<float>(span.data()[i]);
    }
  });
  EXPECT_EQ(sum, 3.5F);
}

// What ml_dtypes.finfo states: the bits of max, min, smallest_normal, smallest_subnormal and eps,
// and the exponents of which C++ adds 1 to the smaller one.
template <class T>
void expect_limits(unsigned max, unsigned lowest, unsigned min, unsigned denorm_min, unsigned eps,
                   int min_exponent, int max_exponent, int mantissa_bits) {
  using limits = std::numeric_limits<T>;
  static_assert(limits::is_specialized && !limits::is_integer && limits::has_quiet_NaN);
  EXPECT_EQ(limits::max().bits(), max);
  EXPECT_EQ(limits::lowest().bits(), lowest);
  EXPECT_EQ(limits::min().bits(), min);
  EXPECT_EQ(limits::denorm_min().bits(), denorm_min);
#if __cplusplus <= 202002L
  EXPECT_EQ(limits::has_denorm, denorm_min == min ? std::denorm_absent : std::denorm_present);
#endif
  EXPECT_EQ(limits::epsilon().bits(), eps);
  EXPECT_EQ(limits::min_exponent - 1, min_exponent);
  EXPECT_EQ(limits::max_exponent, max_exponent);
  EXPECT_EQ(limits::digits - 1, mantissa_bits);
  EXPECT_EQ(limits::is_signed, limits::lowest() < 0);
  EXPECT_EQ(limits::round_error(), 0.5F);
  EXPECT_TRUE(std::isnan(limits::quiet_NaN()));
  EXPECT_EQ(std::isinf(limits::infinity()), limits::has_infinity);
  EXPECT_EQ(T(HUGE_VALF).bits(), limits::infinity().bits());
  EXPECT_EQ(limits::max_exponent10, static_cast<int>(std::log10(limits::max())));
  EXPECT_EQ(limits::min_exponent10, static_cast<int>(std::log10(limits::min())));
}

TEST(SmallFloats, NumericLimitsAreThoseOfMlDtypes) {
  expect_limits<float16>(0x7bff, 0xfbff, 0x400, 1, 0x1400, -14, 16, 10);
  expect_limits<bfloat16>(0x7f7f, 0xff7f, 0x80, 1, 0x3c00, -126, 128, 7);
  expect_limits<float8_e3m4>(0x6f, 0xef, 0x10, 1, 0x04, -2, 4, 4);
  expect_limits<float8_e4m3>(0x77, 0xf7, 0x08, 1, 0x20, -6, 8, 3);
  expect_limits<float8_e4m3b11fnuz>(0x7f, 0xff, 0x08, 1, 0x40, -10, 5, 3);
  expect_limits<float8_e4m3fn>(0x7e, 0xfe, 0x08, 1, 0x20, -6, 9, 3);
  expect_limits<float8_e4m3fnuz>(0x7f, 0xff, 0x08, 1, 0x28, -7, 8, 3);
  expect_limits<float8_e5m2>(0x7b, 0xfb, 0x04, 1, 0x34, -14, 16, 2);
  expect_limits<float8_e5m2fnuz>(0x7f, 0xff, 0x04, 1, 0x38, -15, 16, 2);
  expect_limits<float8_e8m0fnu>(0xfe, 0, 0, 0, 0x7f, -127, 128, 0);
  static_assert(std::numeric_limits<float16>::is_iec559);
  static_assert(!std::numeric_limits<float8_e5m2>::is_iec559);
  static_assert(std::numeric_limits<bfloat16>::max_digits10 == 4);  // as std::bfloat16_t
  static_assert(std::numeric_limits<float16>::max_digits10 == 5);   // as std::float16_t
  static_assert(std::numeric_limits<float16>::digits10 == 3);
}

// As in the header.
#if defined(__FLT16_MAX__) && !defined(__CUDACC__) &&                                          \
    (defined(__clang__) ? __clang_major__ >= 15 && (defined(__SSE2__) || defined(__aarch64__)) \
                        : defined(__SSE2__) || (__GNUC__ >= 13 && !defined(__i386__)))
static_assert(dtype_of<_Float16>() == dlbridge::dtype(kDLFloat, 16));

TEST(SmallFloats, Float16IsThatOfTheCompiler) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto const half = static_cast<std::uint16_t>(bits);
    auto const own = float16::from_bits(half);
    _Float16 theirs = 0;
    std::memcpy(&theirs, &half, sizeof theirs);
    if (std::isnan(static_cast<float>(theirs))) {
      EXPECT_TRUE(std::isnan(own)) << bits;
    } else {
      ASSERT_EQ(own, static_cast<float>(theirs)) << bits;
      ASSERT_EQ(float16(static_cast<float>(own)).bits(), bits);
      ASSERT_EQ(float16(theirs).bits(), bits);
      ASSERT_EQ(bfloat16(theirs).bits(), bfloat16(static_cast<float>(own)).bits());
    }
  }
}
#endif

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// convert.hpp: converted copies. tests/python/test_converted.py compares every pair of dtypes and
// every layout with NumPy and ml_dtypes.
#include <dlbridge/convert.hpp>
#include <dlbridge/tensor.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "refusal.hpp"

// A class of another library with the dtype of a small float, whose constructor rounds to float.
struct half_by_float {
  explicit half_by_float(float number) noexcept : value(number) {}
  dlbridge::float16 value;
};
// Classes of 32 and 64 bits: a float that is rounded to odd would be their last value.
struct metres {
  explicit metres(float number) noexcept : value(number) {}
  float value;
};
struct seconds {
  explicit seconds(double number) noexcept : value(number) {}
  double value;
};
// Types without a constructor from a number.
struct half_of_bits {
  std::uint16_t bits;
};
enum class bits_of_bfloat16 : std::uint16_t {};
template <>
struct dlbridge::dtype_traits<half_of_bits> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};
template <>
struct dlbridge::dtype_traits<bits_of_bfloat16> {
  static constexpr dlbridge::dtype value{kDLBfloat, 16};
};
template <>
struct dlbridge::dtype_traits<half_by_float> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};
template <>
struct dlbridge::dtype_traits<metres> {
  static constexpr dlbridge::dtype value{kDLFloat, 32};
};
template <>
struct dlbridge::dtype_traits<seconds> {
  static constexpr dlbridge::dtype value{kDLFloat, 64};
};

namespace {

using dlbridge::converted_copy_of;
using dlbridge::dtype_of;
using dlbridge::layout;
using dlbridge::managed_tensor;
using dlbridge::tensor_view;

// A view of numbers with a shape and strides.
template <class T>
struct numbers {
  std::vector<T> elements;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t first = 0;
  DLDevice device{kDLCPU, 0};

  DLTensor tensor() {
    return {elements.data() + first,
            device,
            static_cast<std::int32_t>(shape.size()),
            dtype_of<T>().abi(),
            shape.data(),
            strides.data(),
            0};
  }
};

template <class T>
std::vector<T> elements_of(managed_tensor const& m) {
  auto const* const first = static_cast<T const*>(m.view().data());
  return {first, first + m.view().count()};
}

TEST(ConvertedCopyOf, IsRowMajorWritableAndMarkedAsACopy) {
  numbers<std::int16_t> x{{1, -2, 3, 4, 5, 6}, {3, 2}, {1, 3}};  // column-major
  DLTensor const t = x.tensor();
  managed_tensor const copy = converted_copy_of<float>(tensor_view(t, dlbridge::flag_read_only));
  EXPECT_EQ(elements_of<float>(copy), (std::vector<float>{1, 4, -2, 5, 3, 6}));
  EXPECT_TRUE(copy.view().is_row_major());
  EXPECT_EQ(copy.flags(), dlbridge::flag_is_copied);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.view().data()) % 64, 0U);
  managed_tensor const columns = converted_copy_of<double>(tensor_view(t), layout::column_major);
  EXPECT_EQ(elements_of<double>(columns), (std::vector<double>{1, -2, 3, 4, 5, 6}));
  EXPECT_TRUE(columns.view().is_column_major());
}

TEST(ConvertedCopyOf, CopiesTheSameDtypeAsWell) {
  numbers<float> x{{1, 2, 3, 4}, {2}, {-2}, 3};
  DLTensor const t = x.tensor();
  managed_tensor const copy =
      converted_copy_of<float>(tensor_view(t), layout::row_major, dlbridge::struct_kind::legacy);
  EXPECT_EQ(elements_of<float>(copy), (std::vector<float>{4, 2}));
  EXPECT_NE(copy.get_legacy(), nullptr);
}

TEST(ConvertedCopyOf, KeepsTheBitsOfTheSameDtype) {
  using dlbridge::bfloat16;
  numbers<bfloat16> x{{bfloat16::from_bits(0x7F81), bfloat16::from_bits(0xFFFF)}, {2}, {-1}, 1};
  DLTensor const t = x.tensor();
  auto const copy = elements_of<bfloat16>(converted_copy_of<bfloat16>(tensor_view(t)));
  EXPECT_EQ(copy[0].bits(), 0xFFFF);
  EXPECT_EQ(copy[1].bits(), 0x7F81);
}

TEST(ConvertedCopyOf, ToTypesOfTheUser) {
  numbers<std::uint8_t> x{{0, 200}, {2}, {1}};
  DLTensor const t = x.tensor();
  EXPECT_EQ(elements_of<std::byte>(converted_copy_of<std::byte>(tensor_view(t)))[1],
            std::byte{200});
  DLTensor flags = t;
  flags.dtype = {kDLBool, 8, 1};
  EXPECT_EQ(elements_of<char>(converted_copy_of<char>(tensor_view(flags)))[1], 1);
#if defined(__FLT16_MAX__) && !defined(__clang__) && (defined(__SSE2__) || __GNUC__ >= 13)
  auto const halves = elements_of<_Float16>(converted_copy_of<_Float16>(tensor_view(t)));
  EXPECT_EQ(static_cast<float>(halves[1]), 200);
  numbers<double> above_the_middle{{1 + 0x1p-11 + 0x1p-40}, {1}, {1}};  // of 1 and 1 + 2^-10
  DLTensor const d = above_the_middle.tensor();
  auto const rounded = elements_of<_Float16>(converted_copy_of<_Float16>(tensor_view(d)));
  EXPECT_EQ(static_cast<double>(rounded[0]), 1 + 0x1p-10);
#endif
}

TEST(ConvertedCopyOf, ToTypesThatStoreTheBitsOfTheirDtype) {
  numbers<std::uint8_t> x{{0, 200}, {2}, {1}};
  DLTensor const t = x.tensor();
  EXPECT_EQ(elements_of<half_of_bits>(converted_copy_of<half_of_bits>(tensor_view(t)))[1].bits,
            dlbridge::float16(200).bits());
  EXPECT_EQ(elements_of<bits_of_bfloat16>(converted_copy_of<bits_of_bfloat16>(tensor_view(t)))[1],
            bits_of_bfloat16{dlbridge::bfloat16(200).bits()});
}

TEST(ConvertedCopyOf, OfNoElementAndOfOne) {
  numbers<std::uint8_t> x{{7}, {}, {}};
  DLTensor const scalar = x.tensor();
  EXPECT_EQ(elements_of<std::int64_t>(converted_copy_of<std::int64_t>(tensor_view(scalar))),
            std::vector<std::int64_t>{7});
  numbers<std::uint8_t> y{{7}, {3, 0, 2}, {5, -1, 0}};
  DLTensor const empty = y.tensor();
  managed_tensor const copy = converted_copy_of<float>(tensor_view(empty));
  EXPECT_TRUE(copy.view().empty());
  EXPECT_EQ(copy.view().extent(2), 2);
}

TEST(ConvertedCopyOf, RoundsToTheNearestNumber) {
  numbers<std::int64_t> x{
      {(std::int64_t{1} << 24) + 1, std::numeric_limits<std::int64_t>::max()}, {2}, {1}};
  DLTensor const t = x.tensor();
  EXPECT_EQ(elements_of<float>(converted_copy_of<float>(tensor_view(t))),
            (std::vector<float>{0x1p24F, 0x1p63F}));
}

TEST(ConvertedCopyOf, RefusesWhatWouldLoseValues) {
  numbers<float> x{{1, 2}, {2}, {1}};
  DLTensor const t = x.tensor();
  EXPECT_EQ(refusal_of([&] { return converted_copy_of<std::int32_t>(tensor_view(t)); }),
            "dtype_mismatch: expected int32[...] on cpu, converted from narrower integers; got "
            "float32[2] on cpu: dtype differs. Round it and convert its dtype first: a float may "
            "have a fraction");
  numbers<std::int64_t> y{{1, 2}, {2}, {1}};
  DLTensor const u = y.tensor();
  EXPECT_EQ(refusal_of([&] { return converted_copy_of<std::int32_t>(tensor_view(u)); }),
            "dtype_mismatch: expected int32[...] on cpu, converted from narrower integers; got "
            "int64[2] on cpu: dtype differs. Convert its dtype first if its values fit: not every "
            "value of it does");
  DLTensor packed = t;
  packed.dtype = {kDLInt, 4, 1};
  EXPECT_EQ(refusal_of([&] { return converted_copy_of<float>(tensor_view(packed)); }),
            "dtype_mismatch: expected float32[...] on cpu, converted from real dtypes; got int4[2] "
            "on cpu: dtype differs. Convert its dtype first");
  DLTensor complex = t;
  complex.dtype = {kDLComplex, 64, 1};
  EXPECT_EQ(refusal_of([&] { return converted_copy_of<float>(tensor_view(complex)); }),
            "dtype_mismatch: expected float32[...] on cpu, converted from real dtypes; got "
            "complex64[2] on cpu: dtype differs. Pass its real part");
  EXPECT_EQ(refusal_of([&] { return converted_copy_of<bool>(tensor_view(t)); }),
            "dtype_mismatch: expected bool[...] on cpu; got float32[2] on cpu: dtype differs. "
            "Compare it with 0 first");
  EXPECT_EQ(
      refusal_of([&] { return converted_copy_of<double>(tensor_view(t), layout::compact); }),
      "bad_argument: bad argument: expected row_major or column_major for a copy; got another "
      "layout");
}

TEST(ConvertedCopyOf, ByValueNamesTheFirstElementThatWouldChange) {
  using dlbridge::by_value;
  numbers<std::int64_t> x{{1, 0, 255, 3, 300, -1}, {3, 2}, {1, 3}};  // column-major
  DLTensor t = x.tensor();
  std::string const message =
      "value_mismatch: expected uint8[...] on cpu, converted by value, integers from 0 to 255; "
      "got 300 at [1, 1] of int64[3, 2] on cpu: value differs. Pass integers within these limits";
  for (layout const order : {layout::row_major, layout::column_major}) {
    EXPECT_EQ(refusal_of(
                  [&] { return converted_copy_of<std::uint8_t, by_value>(tensor_view(t), order); }),
              message);
  }
  x.elements = {1, 0, 255, 3, 30, 1};
  t = x.tensor();
  managed_tensor const copy = converted_copy_of<std::uint8_t, by_value>(tensor_view(t));
  EXPECT_EQ(elements_of<std::uint8_t>(copy), (std::vector<std::uint8_t>{1, 3, 0, 30, 255, 1}));
}

TEST(ConvertedCopyOf, RefusesMemoryThatTheCpuCannotRead) {
  numbers<std::int32_t> x{{1, 2}, {2}, {1}, 0, {kDLCUDA, 0}};
  DLTensor const t = x.tensor();
  EXPECT_EQ(
      refusal_of([&] { return converted_copy_of<float>(tensor_view(t)); }),
      "device_mismatch: expected float32[...] on cpu, converted from real dtypes; got int32[2] "
      "on cuda:0: device differs. Copy it to the CPU first");
}

TEST(ConvertedNumber, IsRoundedOnceForClassesThatRoundToFloatFirst) {
  double const number = 1 + 1.0 / 2048 + 1.0 / (1LL << 40);  // above the middle of two halves
  float const expected = dlbridge::float16(number);
  EXPECT_EQ(static_cast<float>(dlbridge::detail::converted_number<half_by_float>(number).value),
            expected);
  EXPECT_GT(expected, 1);
}

TEST(ConvertedNumber, IsTheNearestOneForClassesOfMoreBits) {
  using dlbridge::detail::converted_number;
  EXPECT_EQ(converted_number<metres>(0.1).value, 0.1F);
  EXPECT_EQ(converted_number<metres>(1 + 1.0 / (1LL << 40)).value, 1.0F);
  EXPECT_EQ(converted_number<metres>(1e300).value, HUGE_VALF);
  EXPECT_EQ(converted_number<seconds>(123456789).value, 123456789.0);
  EXPECT_EQ(converted_number<seconds>(dlbridge::float16(0.5F)).value, 0.5);
}

// The explanation of a refused parameter.
TEST(ExplainConversion, NamesWhatAConversionWouldNotChange) {
  numbers<std::int8_t> x{{1, 2}, {2}, {1}};
  DLTensor t = x.tensor();
  std::int64_t const extents[] = {3};
  dlbridge::requirement need;
  need.type = dtype_of<float>();
  need.rank = 1;
  need.extents = extents;
  need.order = layout::row_major;
  need.alignment = 64;
  need.converts = true;
  EXPECT_FALSE(dlbridge::detail::is_convertible(tensor_view(t), need));
  EXPECT_STREQ(message(dlbridge::detail::explain_conversion(tensor_view(t), need)).c_str(),
               "expected float32[3] on cpu, row-major, converted from real dtypes; got int8[2] on "
               "cpu: extents differ");
  need.extents = nullptr;
  EXPECT_TRUE(dlbridge::detail::is_convertible(tensor_view(t), need));
  need.alignment = 1;
  t.device = {kDLCUDA, 1};
  need.where.type = dlbridge::device_filter::anywhere;
  EXPECT_FALSE(dlbridge::detail::is_convertible(tensor_view(t), need));
  EXPECT_STREQ(message(dlbridge::detail::explain_conversion(tensor_view(t), need)).c_str(),
               "expected float32[*], row-major, converted from real dtypes; got int8[2] on cuda:1: "
               "dtype differs. Convert it on its device first");
}

// A tensor and a span with the tag check as without it.
TEST(Converted, TypesOfCppConvertNothing) {
  using span = dlbridge::tensor_span<float const, dlbridge::dynamic_rank, dlbridge::converted>;
  numbers<std::int8_t> x{{1, 2}, {2}, {1}};
  DLTensor const t = x.tensor();
  EXPECT_EQ(refusal_of([&] { return span(tensor_view(t)); }),
            "dtype_mismatch: expected float32[...] on cpu; got int8[2] on cpu: dtype differs");
}

}  // namespace

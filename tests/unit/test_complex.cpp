// SPDX-License-Identifier: BSD-3-Clause
// types/complex.hpp: the dtypes of std::complex.
#include <dlbridge/types/complex.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

namespace {

using dlbridge::dtype_of;

// The bits of the whole complex number and one lane (spec 1.4), read from the struct.
constexpr DLDataType single_precision = dtype_of<std::complex<float>>().abi();
static_assert(single_precision.code == kDLComplex && single_precision.bits == 64 &&
              single_precision.lanes == 1);
constexpr DLDataType double_precision = dtype_of<std::complex<double> const>().abi();
static_assert(double_precision.code == kDLComplex && double_precision.bits == 128 &&
              double_precision.lanes == 1);

static_assert(dtype_of<std::complex<float>>() != dtype_of<double>(),
              "the same width, but another code");

template <class Number>
void expect_one_element_of_its_size() {
  EXPECT_EQ(dlbridge::element_bytes(dtype_of<Number>()), static_cast<std::int64_t>(sizeof(Number)));
  EXPECT_FALSE(dlbridge::is_sub_byte(dtype_of<Number>()));
}

TEST(Complex, OneElementIsOneNumberOfTheSameSize) {
  expect_one_element_of_its_size<std::complex<float>>();
  expect_one_element_of_its_size<std::complex<double>>();
}

TEST(Complex, NamesAreThoseOfNumPy) {
  EXPECT_STREQ(name_of(dtype_of<std::complex<float>>()).c_str(), "complex64");
  EXPECT_STREQ(name_of(dtype_of<std::complex<double>>()).c_str(), "complex128");
}

}  // namespace

// types/complex: what std::complex is called in DLPack.
#include <dlbridge/types/complex.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

namespace {

using dlbridge::dtype_of;

// The whole number's bits and one lane (spec 1.4), in what the struct itself says.
constexpr DLDataType single = dtype_of<std::complex<float>>().abi();
static_assert(single.code == kDLComplex && single.bits == 64 && single.lanes == 1);
constexpr DLDataType twice = dtype_of<std::complex<double> const>().abi();
static_assert(twice.code == kDLComplex && twice.bits == 128 && twice.lanes == 1);

static_assert(dtype_of<std::complex<float>>() != dtype_of<double>(),
              "of the same width, and not the same");

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

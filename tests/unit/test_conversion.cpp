// SPDX-License-Identifier: BSD-3-Clause
// types/conversion_rules.hpp: the dtypes between which parameters convert, as one written-out
// table.
#include <dlbridge/types/conversion_rules.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using dlbridge::converts_by_value;
using dlbridge::converts_to;
using dlbridge::dtype;
using dlbridge::is_real;

dtype named(std::string const& name) {
  dtype result;
  EXPECT_TRUE(dlbridge::try_parse_dtype(name.c_str(), result)) << name;
  return result;
}

std::vector<std::string> const names{"bool",
                                     "int8",
                                     "int16",
                                     "int32",
                                     "int64",
                                     "uint8",
                                     "uint16",
                                     "uint32",
                                     "uint64",
                                     "float16",
                                     "bfloat16",
                                     "float32",
                                     "float64",
                                     "float8_e3m4",
                                     "float8_e4m3",
                                     "float8_e4m3fn",
                                     "float8_e5m2",
                                     "float8_e8m0fnu",
                                     "float8_e5m2fnuz",
                                     "float8_e4m3fnuz",
                                     "float8_e4m3b11fnuz"};

TEST(Conversion, RealDtypes) {
  for (std::string const& name : names) {
    EXPECT_TRUE(is_real(named(name))) << name;
  }
  for (char const* const name :
       {"complex32", "bcomplex32", "int4", "uint1", "float4_e2m1fn", "float6_e2m3fn", "float32x4",
        "boolx2", "bool1", "float80", "bfloat32", "opaque64", "int128", "float8_e4m3fnx2"}) {
    EXPECT_FALSE(is_real(named(name))) << name;
    EXPECT_FALSE(converts_to(named(name), named("float64"))) << name;
    EXPECT_FALSE(converts_to(named("bool"), named(name))) << name;
    EXPECT_FALSE(converts_to(named(name), named(name))) << name;
  }
}

// For each integer and bool, the dtypes that it receives.
TEST(Conversion, ToIntegersFromThoseWhoseValuesTheyHave) {
  struct row {
    char const* to;
    std::vector<std::string> from;
  };
  std::vector<row> const table{
      {"bool", {"bool"}},
      {"int8", {"bool", "int8"}},
      {"int16", {"bool", "int8", "int16", "uint8"}},
      {"int32", {"bool", "int8", "int16", "int32", "uint8", "uint16"}},
      {"int64", {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}},
      {"uint8", {"bool", "uint8"}},
      {"uint16", {"bool", "uint8", "uint16"}},
      {"uint32", {"bool", "uint8", "uint16", "uint32"}},
      {"uint64", {"bool", "uint8", "uint16", "uint32", "uint64"}}};
  for (row const& each : table) {
    for (std::string const& name : names) {
      bool const is_listed = std::find(each.from.begin(), each.from.end(), name) != each.from.end();
      EXPECT_EQ(converts_to(named(name), named(each.to)), is_listed) << name << " to " << each.to;
    }
  }
}

TEST(Conversion, ByValueToEveryRealDtype) {
  for (std::string const& to : names) {
    for (std::string const& name : names) {
      EXPECT_TRUE(converts_by_value(named(name), named(to))) << name << " to " << to;
    }
    EXPECT_FALSE(converts_by_value(named("complex64"), named(to))) << to;
    EXPECT_FALSE(converts_by_value(named("int4"), named(to))) << to;
  }
}

TEST(Conversion, ToComplexFromRealAndComplex) {
  for (char const* const to : {"complex64", "complex128"}) {
    for (std::string const& name : names) {
      EXPECT_TRUE(converts_to(named(name), named(to))) << name << " to " << to;
      EXPECT_FALSE(converts_to(named(to), named(name))) << to << " to " << name;
    }
    EXPECT_TRUE(converts_to(named(to), named("complex64"))) << to;
    EXPECT_TRUE(converts_by_value(named("complex64"), named(to))) << to;
    EXPECT_FALSE(converts_to(named("complex32"), named(to))) << to;
  }
}

TEST(Conversion, ToFloatsFromEveryRealDtype) {
  for (char const* const to : {"float16", "bfloat16", "float32", "float64", "float8_e5m2"}) {
    for (std::string const& name : names) {
      EXPECT_TRUE(converts_to(named(name), named(to))) << name << " to " << to;
    }
  }
}

}  // namespace

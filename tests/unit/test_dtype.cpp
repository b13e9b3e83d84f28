// SPDX-License-Identifier: BSD-3-Clause
// dtype.hpp: the table of type codes, names to and from dtypes, element sizes, and dtype_of.
#include <dlbridge/dtype.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>

#include "foreign.hpp"

// A user's type, for which dtype_traits is specialized.
namespace user {
struct half {
  std::uint16_t bits;
};
}  // namespace user
template <>
struct dlbridge::dtype_traits<user::half> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};

namespace {

using dlbridge::dtype;
using dlbridge::dtype_of;
using dlbridge::try_parse_dtype;

static_assert(std::is_trivially_copyable_v<dtype>);
static_assert(std::is_nothrow_default_constructible_v<dtype>);
static_assert(std::is_nothrow_copy_assignable_v<dtype>);
static_assert(sizeof(dtype) == sizeof(DLDataType), "the size of the struct that it wraps");
static_assert(!std::is_convertible_v<DLDataType, dtype>, "conversion is explicit");
static_assert(dtype{} == dtype{0, 0, 0} && dtype{2, 32} == dtype{2, 32, 1});
static_assert(is_sound(dtype{2, 32}) && !is_sound(dtype{}), "at compile time");
static_assert(dtype{2, 32} != dtype{0, 32} && dtype{2, 32} != dtype{2, 64} &&
              dtype{2, 32} != dtype{2, 32, 2});

// From spec 1.4: code, one of its widths, the name with that width, the only valid width or 0 when
// several are valid, and whether the type is complex.
struct known_type {
  int code;
  int bits;
  char const* name;
  int only_bits;
  bool is_complex;
};
constexpr known_type known_types[] = {
    {0, 64, "int64", 0, false},
    {1, 8, "uint8", 0, false},
    {2, 32, "float32", 0, false},
    {3, 64, "opaque64", 0, false},
    {4, 16, "bfloat16", 0, false},
    {5, 128, "complex128", 0, true},
    {6, 8, "bool", 0, false},
    {7, 8, "float8_e3m4", 8, false},
    {8, 8, "float8_e4m3", 8, false},
    {9, 8, "float8_e4m3b11fnuz", 8, false},
    {10, 8, "float8_e4m3fn", 8, false},
    {11, 8, "float8_e4m3fnuz", 8, false},
    {12, 8, "float8_e5m2", 8, false},
    {13, 8, "float8_e5m2fnuz", 8, false},
    {14, 8, "float8_e8m0fnu", 8, false},
    {15, 6, "float6_e2m3fn", 6, false},
    {16, 6, "float6_e3m2fn", 6, false},
    {17, 4, "float4_e2m1fn", 4, false},
    {18, 32, "bcomplex32", 0, true},
};
constexpr int known_count = sizeof known_types / sizeof known_types[0];
static_assert(known_count == dlbridge::dtype_row_count);

TEST(Dtype, EveryCodeHasTheNameAndWidthOfTheSpecification) {
  for (known_type const& each : known_types) {
    dlbridge::dtype_row const& row = dlbridge::dtype_rows[each.code];
    EXPECT_EQ(row.code, each.code);
    EXPECT_EQ(row.fixed_bits, each.only_bits) << each.name;
    EXPECT_EQ(is_complex(dtype(each.code, each.bits)), each.is_complex) << each.name;
    EXPECT_STREQ(name_of(dtype(each.code, each.bits)).c_str(), each.name);
    dtype parsed;
    EXPECT_TRUE(try_parse_dtype(each.name, parsed)) << each.name;
    EXPECT_EQ(parsed, dtype(each.code, each.bits)) << each.name;
  }
}

// Calls visit with every code and every width, each with a few numbers of lanes.
template <class Visit>
void for_each_dtype(Visit visit) {
  for (int code = 0; code < 256; ++code) {
    for (int bits = 0; bits < 256; ++bits) {
      for (int const lanes : {0, 1, 2, 65535}) {
        visit(dtype(code, bits, lanes));
      }
    }
  }
}

TEST(Dtype, IsSoundWhenTheCodeIsKnownAndTheWidthIsAllowed) {
  for_each_dtype([](dtype t) {
    bool const known = t.code < known_count;
    int const only_bits = known ? known_types[t.code].only_bits : 0;
    bool const sound =
        known && t.bits > 0 && t.lanes > 0 && (only_bits == 0 || only_bits == int{t.bits});
    ASSERT_EQ(is_known(t), known) << int{t.code};
    ASSERT_EQ(is_sound(t), sound) << int{t.code} << " " << int{t.bits} << " " << t.lanes;
  });
}

TEST(Dtype, TheNameOfEverySoundTypeParsesToThatType) {
  for_each_dtype([](dtype t) {
    if (is_sound(t)) {
      dtype parsed;
      ASSERT_TRUE(try_parse_dtype(name_of(t).c_str(), parsed)) << name_of(t).c_str();
      ASSERT_EQ(parsed, t) << name_of(t).c_str();
    }
  });
}

TEST(Dtype, NamesContainLanesAndUnsoundTypesAreShownAsNumbers) {
  struct row {
    dtype type;
    char const* name;
  };
  row const rows[] = {
      {{2, 32, 4}, "float32x4"},
      {{2, 8}, "float8"},
      {{6, 8, 2}, "boolx2"},
      {{6, 1}, "bool1"},
      {{17, 4, 2}, "float4_e2m1fnx2"},
      {{9, 8, 65535}, "float8_e4m3b11fnuzx65535"},
      {{2, 32, 0}, "(code 2, bits 32, lanes 0)"},
      {{2, 0}, "(code 2, bits 0, lanes 1)"},
      {{17, 8}, "(code 17, bits 8, lanes 1)"},
      {{15, 8}, "(code 15, bits 8, lanes 1)"},
      {{7, 16}, "(code 7, bits 16, lanes 1)"},
      {{19, 8}, "(code 19, bits 8, lanes 1)"},
      {{255, 255, 65535}, "(code 255, bits 255, lanes 65535)"},
  };
  for (row const& each : rows) {
    EXPECT_STREQ(name_of(each.type).c_str(), each.name);
  }
}

TEST(Dtype, AnInvalidNameIsRefusedAndLeavesTheOutputUnchanged) {
  for (char const* const name : {"",
                                 " ",
                                 "f",
                                 "flaot32",
                                 "Float32",
                                 "float",
                                 "float 32",
                                 " float32",
                                 "float32 ",
                                 "float0",
                                 "float032",
                                 "float256",
                                 "float-32",
                                 "float3.2",
                                 "float32x",
                                 "float32x0",
                                 "float32x04",
                                 "float32x65536",
                                 "float32xx2",
                                 "float32x2x2",
                                 "float32y2",
                                 "float8_",
                                 "float8_e4",
                                 "float8_e4m38",
                                 "float8_e4m3fnu",
                                 "float4_e2m1fn4",
                                 "int",
                                 "uint",
                                 "complex",
                                 "opaque",
                                 "bool_",
                                 "boolean",
                                 "xbool",
                                 "99999999999",
                                 "int99999999999999999999999",
                                 "int8x99999999999999999999"}) {
    dtype out(77, 77, 77);
    EXPECT_FALSE(try_parse_dtype(name, out)) << name;
    EXPECT_EQ(out, dtype(77, 77, 77)) << name;
  }
}

TEST(Dtype, LanesAsInPyTorch) {
  dtype out;
  ASSERT_TRUE(try_parse_dtype("float4_e2m1fn_x2", out));
  EXPECT_EQ(out, dtype(17, 4, 2));
}

TEST(Dtype, TheWidthOfBoolIsOptionalButChecked) {
  dtype out;
  ASSERT_TRUE(try_parse_dtype("bool8", out));
  EXPECT_EQ(out, dtype(kDLBool, 8));
  for (char const* const name : {"bool0", "bool01", "bool256", "bool0x2", "bool999"}) {
    EXPECT_FALSE(try_parse_dtype(name, out)) << name;
  }
}

TEST(Dtype, EveryParsedTypeIsSoundAndRoundTrips) {
  constexpr char const* pieces[] = {"int", "uint", "float", "bool", "float8_e4m3", "fn", "uz",
                                    "b11", "x",    "0",     "1",    "6",           "32", "_"};
  std::mt19937 random(2);
  int parsed = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string name;
    for (std::size_t piece = random() % 5; piece-- > 0;) {
      name += pieces[random() % (sizeof pieces / sizeof pieces[0])];
    }
    dtype first;
    if (try_parse_dtype(name.c_str(), first)) {
      ++parsed;
      ASSERT_TRUE(is_sound(first)) << name;
      dtype second;
      ASSERT_TRUE(try_parse_dtype(name_of(first).c_str(), second)) << name;
      ASSERT_EQ(first, second) << name;
    }
  }
  EXPECT_GT(parsed, 1000) << "too few of the random names are valid";
}

TEST(Dtype, AnElementHasBitsTimesLanesRoundedUpToBytes) {  // spec 1.5
  struct row {
    dtype type;
    std::int64_t bits;
    std::int64_t bytes;
    bool sub_byte;
  };
  row const rows[] = {
      {{2, 32}, 32, 4, false},
      {{2, 32, 4}, 128, 16, false},
      {{5, 128}, 128, 16, false},
      {{6, 8}, 8, 1, false},
      {{6, 1}, 1, 1, true},
      {{17, 4}, 4, 1, true},
      {{17, 4, 2}, 8, 1, false},  // PyTorch's float4_e2m1fn_x2
      {{17, 4, 3}, 12, 2, true},  // two elements share their middle byte
      {{15, 6}, 6, 1, true},
      {{15, 6, 4}, 24, 3, false},  // four of them fill three bytes
      {{0, 255, 65535}, 16711425, 2088929, true},
  };
  for (row const& each : rows) {
    EXPECT_EQ(element_bits(each.type), each.bits) << name_of(each.type).c_str();
    EXPECT_EQ(element_bytes(each.type), each.bytes) << name_of(each.type).c_str();
    EXPECT_EQ(is_sub_byte(each.type), each.sub_byte) << name_of(each.type).c_str();
  }
}

TEST(Dtype, ANumberThatAFieldCannotHoldGivesAnUnsoundType) {
  int wide = 320;  // no constant, for which the call does not compile
  for (dtype const each :
       {dtype(kDLFloat, wide), dtype(kDLFloat, 32, wide * 1024), dtype(-1, wide)}) {
    EXPECT_FALSE(is_sound(each));
    EXPECT_NE(each.lanes, 0) << "no requirement for any dtype";
  }
}

TEST(Dtype, RoundTripsThroughTheStruct) {
  foreign_ptr const foreign = make_foreign();
  DLDataType const foreign_type = foreign_legacy(foreign.get())->dl_tensor.dtype;
  EXPECT_EQ(dtype(foreign_type), dtype(kDLFloat, 32));
  for_each_dtype([](dtype t) {
    DLDataType const abi = t.abi();
    ASSERT_EQ(dtype(abi), t);
    ASSERT_TRUE(abi.code == t.code && abi.bits == t.bits && abi.lanes == t.lanes);
  });
}

template <class T>
void expect_name(char const* name) {
  constexpr dtype type = dtype_of<T>();
  EXPECT_STREQ(name_of(type).c_str(), name);
  EXPECT_EQ(element_bytes(type), static_cast<std::int64_t>(sizeof(T))) << name;
  EXPECT_EQ(dtype_of<T const>(), type) << name;
  EXPECT_EQ(dtype_of<T volatile>(), type) << name;
}

TEST(DtypeOf, IsTheDtypeOfTheCppTypeConstOrNot) {
  expect_name<bool>("bool");
  expect_name<signed char>("int8");
  expect_name<unsigned char>("uint8");
  expect_name<char>(std::is_signed_v<char> ? "int8" : "uint8");
  expect_name<std::byte>("uint8");
  expect_name<short>("int16");
  expect_name<unsigned short>("uint16");
  expect_name<char16_t>("uint16");
  expect_name<int>("int32");
  expect_name<unsigned>("uint32");
  expect_name<char32_t>("uint32");
  expect_name<long>(sizeof(long) == 8 ? "int64" : "int32");
  expect_name<unsigned long>(sizeof(long) == 8 ? "uint64" : "uint32");
  expect_name<long long>("int64");
  expect_name<unsigned long long>("uint64");
  expect_name<float>("float32");
  expect_name<double>("float64");
  expect_name<user::half>("float16");
}

}  // namespace

// description.hpp: dims and description.
#include <dlbridge/description.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using dlbridge::description;
using dlbridge::dims;

static_assert(std::is_nothrow_copy_constructible_v<dims>);
static_assert(std::is_nothrow_copy_assignable_v<dims>);
static_assert(std::is_nothrow_copy_constructible_v<description>);
static_assert(std::is_trivially_destructible_v<description>);
static_assert(!std::is_constructible_v<dims, double>, "an extent is an integer");
static_assert(!std::is_constructible_v<dims, int*>, "use dims::from for pointers");

std::vector<std::int64_t> values(dims const& d) { return {d.data(), d.data() + d.size()}; }

TEST(Dims, AreEmptyByDefault) { EXPECT_EQ(dims().size(), 0); }

TEST(Dims, AcceptIntegersOfMixedTypes) {
  dims const d{std::uint8_t{200}, -3, std::uint64_t{1} << 40, 7L};
  EXPECT_EQ(values(d), (std::vector<std::int64_t>{200, -3, std::int64_t{1} << 40, 7}));
  EXPECT_EQ(d[1], -3);
}

TEST(Dims, CopyAnArrayOfAnyIntegers) {
  unsigned short const few[] = {9, 8, 65535};
  EXPECT_EQ(values(dims::from(few, 3)), (std::vector<std::int64_t>{9, 8, 65535}));
  EXPECT_EQ(dims::from(few, 0).size(), 0);
  EXPECT_EQ(dims::from(static_cast<std::int64_t const*>(nullptr), 0).size(), 0)
      << "the shape of a tensor of rank 0 may be null";
}

TEST(Dims, HoldSixtyFourValues) {
  std::vector<std::int64_t> many(64);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<std::int64_t>(i);
  }
  EXPECT_EQ(values(dims::from(many.data(), many.size())), many);
}

TEST(Dims, ReportSixtyFiveForMoreThanSixtyFourValues) {
  std::vector<int> const many(70, 7);
  dims const d = dims::from(many.data(), many.size());
  dims const copy = d;
  EXPECT_EQ(copy.size(), dlbridge::max_rank + 1);
  EXPECT_EQ(copy[63], 7);
}

TEST(Dims, AssignmentReplacesAllValues) {
  dims d{1, 2, 3};
  d = dims{4};
  EXPECT_EQ(values(d), std::vector<std::int64_t>{4});
  d = dims{5, 6};
  dims const& same = d;
  d = same;
  EXPECT_EQ(values(d), (std::vector<std::int64_t>{5, 6}));
}

TEST(Description, OfAPointerIsRowMajorHostMemoryOfItsType) {
  float memory[6] = {};
  description const d = description::of(memory, {2, 3});
  EXPECT_EQ(d.data, memory);
  EXPECT_EQ(d.type, dlbridge::dtype(kDLFloat, 32));
  EXPECT_EQ(values(d.shape), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(d.strides.size(), 0);
  EXPECT_EQ(d.device, dlbridge::cpu);
  EXPECT_EQ(d.byte_offset, 0U);
  EXPECT_EQ(d.flags, 0U);
}

TEST(Description, OfAPointerToConstIsReadOnly) {
  std::int16_t const memory[6] = {};
  description const d = description::of(memory, {6}, {-1});
  EXPECT_EQ(d.data, memory);
  EXPECT_EQ(d.type, dlbridge::dtype(kDLInt, 16));
  EXPECT_EQ(d.flags, dlbridge::flag_read_only);
  EXPECT_EQ(values(d.strides), std::vector<std::int64_t>{-1});
}

TEST(Description, OfNothingIsANullPointerToOneElement) {
  description const d = description::of_nothing();
  EXPECT_EQ(d.data, nullptr);
  EXPECT_EQ(d.shape.size(), 0);
  EXPECT_EQ(d.type, dlbridge::dtype(kDLUInt, 8));
}

}  // namespace

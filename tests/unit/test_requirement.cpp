// SPDX-License-Identifier: BSD-3-Clause
// requirement.hpp: device filters, and the text of a requirement.
#include <dlbridge/requirement.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace {

using dlbridge::device_filter;
using dlbridge::dtype;
using dlbridge::dynamic_extent;
using dlbridge::layout;
using dlbridge::requirement;

static_assert(std::is_trivially_copyable_v<requirement>);
static_assert(std::is_trivially_copyable_v<device_filter>);
static_assert(std::is_nothrow_default_constructible_v<requirement>);

constexpr std::int64_t any_by_4[] = {dynamic_extent, 4};
constexpr std::int64_t two_by_three[] = {2, 3};

TEST(DeviceFilter, AcceptsHostMemoryAnyMemoryOrOneDeviceType) {
  for (std::int32_t type = -1; type < 30; ++type) {
    bool const host = type == 1 || type == 3 || type == 11 || type == 13 || type == 20;
    EXPECT_EQ(device_filter{}.accepts({type, 5}), host) << type;
    EXPECT_TRUE(device_filter{device_filter::anywhere}.accepts({type, 5})) << type;
    EXPECT_EQ(device_filter{kDLCPU}.accepts({type, 5}), type == kDLCPU)
        << "one type, not all host-accessible ones";
    EXPECT_EQ(device_filter{kDLROCM}.accepts({type, 5}), type == kDLROCM);
    EXPECT_EQ((device_filter{kDLROCM, 5}.accepts({type, 5})), type == kDLROCM);
    EXPECT_FALSE((device_filter{kDLROCM, 5}.accepts({type, 4})));
  }
}

// The text of a requirement, built at compile time as signatures need it.
struct compiled_text {
  char data[160] = {};
  std::size_t size = 0;

  constexpr compiled_text& append(char const* text) noexcept {
    for (; *text != '\0'; ++text) {
      data[size++] = *text;
    }
    return *this;
  }
  constexpr compiled_text& append_unsigned(std::uint64_t number) noexcept {
    if (number >= 10) {
      append_unsigned(number / 10);
    }
    char const digit[] = {static_cast<char>('0' + number % 10), '\0'};
    return append(digit);
  }
  constexpr compiled_text& append(std::int64_t number) noexcept {
    return append_unsigned(static_cast<std::uint64_t>(number));
  }
};

constexpr compiled_text text_of(requirement const& need) {
  compiled_text text;
  append_requirement(text, need, true);
  return text;
}

constexpr requirement requirement_of(dtype type, std::int64_t const* extents, std::int32_t where,
                                     layout order, bool writable, std::size_t alignment) {
  requirement need;
  need.type = type;
  need.rank = extents != nullptr ? 2 : static_cast<std::int32_t>(dynamic_extent);
  need.extents = extents;
  need.where.type = where;
  need.order = order;
  need.writable = writable;
  need.alignment = alignment;
  return need;
}

TEST(Requirement, IsFormattedAtCompileTime) {
  constexpr compiled_text texts[] = {
      text_of(requirement()),
      text_of(requirement_of(dtype(kDLBfloat, 16), any_by_4, device_filter::anywhere,
                             layout::row_major, true, 1)),
      text_of(requirement_of(dtype(kDLInt, 4, 2), two_by_three, kDLCUDA, layout::column_major,
                             false, 64)),
      text_of(requirement_of(dtype(kDLComplex, 128), nullptr, device_filter::host, layout::compact,
                             true, 256)),
  };
  char const* const expected[] = {
      "any dtype[...] on cpu",
      "bfloat16[*, 4], row-major, writable",
      "int4x2[2, 3] on cuda, column-major",
      "complex128[...] on cpu, compact, writable, aligned to 256 bytes",
  };
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::string(texts[i].data, texts[i].size), expected[i]);
  }
}

}  // namespace

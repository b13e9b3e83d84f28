// SPDX-License-Identifier: BSD-3-Clause
// version.hpp: the struct kind for a max_version, and the versions that dlbridge reads.
#include <dlbridge/version.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace {

using dlbridge::struct_kind;
using dlbridge::version;

constexpr std::uint32_t most = UINT32_MAX;

static_assert(std::is_trivially_copyable_v<version>);
static_assert(std::is_nothrow_default_constructible_v<version>);
static_assert(sizeof(version) == 8);
static_assert(version{} == version{0, 0});
static_assert(version{1, 2} != version{1, 3} && version{1, 2} != version{2, 2});

// Both functions work at compile time.
static_assert(dlbridge::struct_kind_for({1, 0}) == struct_kind::versioned);
static_assert(dlbridge::readable({1, 0}));

TEST(Version, TheStatedVersionIsAtMostThatOfTheHeader) {
  version const stated{dlbridge::stated_major, dlbridge::stated_minor};
  EXPECT_EQ(stated.major_number, 1U);
  EXPECT_EQ(stated.minor_number,
            DLPACK_MINOR_VERSION > 3 ? 3U : std::uint32_t{DLPACK_MINOR_VERSION});
  EXPECT_TRUE(dlbridge::readable(stated)) << "dlbridge reads the version that it writes";
}

TEST(Version, EveryMaxVersionGetsTheStructKindOfTheSpecification) {  // spec 2.2
  struct row {
    version max_version;
    struct_kind expected;
  };
  constexpr row rows[] = {
      {{0, 0}, struct_kind::legacy},       {{0, 5}, struct_kind::legacy},
      {{0, 8}, struct_kind::legacy},       {{0, most}, struct_kind::legacy},
      {{1, 0}, struct_kind::versioned},    {{1, 3}, struct_kind::versioned},
      {{1, most}, struct_kind::versioned}, {{2, 0}, struct_kind::versioned},
      {{2, 7}, struct_kind::versioned},    {{most, most}, struct_kind::versioned},
  };
  for (row const& each : rows) {
    EXPECT_EQ(dlbridge::struct_kind_for(each.max_version), each.expected)
        << each.max_version.major_number << "." << each.max_version.minor_number;
  }
}

TEST(Version, OnlyTheMajorDecidesReadability) {  // spec 2.1, 2.3
  for (std::uint32_t const minor : {0U, 1U, 3U, 4U, 99U, most}) {
    EXPECT_TRUE(dlbridge::readable({1, minor})) << minor;
    for (std::uint32_t const major : {0U, 2U, 3U, 257U, most}) {
      EXPECT_FALSE(dlbridge::readable({major, minor})) << major << "." << minor;
    }
  }
}

TEST(Version, ARefusalNamesTheReceivedVersion) {
  dlbridge::report const why = dlbridge::unreadable({2, most});
  EXPECT_EQ(why.code(), dlbridge::errc::version_mismatch);
  EXPECT_STREQ(dlbridge::message(why).c_str(),
               "unreadable DLPack version: expected DLPack version 1.x; got version 2.4294967295. "
               "Ask the producer for max_version=(1, x), or use a newer dlbridge");
}

}  // namespace

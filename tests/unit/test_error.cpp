// SPDX-License-Identifier: BSD-3-Clause
// error.hpp: errc, texts of bounded length, reports, and the exception.
#include <dlbridge/error.hpp>

#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>

namespace {

using dlbridge::bounded_text;
using dlbridge::errc;
using dlbridge::message;
using dlbridge::refusal;
using dlbridge::report;

static_assert(std::is_trivially_copyable_v<report>, "it can be copied to another thread");
static_assert(std::is_nothrow_default_constructible_v<report>);
static_assert(std::is_trivially_copyable_v<bounded_text<8>>);
static_assert(std::is_nothrow_default_constructible_v<bounded_text<8>>);
static_assert(!std::is_convertible_v<char const*, bounded_text<8>>, "conversion is explicit");
static_assert(std::is_base_of_v<std::exception, dlbridge::error>);
static_assert(std::is_nothrow_copy_constructible_v<dlbridge::error>,
              "exceptions are copied when thrown");
static_assert(std::is_nothrow_copy_assignable_v<dlbridge::error>);
static_assert(!std::is_convertible_v<report, dlbridge::error>);
static_assert(dlbridge::errc_count <= 32, "a report has one bit for each reason");

// Each errc with its name and the message of a refusal with this errc alone.
struct errc_case {
  errc code;
  char const* name;
  char const* message;
};
constexpr errc_case cases[] = {
    {errc::not_a_producer, "not_a_producer", "not a DLPack producer: expected X; got Y"},
    {errc::not_a_capsule, "not_a_capsule", "not a DLPack capsule: expected X; got Y"},
    {errc::capsule_used, "capsule_used", "capsule already used: expected X; got Y"},
    {errc::version_mismatch, "version_mismatch", "unreadable DLPack version: expected X; got Y"},
    {errc::malformed, "malformed", "malformed tensor: expected X; got Y"},
    {errc::overflow, "overflow", "size overflows: expected X; got Y"},
    {errc::null_data, "null_data", "tensor without data: expected X; got Y"},
    {errc::dtype_mismatch, "dtype_mismatch", "expected X; got Y: dtype differs"},
    {errc::rank_mismatch, "rank_mismatch", "expected X; got Y: rank differs"},
    {errc::extent_mismatch, "extent_mismatch", "expected X; got Y: extents differ"},
    {errc::device_mismatch, "device_mismatch", "expected X; got Y: device differs"},
    {errc::layout_mismatch, "layout_mismatch", "expected X; got Y: layout differs"},
    {errc::read_only, "read_only", "expected X; got Y: writability differs"},
    {errc::misaligned, "misaligned", "expected X; got Y: alignment differs"},
    {errc::value_mismatch, "value_mismatch", "expected X; got Y: value differs"},
    {errc::copy_forbidden, "copy_forbidden", "a copy is needed but forbidden: expected X; got Y"},
    {errc::bad_argument, "bad_argument", "bad argument: expected X; got Y"},
    {errc::bad_stream, "bad_stream", "bad stream: expected X; got Y"},
    {errc::capturing, "capturing", "stream is capturing: expected X; got Y"},
    {errc::not_permitted, "not_permitted", "driver call not permitted here: expected X; got Y"},
    {errc::runtime_missing, "runtime_missing", "device runtime not found: expected X; got Y"},
    {errc::runtime_failed, "runtime_failed", "device runtime failed: expected X; got Y"},
    {errc::producer_failed, "producer_failed", "producer failed: expected X; got Y"},
    {errc::out_of_memory, "out_of_memory", "out of memory: expected X; got Y"},
};
static_assert(sizeof cases / sizeof cases[0] == dlbridge::errc_count);

TEST(Error, EveryErrcHasItsNameAndMessage) {
  for (errc_case const& each : cases) {
    EXPECT_EQ(row(each.code).code, each.code) << each.name;
    EXPECT_STREQ(row(each.code).name, each.name);
    EXPECT_STREQ(message(refusal(each.code, "X", "Y")).c_str(), each.message);
  }
}

TEST(Error, ARefusalBreaksOneRuleAndCopiesItsTexts) {
  for (errc_case const& each : cases) {
    report const r = refusal(each.code, "X", "Y", "Do Z");
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.code(), each.code);
    for (errc_case const& other : cases) {
      EXPECT_EQ(r.has(other.code), other.code == each.code) << each.name << " " << other.name;
    }
    EXPECT_STREQ(r.expected.c_str(), "X");
    EXPECT_STREQ(r.got.c_str(), "Y");
    EXPECT_STREQ(r.advice, "Do Z");
  }
}

TEST(Error, AReportIsOkUntilARuleBreaks) {
  report r;
  EXPECT_TRUE(r.ok());
  for (errc_case const& each : cases) {
    EXPECT_FALSE(r.has(each.code)) << each.name;
  }
  EXPECT_EQ(r.advice, nullptr);
  EXPECT_TRUE(r.expected.empty());
  EXPECT_TRUE(r.got.empty());
  EXPECT_STREQ(r.got.c_str(), "");
}

TEST(Error, CodeIsTheFirstBrokenRuleInTheOrderOfErrc) {
  report r;
  for (std::size_t i = dlbridge::errc_count; i-- > 0;) {
    r.add(cases[i].code);
    EXPECT_EQ(r.code(), cases[i].code);
  }
}

TEST(Error, AMessageListsAllMismatchesInTheOrderOfErrc) {
  report r = refusal(errc::misaligned, "X", "Y");
  r.add(errc::dtype_mismatch);
  EXPECT_STREQ(message(r).c_str(), "expected X; got Y: dtype, alignment differ");
  for (errc_case const& each : cases) {
    if (each.code >= errc::dtype_mismatch && each.code <= errc::value_mismatch) {
      r.add(each.code);
    }
  }
  EXPECT_STREQ(message(r).c_str(),
               "expected X; got Y: dtype, rank, extents, device, layout, writability, alignment, "
               "value differ");
}

TEST(Error, OtherErrorsTakePrecedenceOverMismatches) {
  report r = refusal(errc::dtype_mismatch, "X", "Y");
  r.add(errc::malformed);
  EXPECT_STREQ(message(r).c_str(), "malformed tensor: expected X; got Y");
}

TEST(Error, AMessageEndsWithTheAdvice) {
  EXPECT_STREQ(message(refusal(errc::bad_stream, "X", "Y", "Do Z")).c_str(),
               "bad stream: expected X; got Y. Do Z");
  EXPECT_STREQ(message(refusal(errc::rank_mismatch, "X", "Y", "Do Z")).c_str(),
               "expected X; got Y: rank differs. Do Z");
}

// The expected text: all of it, or as much as fits, with an ellipsis at the end.
template <std::size_t Capacity>
std::string truncated(std::string const& all) {
  return all.size() < Capacity ? all : all.substr(0, Capacity - 4) + "...";
}

template <class Capacity>
struct BoundedText : testing::Test {};
template <std::size_t Capacity>
using of_capacity = std::integral_constant<std::size_t, Capacity>;
using Capacities =
    testing::Types<of_capacity<8>, of_capacity<9>, of_capacity<48>, of_capacity<640>>;
struct capacity_name {
  template <class Capacity>
  static std::string GetName(int) {
    return std::to_string(Capacity::value);
  }
};
TYPED_TEST_SUITE(BoundedText, Capacities, capacity_name);

TYPED_TEST(BoundedText, TruncatesWithAnEllipsis) {
  constexpr std::size_t capacity = TypeParam::value;
  for (std::size_t length = 0; length < 2 * capacity; ++length) {
    std::string const all(length, 'x');
    bounded_text<capacity> const text(all.c_str());
    EXPECT_EQ(text.c_str(), truncated<capacity>(all)) << length;
    EXPECT_EQ(text.size(), truncated<capacity>(all).size());
    EXPECT_EQ(text.empty(), length == 0);
  }
}

TYPED_TEST(BoundedText, TruncatesBeforeACharacterOfSeveralBytes) {
  constexpr std::size_t capacity = TypeParam::value;
  for (std::string const character : {"\u00e9", "\u20ac", "\U0001f600"}) {
    for (std::size_t before = 0; before < 4; ++before) {
      std::string all(before, 'x');
      while (all.size() < capacity) {
        all += character;
      }
      std::string const text = bounded_text<capacity>(all.c_str()).c_str();
      std::size_t const kept = text.find('.');
      EXPECT_EQ(text.substr(0, kept), all.substr(0, kept));
      EXPECT_EQ((kept - before) % character.size(), 0U) << text;
      EXPECT_EQ(text.substr(kept), std::string(capacity - 1 - kept, '.'));
    }
  }
}

TYPED_TEST(BoundedText, AppendingInPiecesEqualsAppendingAtOnce) {
  constexpr std::size_t capacity = TypeParam::value;
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    bounded_text<capacity> text;
    std::string all;
    for (int piece = 0; piece < 8; ++piece) {
      std::string const added(random() % (capacity / 2), static_cast<char>('a' + piece));
      if (random() % 2 == 0) {
        text.append(added.c_str());
        all += added;
      } else {
        auto const number = static_cast<std::int64_t>(std::uint64_t{random()} << 32 | random());
        text.append(number).append(added.c_str(), added.size() / 2);
        all += std::to_string(number) + added.substr(0, added.size() / 2);
      }
      ASSERT_EQ(text.c_str(), truncated<capacity>(all)) << "round " << round;
    }
  }
}

TEST(BoundedTextNumbers, AreWrittenWithAllDigits) {
  for (std::int64_t const number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{10},
                                    std::int64_t{-909}, INT64_MAX, INT64_MIN, INT64_MIN + 1}) {
    EXPECT_EQ(bounded_text<32>().append(number).c_str(), std::to_string(number));
  }
  for (std::uint64_t const number : {std::uint64_t{0}, std::uint64_t{INT64_MAX} + 1, UINT64_MAX}) {
    EXPECT_EQ(bounded_text<32>().append_unsigned(number).c_str(), std::to_string(number));
  }
}

TEST(BoundedTextCopies, AreIndependent) {
  bounded_text<16> text("one");
  bounded_text<16> const copy = text;
  text.append(", two");
  EXPECT_STREQ(copy.c_str(), "one");
  EXPECT_STREQ(text.c_str(), "one, two");
}

TEST(Error, AMessageOfTwoFullTextsIsTruncated) {
  std::string const full(1000, 'x');
  report r = refusal(errc::malformed, full.c_str(), full.c_str(), full.c_str());
  EXPECT_EQ(r.expected.c_str(), std::string(236, 'x') + "...");
  EXPECT_EQ(message(r).size(), 639U);
  EXPECT_STREQ(message(r).c_str() + 636, "...");
}

TEST(Raise, ThrowsAnErrorWithTheReport) {
  report const why = refusal(errc::null_data, "X", "Y", "Do Z");
  try {
    dlbridge::raise(why);
    FAIL() << "raise returned";
  } catch (std::exception const& exception) {  // code without dlbridge can catch it
    EXPECT_STREQ(exception.what(), "tensor without data: expected X; got Y. Do Z");
    auto const* const error = dynamic_cast<dlbridge::error const*>(&exception);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), errc::null_data);
    EXPECT_STREQ(error->why().expected.c_str(), "X");
  }
}

TEST(Raise, AnErrorCopiesItsTexts) {
  auto const make_error = [] {
    std::string const expected = "a text that is too long for the buffer inside std::string";
    return dlbridge::error(refusal(errc::overflow, expected.c_str(), "Y"));
  };
  dlbridge::error const first = make_error();
  dlbridge::error const copy = first;
  EXPECT_STREQ(copy.what(),
               "size overflows: expected a text that is too long for the buffer inside "
               "std::string; got Y");
  EXPECT_NE(copy.what(), first.what()) << "a copy owns its text";
}

}  // namespace

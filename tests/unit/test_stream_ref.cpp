// SPDX-License-Identifier: BSD-3-Clause
// stream_ref.hpp: conversion between the stream integers of the protocol and streams, on each
// device.
#include <dlbridge/stream_ref.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace {

using dlbridge::default_stream;
using dlbridge::device;
using dlbridge::report;
using dlbridge::stream_ref;
using dlbridge::stream_request;
using dlbridge::try_read_stream;

static_assert(std::is_trivially_copyable_v<stream_ref>, "it owns nothing");
static_assert(std::is_trivially_copyable_v<stream_request>);
static_assert(std::is_nothrow_default_constructible_v<stream_request>);
static_assert(!std::is_default_constructible_v<stream_ref>, "a stream belongs to a device");
static_assert(std::is_nothrow_constructible_v<stream_ref, device, void*>);
static_assert(!std::is_constructible_v<stream_ref, device, std::nullptr_t>, "use default_of");
static_assert(!std::is_constructible_v<stream_ref, device, int>, "a handle is a pointer");
static_assert(!std::is_constructible_v<stream_ref, device, std::int64_t>);

constexpr device cuda{kDLCUDA, 1};
constexpr device managed{kDLCUDAManaged, 0};
constexpr device rocm{kDLROCM, 0};
constexpr bool has_64_bits = sizeof(void*) == 8;
constexpr std::int64_t handle = has_64_bits ? 0x7f0012345678 : 0x7f001234;

void* as_handle(std::int64_t value) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(value));
}

// The columns of spec 4.4: the meaning of each integer.
enum class meaning { unordered, ordered, refused };
struct row {
  device where;
  std::int64_t value;
  meaning expected;
};
constexpr meaning unordered = meaning::unordered;
constexpr meaning ordered = meaning::ordered;
constexpr meaning refused = meaning::refused;
constexpr meaning large = has_64_bits ? ordered : refused;  // above the handles of 32 bits
constexpr row rows[] = {
    {cuda, -1, unordered},    {cuda, 0, refused},         {cuda, 1, ordered},
    {cuda, 2, ordered},       {cuda, 3, ordered},         {cuda, handle, ordered},
    {cuda, INT64_MAX, large}, {cuda, -2, refused},        {cuda, INT64_MIN, refused},
    {managed, -1, unordered}, {managed, 0, refused},      {managed, 1, ordered},
    {managed, 2, ordered},    {managed, handle, ordered}, {managed, -2, refused},
    {rocm, -1, unordered},    {rocm, 0, ordered},         {rocm, 1, refused},
    {rocm, 2, refused},       {rocm, 3, ordered},         {rocm, handle, ordered},
    {rocm, -2, refused},      {rocm, INT64_MIN, refused},
};

TEST(Stream, EveryIntegerHasTheMeaningOfTheSpecification) {
  for (row const& each : rows) {
    SCOPED_TRACE(std::string(name_of(each.where).c_str()) + " " + std::to_string(each.value));
    stream_request out;
    EXPECT_EQ(try_read_stream(each.where, each.value, out).ok(), each.expected != refused);
    if (each.expected != refused) {
      EXPECT_EQ(out.ordered, each.expected == ordered);
      EXPECT_EQ(out.stream.device(), each.where);
    }
    if (each.expected == ordered) {
      EXPECT_EQ(out.stream.native_handle(), as_handle(each.value)) << "the integer is the handle";
      EXPECT_EQ(protocol_stream(out.stream), each.value) << "and the handle is the integer";
    }
  }
}

TEST(Stream, DevicesWithoutStreamsAcceptOnlyMinusOne) {
  for (int const type : {1, 3, 4, 7, 8, 9, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 99}) {
    stream_request out;
    EXPECT_TRUE(try_read_stream({type, 0}, -1, out).ok()) << type;
    EXPECT_FALSE(out.ordered) << type;
    for (std::int64_t const value :
         {std::int64_t{-2}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, handle}) {
      EXPECT_TRUE(try_read_stream({type, 0}, value, out).has(dlbridge::errc::bad_stream)) << type;
    }
  }
}

TEST(Stream, ARefusalListsTheValidValuesAndLeavesTheOutputUnchanged) {
  struct refusal {
    device where;
    std::int64_t value;
    char const* message;
  };
  refusal const refusals[] = {
      {cuda, 0,
       "bad stream: expected None, -1, 1, 2 or a stream handle on CUDA; got stream 0 for cuda:1. "
       "For the default stream pass 1 (legacy) or 2 (per thread)"},
      {managed, -2,
       "bad stream: expected None, -1, 1, 2 or a stream handle on CUDA; got stream -2 for "
       "cuda_managed:0. For the default stream pass 1 (legacy) or 2 (per thread)"},
      {rocm, 1,
       "bad stream: expected None, -1, 0 or a stream handle on ROCm; got stream 1 for rocm:0. "
       "For the default stream pass 0"},
      {dlbridge::cpu, INT64_MIN,
       "bad stream: expected None or -1, as this device has no streams; got stream "
       "-9223372036854775808 for cpu. Leave stream= out"},
  };
  for (refusal const& each : refusals) {
    stream_request out{true, stream_ref(rocm, as_handle(77))};
    report const why = try_read_stream(each.where, each.value, out);
    ASSERT_TRUE(why.has(dlbridge::errc::bad_stream));
    EXPECT_STREQ(dlbridge::message(why).c_str(), each.message);
    EXPECT_TRUE(out.ordered && out.stream.native_handle() == as_handle(77));
  }
}

TEST(Stream, NoneMeansTheLegacyDefaultStreamWhereThereAreStreams) {
  struct default_row {
    device where;
    bool ordered;
    std::int64_t handle;
  };
  constexpr default_row defaults[] = {
      {cuda, true, 1},           {managed, true, 1},           {rocm, true, 0},
      {dlbridge::cpu, false, 0}, {{kDLCUDAHost, 0}, false, 0}, {{kDLOneAPI, 0}, false, 0}};
  for (default_row const& each : defaults) {
    stream_request const request = dlbridge::unnamed_stream(each.where);
    EXPECT_EQ(request.ordered, each.ordered) << name_of(each.where).c_str();
    EXPECT_EQ(request.stream.native_handle(), as_handle(each.handle));
    EXPECT_EQ(request.stream.device(), each.where);
  }
}

TEST(Stream, DefaultStreamsHaveTheNumbersOfTheSpecification) {
  EXPECT_EQ(protocol_stream(stream_ref::default_of(cuda)), 1);
  EXPECT_EQ(protocol_stream(stream_ref::default_of(cuda, default_stream::per_thread)), 2);
  EXPECT_EQ(protocol_stream(stream_ref::default_of(managed, default_stream::per_thread)), 2);
  EXPECT_EQ(protocol_stream(stream_ref::default_of(rocm)), 0);
  EXPECT_EQ(protocol_stream(stream_ref::default_of(rocm, default_stream::per_thread)), 0)
      << "the protocol has no other integer on ROCm";
}

TEST(Stream, ANullCudaHandleIsEncodedAsOne) {
  void* const null = nullptr;
  EXPECT_EQ(protocol_stream(stream_ref(cuda, null)), 1);
  EXPECT_EQ(protocol_stream(stream_ref(managed, null)), 1);
  EXPECT_EQ(protocol_stream(stream_ref(rocm, null)), 0);
}

TEST(Stream, StreamsAreEqualIfDeviceHandleAndContextAre) {
  stream_ref const stream(cuda, as_handle(77));
  int context = 0;
  stream_ref const same(cuda, as_handle(77));
  EXPECT_TRUE(stream == same);
  EXPECT_FALSE(stream != same);
  for (stream_ref const other : {stream_ref(cuda, as_handle(78)), stream_ref(rocm, as_handle(77)),
                                 stream_ref::default_of(rocm), stream.in_context(&context)}) {
    EXPECT_FALSE(stream == other);
    EXPECT_TRUE(stream != other);
  }
}

TEST(Stream, AStreamInAContextHasTheSameDeviceAndHandle) {
  int context = 0;
  stream_ref const stream = stream_ref::default_of(cuda);
  EXPECT_EQ(stream.context(), nullptr);
  stream_ref const in_context = stream.in_context(&context);
  EXPECT_EQ(in_context.context(), &context);
  EXPECT_EQ(in_context.device(), cuda);
  EXPECT_EQ(in_context.canonical_handle(), 1U);
  EXPECT_EQ(in_context.in_context(nullptr), stream);
}

TEST(Stream, ADefaultRequestIsUnordered) {
  stream_request const request;
  EXPECT_FALSE(request.ordered);
  EXPECT_EQ(request.stream.device(), dlbridge::cpu);
  EXPECT_EQ(request.stream.native_handle(), nullptr);
}

TEST(Stream, AnUnorderedRequestHasANullHandle) {
  for (device const where : {cuda, managed, rocm, dlbridge::cpu}) {
    stream_request out{true, stream_ref(where, as_handle(77))};
    ASSERT_TRUE(try_read_stream(where, -1, out).ok());
    EXPECT_EQ(out.stream.native_handle(), nullptr) << name_of(where).c_str();
  }
}

}  // namespace

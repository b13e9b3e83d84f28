// SPDX-License-Identifier: BSD-3-Clause
// parallel_copy.hpp: a copy in parts equals that of a reference implementation, in any threads, and
// no two parts write the same byte.
#include <dlbridge/parallel_copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aligned_memory.hpp"
#include "copy_reference.hpp"
#include "counted_heap.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::copy;
using dlbridge::copy_of;
using dlbridge::dtype;
using dlbridge::layout;
using dlbridge::managed_tensor;
using dlbridge::struct_kind;
using dlbridge::tensor_view;
using dlbridge::detail::copy_division;
using dlbridge::detail::copy_in_parts;
using dlbridge::detail::divide_copy;

constexpr int layouts_of_each = 30;
constexpr std::int64_t mib = std::int64_t{1} << 20;

/// Runs each part in a thread of its own.
struct thread_each {
  int calls = 0;
  int parts = 0;  // of the last call

  template <class Body>
  void operator()(int count, Body const& body) {
    static_assert(noexcept(body(0)));
    ++calls;
    parts = count;
    std::vector<std::thread> threads;
    for (int part = 0; part < count; ++part) {
      threads.emplace_back([&body, part] { body(part); });
    }
    for (std::thread& each : threads) {
      each.join();
    }
  }
};

/// One long dimension, or up to five, some of which are long enough to be divided.
sizes shape_to_divide(random_source& random) {
  if (random.one_in(4)) {
    return {random.between(600, 2500)};
  }
  sizes shape(static_cast<std::size_t>(random.between(0, 5)));
  std::int64_t count = 1;
  for (std::int64_t& extent : shape) {
    extent = random.one_in(2) ? random.between(1, 6) : random.between(7, 300);
    extent = random.one_in(60) ? 0 : std::max<std::int64_t>(1, std::min(extent, 2500 / count));
    count *= std::max<std::int64_t>(extent, 1);
  }
  for (std::size_t i = 1; i < shape.size(); ++i) {
    std::swap(shape[i],
              shape[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
  }
  return shape;
}

/// A random source and a random destination of one shape, in memory of their own.
struct random_copy {
  memory_layout from;
  memory_layout to;
  std::int64_t source_first;
  std::int64_t destination_first;
  bytes source;
  bytes destination;
  DLTensor source_tensor{};
  DLTensor destination_tensor{};

  random_copy(random_source& random, element_kind const& kind, sizes const& shape)
      : from{kind.type, kind.source_padded, shape, random_strides(random, shape)},
        to{kind.type, kind.destination_padded, shape, strides_without_alias(random, shape)} {
    if (random.one_in(2)) {  // divides packed elements more often
      to.strides = row_major(shape);
    }
    source_first = from.bytes_before() + random.between(0, 9);
    destination_first = to.bytes_before() + random.between(0, 9);
    source = random.noise(static_cast<std::size_t>(source_first + from.bytes_after()));
    destination = random.noise(static_cast<std::size_t>(destination_first + to.bytes_after() + 9));
    source_tensor = from.tensor_at(source.data() + source_first);
    destination_tensor = to.tensor_at(destination.data() + destination_first);
  }
  random_copy(random_copy const&) = delete;

  tensor_view source_view() const { return from.view_of(source_tensor); }
  tensor_view destination_view() const { return to.view_of(destination_tensor); }
  bytes expected() const {
    bytes result = destination;
    reference_copy(from, source, source_first, to, result, destination_first);
    return result;
  }
  /// The part that writes each byte of the destination; -1: none, -2: several.
  std::vector<int> writers(copy_division const& division) const {
    std::vector<int> result(destination.size(), -1);
    for (int part = 0; part < division.parts; ++part) {
      memory_layout slice = to;
      auto const dimension = static_cast<std::size_t>(division.dimension);
      std::int64_t const first = division.first(part);
      slice.shape[dimension] = division.first(part + 1) - first;
      std::int64_t const begin = destination_first * 8 + first * to.strides[dimension] * to.pitch();
      for_each_index(slice.shape, [&](sizes const& index) {
        std::int64_t const bit = begin + std::inner_product(index.begin(), index.end(),
                                                            to.strides.begin(), std::int64_t{0}) *
                                             to.pitch();
        for (std::int64_t byte = bit / 8; byte <= (bit + to.pitch() - 1) / 8; ++byte) {
          int& writer = result[static_cast<std::size_t>(byte)];
          writer = writer == -1 || writer == part ? part : -2;
        }
      });
    }
    return result;
  }
};

struct CopyInParts : testing::TestWithParam<element_kind> {
  random_source random{std::uint64_t{777} + GetParam().type.bits};
};
INSTANTIATE_TEST_SUITE_P(Elements, CopyInParts, testing::ValuesIn(element_kinds),
                         [](auto const& test) { return std::string(test.param.name); });

TEST_P(CopyInParts, EqualsTheReferenceInThreads) {
  thread_each run;
  for (int i = 0; i < layouts_of_each; ++i) {
    random_copy each(random, GetParam(), shape_to_divide(random));
    bytes const expected = each.expected();
    if (!each.source_view().empty()) {
      copy_in_parts(each.source_view(), each.destination_view(),
                    static_cast<int>(random.between(-1, 6)), run);
    }
    ASSERT_TRUE(each.destination == expected) << "from " << each.from << " to " << each.to;
  }
  EXPECT_GT(run.calls, 1) << "few copies were divided";
}

TEST_P(CopyInParts, WritesEachByteInOnePart) {
  for (int i = 0; i < layouts_of_each; ++i) {
    random_copy each(random, GetParam(), shape_to_divide(random));
    if (each.source_view().empty()) {
      continue;
    }
    bytes const expected = each.expected();
    auto const parts = static_cast<int>(random.between(2, 9));
    copy_division const division = divide_copy(each.source_view(), each.destination_view(), parts);
    ASSERT_LE(division.parts, parts);
    if (division.parts == 1) {
      continue;
    }
    std::vector<int> const writers = each.writers(division);
    ASSERT_EQ(std::count(writers.begin(), writers.end(), -2), 0) << "to " << each.to;
    auto const run = [&](int count, auto const& body) {
      ASSERT_EQ(count, division.parts);
      for (int part = count; part-- > 0;) {
        bytes const before = each.destination;
        body(part);
        bool only_its_own = true;
        for (std::size_t byte = 0; byte < before.size(); ++byte) {
          only_its_own &= each.destination[byte] == before[byte] || writers[byte] == part;
        }
        ASSERT_TRUE(only_its_own) << "part " << part << ", to " << each.to;
      }
    };
    copy_in_parts(each.source_view(), each.destination_view(), parts, run);
    ASSERT_TRUE(each.destination == expected) << "from " << each.from << " to " << each.to;
  }
}

/// A tensor in memory that is never accessed.
struct layout_only {
  memory_layout all;
  DLTensor tensor;
  layout_only(dtype type, sizes shape, sizes strides)
      : all{type, false, std::move(shape), std::move(strides)}, tensor(all.tensor_at(nullptr)) {}
  tensor_view view() const { return tensor_view(tensor); }
};

struct division_case {
  char const* name;
  dtype type;
  sizes shape;
  sizes from;
  sizes to;
  int parts;
  int expected_parts;
  int dimension;
};

TEST(DivideCopy, ChoosesTheSlowestLongDimensionOfTheDestination) {
  dtype const f32(kDLFloat, 32), u8(kDLUInt, 8), i4(kDLInt, 4), c128(kDLComplex, 128);
  division_case const cases[] = {
      {"row-major", f32, {512, 512}, {512, 1}, {512, 1}, 4, 4, 0},
      {"column-major", f32, {512, 512}, {1, 512}, {1, 512}, 4, 4, 1},
      {"transposed", f32, {512, 512}, {1, 512}, {512, 1}, 4, 4, 0},
      {"reversed", f32, {512, 512}, {-512, -1}, {512, 1}, 4, 4, 0},
      {"broadcast", f32, {512, 512}, {0, 0}, {512, 1}, 4, 4, 0},
      {"NCHW to NHWC",
       u8,
       {2, 128, 128, 64},
       {1 << 20, 128, 1, 1 << 14},
       {1 << 20, 1 << 13, 64, 1},
       8,
       8,
       1},
      {"NHWC to NCHW", f32, {1, 3, 256, 256}, {1, 1, 768, 3}, {1, 1 << 16, 256, 1}, 4, 4, 2},
      {"more parts than rows", f32, {5, 8}, {1000, 9}, {1000, 9}, 7, 5, 0},
      {"two rows", f32, {2, 1 << 20}, {1 << 20, 1}, {1 << 20, 1}, 4, 4, 1},
      {"one line", f32, {16}, {1}, {1}, 4, 1, 0},
      {"two lines", f32, {32}, {1}, {1}, 4, 2, 0},
      {"large elements", c128, {32}, {1}, {1}, 4, 4, 0},
      {"rank 0", f32, {}, {}, {}, 4, 1, 0},
      {"packed", i4, {4096}, {1}, {1}, 4, 4, 0},
      {"packed, reversed", i4, {4096}, {1}, {-1}, 4, 1, 0},
      {"packed, odd rows", i4, {64, 63}, {63, 1}, {63, 1}, 4, 4, 0},
      {"packed, few odd rows", i4, {4, 4095}, {4095, 1}, {4095, 1}, 4, 1, 0},
      {"packed, few even rows", i4, {4, 4096}, {4096, 1}, {4096, 1}, 4, 4, 1},
  };
  for (division_case const& each : cases) {
    layout_only const from(each.type, each.shape, each.from);
    layout_only const to(each.type, each.shape, each.to);
    copy_division const division = divide_copy(from.view(), to.view(), each.parts);
    EXPECT_EQ(division.parts, each.expected_parts) << each.name;
    if (division.parts > 1) {
      EXPECT_EQ(division.dimension, each.dimension) << each.name;
      std::int64_t const extent = each.shape[static_cast<std::size_t>(each.dimension)];
      EXPECT_EQ(division.first(0), 0) << each.name;
      EXPECT_EQ(division.first(division.parts), extent) << each.name;
      for (int part = 0; part < division.parts; ++part) {
        EXPECT_LT(division.first(part), division.first(part + 1)) << each.name;
      }
    }
  }
}

TEST(DivideCopy, BeginsEachPartAtALineOfBothTensors) {
  layout_only const matrix(dtype(kDLUInt, 8), {4096, 4096}, {4096, 1});
  layout_only const transposed(dtype(kDLUInt, 8), {4096, 4096}, {1, 4096});
  copy_division const division = divide_copy(transposed.view(), matrix.view(), 5);
  ASSERT_EQ(division.parts, 5);
  for (int part = 0; part < 5; ++part) {
    EXPECT_EQ(division.first(part) % 64, 0);
  }
}

TEST(DivideCopy, BeginsEachPartAtAByteOfAPackedSource) {
  layout_only const packed(dtype(kDLInt, 4), {64, 255}, {255, 1});
  layout_only const padded(dtype(kDLInt, 4), {64, 255}, {255, 1});
  copy_division const division =
      divide_copy(packed.view(), padded.view().with_flags(dlbridge::flag_padded), 5);
  ASSERT_EQ(division.parts, 5);
  ASSERT_EQ(division.dimension, 0);
  for (int part = 0; part < 5; ++part) {
    EXPECT_EQ(division.first(part) % 2, 0) << "two rows of 255 elements fill whole bytes";
  }
}

TEST(MethodOfParts, StoresPastTheCacheIfTheWholeCopyDoes) {
  std::int64_t const limit = dlbridge::detail::copy_method::best().stream_from;
  EXPECT_EQ(dlbridge::detail::method_of_parts(limit).stream_from, 0);
  EXPECT_EQ(dlbridge::detail::method_of_parts(limit - 1).stream_from, INT64_MAX);
}

/// A row-major tensor of numbers, and one that receives them.
struct ParallelCopy : testing::Test {
  thread_each run;

  static managed_tensor numbers(sizes const& shape) {
    managed_tensor result = zeros(shape);
    auto* const first = static_cast<float*>(result.view().mutable_data());
    for (std::int64_t i = 0; i < result.view().count(); ++i) {
      first[i] = static_cast<float>(i);
    }
    return result;
  }
  static managed_tensor zeros(sizes const& shape) {
    managed_tensor result = dlbridge::build_empty(dtype(kDLFloat, 32),
                                                  dlbridge::dims::from(shape.data(), shape.size()));
    std::fill_n(static_cast<float*>(result.view().mutable_data()), result.view().count(), 0.0F);
    return result;
  }
  static bool are_equal(tensor_view const& a, tensor_view const& b) {
    auto const* const first = static_cast<float const*>(a.data());
    return std::equal(first, first + a.count(), static_cast<float const*>(b.data()));
  }
};

TEST_F(ParallelCopy, HasNoMorePartsThanItsSizePermits) {
  struct {
    std::int64_t bytes;
    int parts;
    int expected;  // 0: run is not called
  } const cases[] = {{0, 8, 0},       {4, 8, 0},        {mib - 64, 8, 0},  {mib, 8, 2},
                     {4 * mib, 8, 8}, {4 * mib, 3, 3},  {4 * mib, 100, 8}, {4 * mib, 1, 0},
                     {4 * mib, 0, 0}, {4 * mib, -1, 0}, {17 * mib, 2, 2}};
  for (auto const& each : cases) {
    run = thread_each{};
    managed_tensor const from = numbers({each.bytes / 4});
    managed_tensor const to = zeros({each.bytes / 4});
    copy(from, to, each.parts, run);
    EXPECT_EQ(run.parts, each.expected) << each.bytes << " bytes, " << each.parts << " parts";
    EXPECT_TRUE(are_equal(from, to));
  }
}

TEST_F(ParallelCopy, OfRankZeroIsOneElement) {
  managed_tensor const from = numbers({});
  managed_tensor const to = zeros({});
  *static_cast<float*>(from.view().mutable_data()) = 5;
  copy(from, to, 4, run);
  EXPECT_TRUE(are_equal(from, to));
  managed_tensor const fresh = copy_of(from, 4, run);
  EXPECT_TRUE(are_equal(from, fresh));
  EXPECT_EQ(run.calls, 0);
}

TEST_F(ParallelCopy, TakesAnyFunctionThatCallsEveryPart) {
  managed_tensor const from = numbers({512, 1024});
  managed_tensor const to = zeros({512, 1024});
  auto const with_futures = [](int count, auto body) {
    std::vector<std::future<void>> results;
    for (int part = count; part-- > 0;) {
      results.push_back(std::async(std::launch::async, body, part));
    }
  };
  copy(from, to, 4, with_futures);
  EXPECT_TRUE(are_equal(from, to));
}

TEST_F(ParallelCopy, TensorsMayOverlap) {
  managed_tensor const memory = numbers({2 * mib});
  managed_tensor const expected = numbers({2 * mib});
  std::int64_t shape[] = {mib};
  std::int64_t backwards[] = {-1};
  DLTensor from = memory.view().to_dltensor();
  from.shape = shape;
  from.byte_offset = (mib - 1) * 4;
  from.strides = backwards;
  DLTensor to = memory.view().to_dltensor();
  to.shape = shape;
  to.byte_offset = 4096;
  copy(tensor_view(from), tensor_view(to), 4, run);
  EXPECT_EQ(run.calls, 2) << "to temporary memory, and from there";
  auto const* const result = static_cast<float const*>(memory.view().data()) + 1024;
  auto const* const original = static_cast<float const*>(expected.view().data());
  EXPECT_TRUE(std::equal(result, result + mib, std::make_reverse_iterator(original + mib)));
}

TEST_F(ParallelCopy, RefusesWhatACopyRefusesAndCallsNothing) {
  managed_tensor const from = numbers({mib});
  managed_tensor const to = zeros({mib / 2});
  EXPECT_EQ(refusal_of([&] { copy(from, to, 4, run); }), refusal_of([&] { copy(from, to); }));
  EXPECT_EQ(refusal_of([&] { return copy_of(from, 4, run, layout::strided); }),
            refusal_of([&] { return copy_of(from, layout::strided); }));
  tensor_view const constant = from.view().with_flags(dlbridge::flag_read_only);
  EXPECT_EQ(refusal_of([&] { copy(from, constant, 4, run); }),
            refusal_of([&] { copy(from, constant); }));
  EXPECT_EQ(run.calls, 0);
}

TEST_F(ParallelCopy, PassesOnWhatRunThrowsAndFreesItsMemory) {
  managed_tensor const from = numbers({mib});
  auto const failing = [](int count, auto const& body) {
    body(count - 1);
    throw std::runtime_error("no threads");
  };
  managed_tensor const to = zeros({mib});
  EXPECT_THROW(copy(from, to, 4, failing), std::runtime_error);
  int const lent = heap.allocated - heap.freed;
  EXPECT_THROW(static_cast<void>(copy_of(from, 4, failing)), std::runtime_error);
  EXPECT_THROW(copy(from, from, 4, failing), std::runtime_error) << "these overlap";
  EXPECT_EQ(heap.allocated - heap.freed, lent);
}

TEST_F(ParallelCopy, ANewCopyEqualsThatOfOneThread) {
  managed_tensor const from = numbers({300, 5, 700});
  for (layout const order : {layout::row_major, layout::column_major}) {
    for (struct_kind const kind : {struct_kind::legacy, struct_kind::versioned}) {
      run = thread_each{};
      managed_tensor const one = copy_of(from, order, kind);
      managed_tensor const all = copy_of(from, 4, run, order, kind);
      EXPECT_EQ(run.parts, 4);
      EXPECT_EQ(all.kind(), kind);
      EXPECT_EQ(all.view().flags(), one.view().flags());
      EXPECT_EQ(all.view().is_row_major(), order == layout::row_major);
      EXPECT_TRUE(are_equal(one, all));
    }
  }
}

TEST_F(ParallelCopy, ANewCopyUsesTheAllocatorOfTheCaller) {
  static int allocated = 0;
  allocated = 0;
  dlbridge::host_allocator const memory{
      [](std::size_t count, std::size_t alignment) noexcept -> void* {
        ++allocated;
        return allocate_aligned(alignment, count);
      },
      [](void* each, std::size_t, std::size_t) noexcept { free_aligned(each); }};
  managed_tensor const from = numbers({mib});
  managed_tensor const all =
      copy_of(from, 4, run, layout::row_major, struct_kind::versioned, memory);
  EXPECT_EQ(allocated, 1);
  EXPECT_TRUE(are_equal(from, all));
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// detail/copy_elements.hpp: every kernel copies random layouts like a loop over all indices, and
// writes no other byte.
#include <dlbridge/detail/copy_elements.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using dlbridge::tensor_view;
using dlbridge::detail::best_copy_kernel;
using dlbridge::detail::copy_elements;
using dlbridge::detail::copy_kernel;
using dlbridge::detail::copy_method;

using sizes = std::vector<std::int64_t>;
using bytes = std::vector<unsigned char>;

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  void fill(bytes& memory) {
    std::size_t i = 0;
    for (; i + 8 <= memory.size(); i += 8) {
      std::uint64_t const word = engine_();
      std::memcpy(memory.data() + i, &word, sizeof word);
    }
    for (; i < memory.size(); ++i) {
      memory[i] = static_cast<unsigned char>(engine_());
    }
  }

 private:
  std::mt19937_64 engine_;
};

// One side of a copy. Strides are in elements.
struct side {
  sizes strides;
  bytes memory;
  std::size_t first = 0;  // the byte of the first element

  DLTensor tensor(sizes& shape, std::int64_t element) {
    DLTensor t{};
    t.data = memory.data() + first;
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<std::int32_t>(shape.size());
    t.dtype = {kDLUInt, 8, static_cast<std::uint16_t>(element)};
    t.shape = shape.data();
    t.strides = strides.data();
    return t;
  }
};

// Allocates the memory from the lowest to the highest element exactly, so that a sanitizer finds
// every other access, or with a margin whose bytes must not change.
void allocate(side& s, sizes const& shape, std::int64_t element, random_source& random,
              std::int64_t margin) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t const reach = s.strides[i] * (shape[i] - 1);
    (reach < 0 ? low : high) += reach;
  }
  std::int64_t const before = margin == 0 ? 0 : random.between(0, margin);
  s.first = static_cast<std::size_t>(before - low * element);
  s.memory.resize(static_cast<std::size_t>(before + (high - low + 1) * element + margin));
  random.fill(s.memory);
}

// The oracle: one element after the other.
void copy_one_by_one(side const& from, side& to, sizes const& shape, std::int64_t element) {
  sizes index(shape.size(), 0);
  for (;;) {
    auto s = static_cast<std::int64_t>(from.first);
    auto d = static_cast<std::int64_t>(to.first);
    for (std::size_t i = 0; i < index.size(); ++i) {
      s += index[i] * from.strides[i] * element;
      d += index[i] * to.strides[i] * element;
    }
    std::memcpy(to.memory.data() + d, from.memory.data() + s, static_cast<std::size_t>(element));
    std::size_t i = index.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) {
      index[--i] = 0;
    }
    if (i == 0) {
      return;
    }
  }
}

// Up to rank 8. Two dimensions may be long, so that tiles, their edges and shuffles have work.
sizes random_shape(random_source& random) {
  sizes shape(static_cast<std::size_t>(random.between(0, 8)));
  std::int64_t count = 1;
  for (std::int64_t& extent : shape) {
    extent = random.one_in(3) ? random.between(1, 150) : random.between(1, 6);
    extent = std::max<std::int64_t>(1, std::min<std::int64_t>(extent, 12000 / count));
    count *= extent;
  }
  for (std::size_t i = 1; i < shape.size(); ++i) {
    std::swap(shape[i],
              shape[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
  }
  return shape;
}

// Strides without shared elements, in any order of the dimensions.
sizes random_strides(random_source& random, sizes const& shape) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i],
              order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
  }
  std::int64_t const skip = random.one_in(3) ? random.between(1, 4) : 1;
  std::int64_t const gap = random.one_in(3) ? random.between(0, 3) : 0;
  sizes strides(shape.size());
  std::int64_t step = skip;
  for (std::size_t const i : order) {
    strides[i] = random.one_in(5) ? -step : step;
    step = step * shape[i] + gap;
  }
  return strides;
}

std::string name_of_case(copy_kernel kernel, int element) {
  char const* const names[] = {"Portable", "Vector16", "Vector32"};
  return names[static_cast<int>(kernel)] + ("Bytes" + std::to_string(element));
}

struct CopyElements : testing::TestWithParam<std::tuple<copy_kernel, int>> {
  copy_kernel kernel = std::get<0>(GetParam());
  std::int64_t element = std::get<1>(GetParam());
  random_source random{static_cast<std::uint64_t>(7 * element) + static_cast<unsigned>(kernel)};

  void SetUp() override {
    if (kernel > best_copy_kernel()) {
      GTEST_SKIP() << "this processor or compiler lacks the kernel";
    }
  }

  void expect_copy(sizes shape, side from, side to, std::int64_t margin) {
    allocate(from, shape, element, random, margin);
    allocate(to, shape, element, random, margin);
    std::int64_t const stream_from = random.one_in(2) ? 0 : INT64_MAX;
    side expected = to;
    copy_one_by_one(from, expected, shape, element);
    DLTensor const a = from.tensor(shape, element);
    DLTensor const b = to.tensor(shape, element);
    copy_elements(tensor_view(a), tensor_view(b), copy_method{kernel, stream_from});
    std::string layout = stream_from == 0 ? "streamed" : "cached";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      layout += ", " + std::to_string(shape[i]) + " by " + std::to_string(from.strides[i]) +
                " to " + std::to_string(to.strides[i]);
    }
    ASSERT_TRUE(to.memory == expected.memory) << layout;
  }
};
INSTANTIATE_TEST_SUITE_P(KernelAndElement, CopyElements,
                         testing::Combine(testing::Values(copy_kernel::portable,
                                                          copy_kernel::vector16,
                                                          copy_kernel::vector32),
                                          testing::Values(1, 2, 3, 4, 6, 8, 12, 16, 24)),
                         [](auto const& test) {
                           return name_of_case(std::get<0>(test.param), std::get<1>(test.param));
                         });

TEST_P(CopyElements, EqualTheOracleInRandomLayouts) {
  for (int i = 0; i < 400; ++i) {
    sizes const shape = random_shape(random);
    side from{random_strides(random, shape), {}, 0};
    side to{random_strides(random, shape), {}, 0};
    for (std::int64_t& stride : from.strides) {
      stride = random.one_in(8) ? 0 : random.one_in(12) ? random.between(-5, 5) : stride;
    }
    expect_copy(shape, from, to, random.one_in(2) ? 0 : 70);
    ASSERT_FALSE(HasFatalFailure());
  }
}

// The matrices of a copy of several images, and single matrices whose extents are around the blocks
// and tiles of every kernel. Pitches may be multiples of a cache line, and may be negative.
TEST_P(CopyElements, TransposeMatricesOfAnyExtents) {
  for (int i = 0; i < 60; ++i) {
    std::int64_t const images = random.one_in(2) ? 1 : random.between(2, 3);
    std::int64_t const rows = random.one_in(2) ? random.between(1, 140) : 64;
    std::int64_t const columns = random.one_in(2) ? random.between(1, 140) : 128;
    std::int64_t const pitch = columns + (random.one_in(2) ? 0 : random.between(1, 9));
    std::int64_t const to_pitch = rows + (random.one_in(2) ? 0 : random.between(1, 9));
    std::int64_t const sign = random.one_in(4) ? -1 : 1;
    std::int64_t const column_sign = random.one_in(4) ? -1 : 1;
    side const from{{pitch * rows, sign * pitch, column_sign}, {}, 0};
    side const to{{to_pitch * columns, 1, to_pitch}, {}, 0};
    expect_copy({images, rows, columns}, from, to, random.one_in(2) ? 0 : 70);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_P(CopyElements, GatherAndFillRowsOfAnyLength) {
  for (std::int64_t step = -6; step <= 6; ++step) {
    for (std::int64_t const extent : {1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 67, 300, 1100}) {
      std::int64_t const to_step = random.one_in(4) ? 2 : 1;
      side const from{{random.between(1, 3) + 6 * extent, step}, {}, 0};
      side const to{{to_step * extent + random.between(0, 2), to_step}, {}, 0};
      expect_copy({3, extent}, from, to, random.one_in(2) ? 0 : 70);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

TEST_P(CopyElements, InterleavedRowsAreCopiedInParts) {
  for (std::int64_t const channels : {2, 3, 4, 5}) {
    std::int64_t const pixels = random.between(1, 9000);
    expect_copy({channels, pixels}, {{1, channels}, {}, 0}, {{pixels, 1}, {}, 0}, 0);
    expect_copy({pixels, channels}, {{1, pixels}, {}, 0}, {{channels, 1}, {}, 0}, 0);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_P(CopyElements, LongRowsAreCopiedWhole) {
  for (std::int64_t const extent : {65536, 70001}) {
    expect_copy({2, extent}, {{extent + 5, 1}, {}, 0}, {{extent + 3, 1}, {}, 0}, 70);
    expect_copy({extent}, {{-1}, {}, 0}, {{-1}, {}, 0}, 70);
    expect_copy({extent}, {{1}, {}, 0}, {{1}, {}, 0}, 70);
    expect_copy({5, extent / 4}, {{3, 0}, {}, 0}, {{extent, 1}, {}, 0}, 70);
    expect_copy({5, extent / 4}, {{3, 0}, {}, 0}, {{extent / 4 + 3, 1}, {}, 0}, 70);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(CopyMethod, StreamsOnlyWhatExceedsTheCache) {
  copy_method const best = copy_method::best();
  EXPECT_EQ(best.kernel, best_copy_kernel());
  EXPECT_GE(best.stream_from, std::int64_t{1} << 20);
}

TEST(CopyMethod, StoresBlocksToClearedMemoryThroughTheCache) {
  copy_method method = copy_method::to_new_memory();
  EXPECT_EQ(method.stream_from, copy_method::best().stream_from);
  method.stream_from = std::int64_t{16} << 20;
  for (std::int64_t const mebibytes : {15, 16, 29, 30, 255, 256}) {
    bool const streams = mebibytes >= 16;
    bool const is_cleared = mebibytes == 30 || mebibytes == 255;
    EXPECT_EQ(method.streams(mebibytes << 20), streams) << mebibytes;
    EXPECT_EQ(method.streams_block(mebibytes << 20), streams && !is_cleared) << mebibytes;
  }
  method.is_new = false;
  EXPECT_TRUE(method.streams_block(std::int64_t{30} << 20));
}

}  // namespace

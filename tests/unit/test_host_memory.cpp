// SPDX-License-Identifier: BSD-3-Clause
// host_memory.hpp: new tensors in memory of the default allocator or of the caller's.
#include <dlbridge/host_memory.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__GLIBC__)
#include <sys/resource.h>
#endif

#include "aligned_memory.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::build_empty;
using dlbridge::default_allocator;
using dlbridge::dims;
using dlbridge::dtype;
using dlbridge::dtype_of;
using dlbridge::managed_tensor;
using dlbridge::struct_kind;
using dlbridge::tensor_view;

constexpr dtype int4(kDLInt, 4);

TEST(BuildEmpty, IsRowMajorWritableAndAligned) {
  for (int columns = 1; columns < 40; ++columns) {
    managed_tensor const m = build_empty(dtype_of<std::int16_t>(), {3, columns});
    tensor_view const view = m.view();
    EXPECT_EQ(view.dtype(), dtype_of<std::int16_t>());
    EXPECT_EQ(view.device(), dlbridge::cpu);
    EXPECT_EQ(view.rank(), 2);
    EXPECT_EQ(view.extent(1), columns);
    EXPECT_TRUE(view.is_row_major());
    EXPECT_FALSE(view.read_only());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % dlbridge::host_alignment, 0U);
    EXPECT_EQ(m.get_versioned()->flags, 0U) << "a new tensor is not a copy";
  }
}

TEST(BuildEmpty, BuildsEitherStructKind) {
  EXPECT_NE(build_empty(dtype_of<float>(), {2}).get_versioned(), nullptr);
  EXPECT_NE(build_empty(dtype_of<float>(), {2}, struct_kind::legacy).get_legacy(), nullptr);
}

TEST(BuildEmpty, BuildsRankZeroAndEmptyTensors) {
  managed_tensor const one = build_empty(dtype_of<double>(), dims());
  EXPECT_EQ(one.view().count(), 1);
  for (dims const& shape : {dims(0), dims(2, 0, 3), dims(0, INT64_MAX)}) {
    managed_tensor const m = build_empty(dtype_of<double>(), shape);
    EXPECT_EQ(m.view().count(), 0);
    EXPECT_EQ(m.view().rank(), shape.size());
  }
}

TEST(BuildEmpty, RefusesInvalidAndOverflowingShapes) {
  struct {
    dims shape;
    char const* refusal;
  } const cases[] = {
      {dims(2, -1),
       "bad_argument: bad argument: expected extents of 0 and above; got shape [2, -1]"},
      {dims::from(std::vector<int>(65, 1).data(), 65),
       "bad_argument: bad argument: expected at most 64 extents; got shape of more than 64 "
       "dimensions"},
      {dims(std::int64_t{1} << 62, 4),
       "overflow: size overflows: expected a size in bits that fits 64 "
       "bits; got shape [4611686018427387904, 4]"},
      {dims(std::int64_t{1} << 61),
       "overflow: size overflows: expected a size in bits that fits 64 bits; "
       "got shape [2305843009213693952]"},
      {dims(std::int64_t{1} << 57),  // 64 bits hold the number of bytes, but not that of bits
       "overflow: size overflows: expected a size in bits that fits 64 bits; "
       "got shape [144115188075855872]"},
      {dims::from(static_cast<std::int64_t const*>(nullptr), 0), "accepted"},
  };
  for (auto const& each : cases) {
    EXPECT_EQ(refusal_of([&] { return build_empty(dtype_of<double>(), each.shape); }),
              each.refusal);
  }
}

// An allocator that counts bytes, returns memory with all bits set, and fails on demand.
struct allocation_counts {
  std::size_t allocated = 0;
  std::size_t freed = 0;
  std::size_t alignment = 0;
  bool fails = false;
} counts;

constexpr dlbridge::host_allocator counting = {
    [](std::size_t bytes, std::size_t alignment) noexcept -> void* {
      counts.allocated += bytes;
      counts.alignment = alignment;
      void* const memory = counts.fails ? nullptr : allocate_aligned(alignment, bytes);
      return memory != nullptr ? std::memset(memory, 255, bytes) : nullptr;
    },
    [](void* memory, std::size_t bytes, std::size_t) noexcept {
      counts.freed += bytes;
      free_aligned(memory);
    }};

struct HostAllocator : testing::Test {
  void SetUp() override { counts = allocation_counts(); }
};

TEST_F(HostAllocator, FreesItsMemoryOnce) {
  {
    managed_tensor const m = build_empty(dtype_of<float>(), {5}, struct_kind::versioned, counting);
    EXPECT_EQ(counts.allocated, 20U);
    EXPECT_EQ(counts.alignment, dlbridge::host_alignment);
    EXPECT_EQ(counts.freed, 0U);
  }
  EXPECT_EQ(counts.freed, 20U);
}

TEST_F(HostAllocator, PackedElementsAreZeroAndShareBytes) {
  managed_tensor const m = build_empty(int4, {3}, struct_kind::versioned, counting);
  EXPECT_EQ(counts.allocated, 2U);
  auto const* bytes = static_cast<unsigned char const*>(m.view().data());
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes[1], 0);
}

TEST_F(HostAllocator, ASizeAboveTheAddressSpaceIsRefused) {
  counts.fails = true;  // nothing allocates 8 GiB
  EXPECT_EQ(
      refusal_of([] {
        return build_empty(dtype_of<std::int8_t>(), {std::int64_t{1} << 33}, struct_kind::versioned,
                           counting);
      }),
      sizeof(void*) == 8
          ? "out_of_memory: out of memory: expected host memory of 8589934592 bytes; got none"
          : "overflow: size overflows: expected a size that fits the address space; got shape "
            "[8589934592]");
}

TEST_F(HostAllocator, MemoryWithAnotherAlignmentIsFreedAndReported) {
  static int freed = 0;
  dlbridge::host_allocator const odd = {
      [](std::size_t bytes, std::size_t alignment) noexcept -> void* {
        return static_cast<char*>(default_allocator().allocate(bytes + 1, alignment)) + 1;
      },
      [](void* memory, std::size_t bytes, std::size_t alignment) noexcept {
        ++freed;
        default_allocator().deallocate(static_cast<char*>(memory) - 1, bytes + 1, alignment);
      }};
  EXPECT_EQ(
      refusal_of(
          [&] { return build_empty(dtype(kDLFloat, 32), {2}, struct_kind::versioned, odd); }),
      "bad_argument: bad argument: expected memory of the allocator, aligned to 64 bytes; got "
      "memory with another alignment");
  EXPECT_EQ(freed, 1);
}

TEST_F(HostAllocator, AFailedAllocationIsReported) {
  counts.fails = true;
  EXPECT_EQ(refusal_of([] {
              return build_empty(dtype_of<float>(), {5}, struct_kind::versioned, counting);
            }),
            "out_of_memory: out of memory: expected host memory of 20 bytes; got none");
  EXPECT_EQ(counts.freed, 0U);
}

TEST_F(HostAllocator, IsNotCalledForARefusedShape) {
  EXPECT_NE(refusal_of([] {
              return build_empty(dtype_of<float>(), {-5}, struct_kind::versioned, counting);
            }),
            "accepted");
  EXPECT_EQ(counts.allocated, 0U);
}

TEST(DefaultAllocator, AlignsMemoryOfEverySize) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  dlbridge::host_allocator const allocator = default_allocator();
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{100}, 4 * mebibyte - 1, 4 * mebibyte,
                                  7 * mebibyte + 3, 40 * mebibyte}) {
    for (std::size_t alignment = 1; alignment <= 2 * mebibyte; alignment *= 4) {
      auto* const memory = static_cast<unsigned char*>(allocator.allocate(bytes, alignment));
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0U) << bytes;
      memory[0] = memory[bytes - 1] = 1;
      allocator.deallocate(memory, bytes, alignment);
    }
  }
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The first use of new pages takes longer than a copy to them.
TEST(DefaultAllocator, LargeMemoryIsUsedAgain) {
  auto const faults = [] {
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
  };
  long first = 0;
  long last = 0;
  for (int turn = 0; turn < 4; ++turn) {
    long const before = faults();
    managed_tensor const m = build_empty(dtype_of<unsigned char>(), {8 << 20});
    std::memset(const_cast<void*>(m.view().data()), 1, std::size_t{8} << 20);
    last = faults() - before;
    first = turn == 0 ? last : first;
  }
  EXPECT_GT(first, 0);
  EXPECT_LT(last, 3);
}
#endif

}  // namespace

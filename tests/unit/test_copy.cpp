// SPDX-License-Identifier: BSD-3-Clause
// copy.hpp: a copy equals, bit by bit, that of a reference implementation written from the
// specification.
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plainly.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aligned_memory.hpp"
#include "copy_reference.hpp"
#include "counted_heap.hpp"
#include "foreign.hpp"
#include "refusal.hpp"
#include "struct_kinds.hpp"

namespace {

using dlbridge::copy;
using dlbridge::copy_of;
using dlbridge::dtype;
using dlbridge::errc;
using dlbridge::host_allocator;
using dlbridge::layout;
using dlbridge::managed_tensor;
using dlbridge::struct_kind;
using dlbridge::tensor_view;

constexpr int layouts_of_each = 400;

struct CopyOfAnyLayout : testing::TestWithParam<element_kind> {
  random_source random{std::uint64_t{20240} + GetParam().type.bits};
};
INSTANTIATE_TEST_SUITE_P(Elements, CopyOfAnyLayout, testing::ValuesIn(element_kinds),
                         [](auto const& test) { return std::string(test.param.name); });

TEST_P(CopyOfAnyLayout, CopiesEveryElementAndWritesNoOtherByte) {
  for (int i = 0; i < layouts_of_each; ++i) {
    sizes const shape = random_shape(random);
    memory_layout from{GetParam().type, GetParam().source_padded, shape,
                       random_strides(random, shape)};
    memory_layout to{GetParam().type, GetParam().destination_padded, shape,
                     strides_without_alias(random, shape)};
    // The addresses have any alignment, and the bytes on both sides must not change.
    std::int64_t const source_first = from.bytes_before() + random.between(0, 9);
    std::int64_t const destination_first = to.bytes_before() + random.between(0, 9);
    bytes source = random.noise(static_cast<std::size_t>(source_first + from.bytes_after()));
    bytes destination =
        random.noise(static_cast<std::size_t>(destination_first + to.bytes_after() + 9));
    bytes expected = destination;
    reference_copy(from, source, source_first, to, expected, destination_first);
    DLTensor const a = from.tensor_at(source.data() + source_first);
    DLTensor const b = to.tensor_at(destination.data() + destination_first);
    copy(from.view_of(a), to.view_of(b));
    ASSERT_EQ(destination, expected) << "from " << from << " to " << to;
  }
}

TEST_P(CopyOfAnyLayout, SourceAndDestinationMayOverlap) {
  for (int i = 0; i < layouts_of_each; ++i) {
    sizes const shape = random_shape(random);
    memory_layout from{GetParam().type, GetParam().source_padded, shape,
                       random_strides(random, shape)};
    memory_layout to{GetParam().type, GetParam().destination_padded, shape,
                     random.one_in(5) ? row_major(shape) : strides_without_alias(random, shape)};
    if (random.one_in(5)) {
      from.strides = to.strides;
    }
    std::int64_t const before = std::max(from.bytes_before(), to.bytes_before());
    std::int64_t const source_first = before + random.between(0, 9);
    std::int64_t const destination_first = before + random.between(0, 9);
    bytes memory = random.noise(static_cast<std::size_t>(
        std::max(source_first + from.bytes_after(), destination_first + to.bytes_after())));
    bytes expected = memory;
    reference_copy(from, memory, source_first, to, expected, destination_first);
    DLTensor const a = from.tensor_at(memory.data() + source_first);
    DLTensor const b = to.tensor_at(memory.data() + destination_first);
    copy(from.view_of(a), to.view_of(b));
    ASSERT_EQ(memory, expected) << "from " << from << " to " << to << ", "
                                << destination_first - source_first << " bytes after the source";
  }
}

TEST_P(CopyOfAnyLayout, ANewCopyIsCompactInTheRequestedOrder) {
  for (int i = 0; i < layouts_of_each; ++i) {
    sizes const shape = random_shape(random);
    memory_layout from{GetParam().type, GetParam().source_padded, shape,
                       random_strides(random, shape)};
    memory_layout to{from.type, from.padded, shape, row_major(shape)};
    bool const row_order = random.one_in(2);
    if (!row_order) {
      dlbridge::fill_column_major(static_cast<int>(shape.size()), shape.data(), to.strides.data());
    }
    std::int64_t const first = from.bytes_before() + random.between(0, 9);
    bytes source = random.noise(static_cast<std::size_t>(first + from.bytes_after()));
    bytes expected(static_cast<std::size_t>(to.bytes_after()));
    reference_copy(from, source, first, to, expected, 0);
    DLTensor const a = from.tensor_at(source.data() + first);
    auto const expect_copy = [&](tensor_view const& result) {
      ASSERT_TRUE(row_order ? result.is_row_major() : result.is_column_major()) << "of " << from;
      ASSERT_TRUE(result.is_copied());
      ASSERT_EQ(result.is_padded(), from.padded);
      if (!result.empty()) {
        auto const* const memory = static_cast<unsigned char const*>(result.data());
        ASSERT_EQ(bytes(memory, memory + expected.size()), expected) << "of " << from;
      }
    };
    managed_tensor const m =
        copy_of(from.view_of(a), row_order ? layout::row_major : layout::column_major);
    expect_copy(m);
    if (row_order) {  // the copy without kernels, which has this order only
      managed_tensor const plain =
          dlbridge::detail::copy_plainly(from.view_of(a), dlbridge::struct_kind::versioned);
      expect_copy(plain);
    }
    ASSERT_FALSE(HasFatalFailure());
  }
}

// A source and a destination of the plain-C producer: float32[2, 3] of 0, 1, 2, ... and of -1.
struct Copy : testing::Test {
  foreign_ptr source = make_foreign();
  foreign_ptr destination = make_foreign();
  DLTensor& from = foreign_legacy(source.get())->dl_tensor;
  DLTensor& to = foreign_legacy(destination.get())->dl_tensor;

  void SetUp() override { std::fill_n(destination->data, FOREIGN_FLOATS, -1.0F); }
  std::string refusal(std::uint64_t flags = 0) const {
    return refusal_of([&] { copy(tensor_view(from), tensor_view(to, flags)); });
  }
};

TEST_F(Copy, ConvertsRowMajorToColumnMajor) {
  destination->strides[0] = 1;
  destination->strides[1] = 2;
  copy(tensor_view(from), tensor_view(to));
  float const expected[] = {0, 3, 1, 4, 2, 5, -1};
  EXPECT_TRUE(std::equal(std::begin(expected), std::end(expected), destination->data));
}

TEST_F(Copy, AppliesNullStridesAndByteOffsetsOnBothSides) {
  from.strides = nullptr;
  from.byte_offset = 8;
  to.strides = nullptr;
  to.byte_offset = 4;
  copy(tensor_view(from), tensor_view(to));
  float const expected[] = {-1, 2, 3, 4, 5, 6, 7, -1};
  EXPECT_TRUE(std::equal(std::begin(expected), std::end(expected), destination->data));
}

TEST_F(Copy, KeepsTheBitsOfSignallingNaNs) {
  for (std::int64_t const stride : {1, 2}) {
    source->strides[1] = stride;
    std::uint32_t const bits = 0x7F800001;  // a copy through a float register makes it quiet
    std::memcpy(source->data + 2 * stride, &bits, sizeof bits);
    copy(tensor_view(from), tensor_view(to));
    std::uint32_t copied = 0;
    std::memcpy(&copied, destination->data + 2, sizeof copied);
    EXPECT_EQ(copied, bits);
  }
}

TEST_F(Copy, CopiesElementsOfAnySize) {
  auto* const first = reinterpret_cast<unsigned char*>(source->data);
  auto* const copied = reinterpret_cast<unsigned char*>(destination->data);
  for (std::uint16_t size = 1; size < 40; ++size) {
    from.dtype = to.dtype = {kDLUInt, 8, size};
    from.ndim = to.ndim = 1;
    source->shape[0] = destination->shape[0] = 2;
    source->strides[0] = 3;
    destination->strides[0] = 2;
    bytes expected(std::size_t{4} * size, 255);
    std::copy(expected.begin(), expected.end(), copied);
    for (unsigned char i = 0; i < size; ++i) {
      expected[i] = first[i] = i;
      expected[std::size_t{2} * size + i] = first[std::size_t{3} * size + i] =
          static_cast<unsigned char>(100 + i);
    }
    copy(tensor_view(from), tensor_view(to));
    EXPECT_EQ(bytes(copied, copied + expected.size()), expected) << size << " bytes";
  }
}

TEST_F(Copy, OfAnEmptyTensorReadsAndWritesNothing) {
  std::int64_t const shape[] = {2, 0, 3};
  for (auto* each : {source.get(), destination.get()}) {
    foreign_set_shape(each, 3, shape);
  }
  from.data = nullptr;
  to.data = nullptr;
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(Copy, OfRankZeroIsOneElement) {
  for (DLTensor* each : {&from, &to}) {
    each->ndim = 0;
    each->shape = nullptr;
    each->strides = nullptr;
  }
  from.byte_offset = 12;
  copy(tensor_view(from), tensor_view(to));
  EXPECT_EQ(destination->data[0], 3);
  EXPECT_EQ(destination->data[1], -1);
}

TEST_F(Copy, OfATensorToItselfChangesNothing) {
  copy(tensor_view(from), tensor_view(from));
  EXPECT_EQ(foreign_sum(&from), 15);
}

TEST_F(Copy, AllocatesMemoryOnlyIfTheTensorsOverlap) {
  if (!heap_is_counted()) {
    GTEST_SKIP() << "another operator new replaces the counting one";
  }
  struct {
    int floats_behind;  // from the source to the destination in the same memory
    bool overlap;
  } const cases[] = {{6, false}, {-6, false}, {5, true}, {-5, true}};
  for (auto const& each : cases) {
    for (bool const reversed : {false, true}) {
      source->strides[0] = reversed ? -3 : 3;
      from.data = source->data + 16 + (reversed ? 3 : 0);
      to.data = source->data + 16 + each.floats_behind;
      int const allocated = heap.allocated;
      copy(tensor_view(from), tensor_view(to));
      EXPECT_EQ(heap.allocated != allocated, each.overlap) << each.floats_behind;
    }
  }
}

TEST_F(Copy, RefusesADifferentDestinationAndNamesEveryRule) {
  std::int64_t const shape[] = {3, 2};
  foreign_set_shape(destination.get(), 2, shape);
  to.dtype = {kDLInt, 64, 1};
  to.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal(dlbridge::flag_read_only),
            "dtype_mismatch: expected float32[2, 3] on cpu, writable; got int64[3, 2] on cuda:0, "
            "read-only: dtype, extents, device, writability differ. Pass a writable "
            "destination");
  foreign_set_shape(destination.get(), 1, shape);
  EXPECT_EQ(refusal(),
            "dtype_mismatch: expected float32[2, 3] on cpu, writable; got int64[3] on cuda:0: "
            "dtype, rank, device differ");
}

TEST_F(Copy, RefusesASourceInDeviceMemory) {
  from.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal(),
            "device_mismatch: expected any dtype[...] on cpu; got float32[2, 3] on cuda:0: device "
            "differs");
}

TEST_F(Copy, RefusesADestinationWhoseElementsShareMemory) {
  struct {
    std::int64_t strides[2];
    char const* text;
  } const cases[] = {
      {{0, 1}, "[0, 1]"}, {{3, 0}, "[3, 0]"}, {{1, 1}, "[1, 1]"}, {{-2, 1}, "[-2, 1]"}};
  for (auto const& each : cases) {
    destination->strides[0] = each.strides[0];
    destination->strides[1] = each.strides[1];
    to.byte_offset = 16;
    EXPECT_EQ(refusal(),
              std::string("layout_mismatch: expected a destination whose elements share no memory; "
                          "got float32[2, 3] on cpu with strides ") +
                  each.text + ", whose elements may share memory: layout differs");
  }
}

// An allocator that counts its calls and fails on demand.
struct counted_memory {
  static inline int allocated = 0;
  static inline int freed = 0;
  static inline std::size_t last_bytes = 0;
  static inline bool fails = false;

  static host_allocator allocator() {
    allocated = freed = 0;
    fails = false;
    return {[](std::size_t count, std::size_t alignment) noexcept -> void* {
              last_bytes = count;
              allocated += fails ? 0 : 1;
              return fails ? nullptr : allocate_aligned(alignment, count);
            },
            [](void* memory, std::size_t count, std::size_t alignment) noexcept {
              EXPECT_EQ(count, last_bytes) << "freed with the size of its allocation";
              EXPECT_EQ(alignment, dlbridge::host_alignment);
              ++freed;
              free_aligned(memory);
            }};
  }
};

struct CopyOf : testing::TestWithParam<std::tuple<struct_kind, layout>> {
  struct_kind kind = std::get<0>(GetParam());
  layout order = std::get<1>(GetParam());
  foreign_ptr source = make_foreign();
  DLTensor& from = foreign_legacy(source.get())->dl_tensor;

  managed_tensor make(std::uint64_t flags = 0,
                      host_allocator const& memory = dlbridge::default_allocator()) const {
    return copy_of(tensor_view(from, flags), order, kind, memory);
  }
};
INSTANTIATE_TEST_SUITE_P(StructKindAndOrder, CopyOf,
                         testing::Combine(both_struct_kinds,
                                          testing::Values(layout::row_major, layout::column_major)),
                         [](auto const& test) {
                           return name_of(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) == layout::row_major ? "Row" : "Column");
                         });

TEST_P(CopyOf, IsReadAndFreedByAForeignConsumer) {
  source->strides[0] = -3;
  from.byte_offset = 12;
  managed_tensor m = make();
  EXPECT_EQ(m.kind(), kind);
  DLTensor const& t = m.tensor();
  auto const* const elements = static_cast<float const*>(t.data);
  EXPECT_EQ(elements[order == layout::row_major ? 3 : 1], 0) << "the element at [1, 0]";
  EXPECT_EQ(elements[order == layout::row_major ? 1 : 2], 4) << "the element at [0, 1]";
  EXPECT_EQ(t.strides[0], order == layout::row_major ? 3 : 1);
  EXPECT_EQ(t.strides[1], order == layout::row_major ? 1 : 2);
  EXPECT_EQ(consume_in_c(std::move(m)), 15);
  EXPECT_EQ(source->deleter_calls, 0) << "the copy does not own the source";
}

TEST_P(CopyOf, IsAlignedWritableAndFlaggedAsCopied) {
  for (std::int64_t count = 1; count < 40; ++count) {
    foreign_set_shape(source.get(), 1, &count);
    managed_tensor const m = make(dlbridge::flag_read_only | std::uint64_t{1} << 40);
    tensor_view const view = m;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 64, 0U);
    EXPECT_FALSE(view.read_only());
    EXPECT_EQ(view.flags(), kind == struct_kind::versioned ? dlbridge::flag_is_copied : 0);
  }
}

TEST_P(CopyOf, UsesTheCallersAllocator) {
  managed_tensor m = make(0, counted_memory::allocator());
  EXPECT_EQ(counted_memory::allocated, 1);
  EXPECT_EQ(counted_memory::last_bytes, 24U);
  EXPECT_EQ(counted_memory::freed, 0);
  EXPECT_EQ(consume_in_c(std::move(m)), 15);
  EXPECT_EQ(counted_memory::allocated, 1);
  EXPECT_EQ(counted_memory::freed, 1);
}

TEST_P(CopyOf, ReportsAFailedAllocation) {
  host_allocator const memory = counted_memory::allocator();
  counted_memory::fails = true;
  EXPECT_EQ(refusal_of([&] { return make(0, memory); }),
            "out_of_memory: out of memory: expected host memory of 24 bytes; got none");
  EXPECT_EQ(counted_memory::freed, 0);
}

TEST_P(CopyOf, OfAnEmptyTensorHasNullDataAndFreesItsMemory) {
  std::int64_t const shape[] = {2, 0};
  foreign_set_shape(source.get(), 2, shape);
  from.data = nullptr;
  {
    managed_tensor const m = make(0, counted_memory::allocator());
    EXPECT_EQ(m.tensor().data, nullptr);
    EXPECT_EQ(m.tensor().shape[0], 2);
    EXPECT_GT(counted_memory::last_bytes, 0U) << "an allocator may return null for 0 bytes";
  }
  EXPECT_EQ(counted_memory::allocated, counted_memory::freed);
}

TEST_P(CopyOf, OfRankZeroIsOneElement) {
  from.ndim = 0;
  from.byte_offset = 12;
  EXPECT_EQ(consume_in_c(make()), 3);
}

TEST_P(CopyOf, PaddedElementsNeedAVersionedStruct) {
  from.dtype = {kDLInt, 4, 1};
  std::string const result =
      refusal_of([&] { return make(dlbridge::flag_padded, counted_memory::allocator()); });
  EXPECT_EQ(result,
            kind == struct_kind::versioned
                ? "accepted"
                : "version_mismatch: unreadable DLPack version: expected a versioned tensor "
                  "for padded sub-byte elements; got a request for a legacy one. Build a "
                  "versioned tensor");
  EXPECT_EQ(counted_memory::allocated, counted_memory::freed);
}

TEST_P(CopyOf, RefusesASourceInDeviceMemory) {
  from.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal_of([&] { return make(); }),
            "device_mismatch: expected any dtype[...] on cpu; got float32[2, 3] on cuda:0: device "
            "differs");
}

TEST(CopyOfOrder, IsRowMajorOrColumnMajor) {
  foreign_ptr const source = make_foreign();
  tensor_view const view(foreign_legacy(source.get())->dl_tensor);
  for (layout const order : {layout::strided, layout::compact}) {
    EXPECT_EQ(refusal_of([&] { return copy_of(view, order); }),
              "bad_argument: bad argument: expected row_major or column_major for a copy; got "
              "another layout");
  }
}

}  // namespace

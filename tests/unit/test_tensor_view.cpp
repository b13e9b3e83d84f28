// SPDX-License-Identifier: BSD-3-Clause
// tensor_view.hpp: tensor_view reads the memory and the layout of a valid tensor.
#include <dlbridge/copy.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "dltensor_edits.hpp"
#include "foreign.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::device;
using dlbridge::dtype;
using dlbridge::tensor_view;
using dlbridge::view_of;

static_assert(std::is_trivially_copyable_v<tensor_view>, "it is passed by value");
static_assert(!std::is_default_constructible_v<tensor_view>, "a view refers to a tensor");
static_assert(std::is_nothrow_constructible_v<tensor_view, DLTensor const&>);
static_assert(std::is_nothrow_constructible_v<tensor_view, DLTensor&, std::uint64_t>);
static_assert(!std::is_convertible_v<DLTensor const&, tensor_view>,
              "view_of checks; the constructor does not");
static_assert(!std::is_constructible_v<tensor_view, DLTensor>, "it would dangle");
static_assert(!std::is_constructible_v<tensor_view, DLTensor const, std::uint64_t>);
static_assert(sizeof(tensor_view) <= 64, "one cache line");

constexpr std::int64_t most = INT64_MAX;
constexpr std::int64_t huge = std::int64_t{1} << 62;

TEST(TensorView, AddsTheByteOffsetToAnAddressAndKeepsItForAHandle) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.byte_offset = 8;
  // From spec 1.3 and 1.6.
  for (int const type : {1, 2, 3, 10, 11, 13, 14, 20}) {
    set_device(t, type);
    tensor_view const view = view_of(t);
    EXPECT_EQ(view.data(), foreign->data + 2) << type;
    EXPECT_EQ(view.byte_offset(), 0U) << type;
  }
  for (int const type : {4, 7, 8, 9, 12, 15, 16, 17, 18, 19, 21}) {
    set_device(t, type);
    tensor_view const view = view_of(t);
    EXPECT_EQ(view.data(), foreign->data) << type;
    EXPECT_EQ(view.byte_offset(), 8U) << type;
  }
}

// The sum of all elements, as foreign_sum computes it, through the public functions of a view.
double sum_of(tensor_view const& view, int axis = 0, std::int64_t offset = 0) {
  if (axis == view.rank()) {
    return static_cast<double>(static_cast<float const*>(view.data())[offset]);
  }
  double total = 0;
  for (std::int64_t i = 0; i < view.extent(axis); ++i) {
    total += sum_of(view, axis + 1, offset + i * view.stride(axis));
  }
  return total;
}

TEST(TensorView, ReadsTheSameElementsAsAForeignConsumer) {
  std::mt19937 random(6);
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  for (int round = 0; round < 5000; ++round) {
    std::int64_t shape[4];
    for (std::int64_t& extent : shape) {
      extent = random() % 8 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 2);
    }
    foreign_set_shape(foreign.get(), static_cast<int>(random() % 5), shape);
    t.byte_offset = random() % 16 * sizeof(float);
    t.strides = random() % 4 == 0 ? nullptr : foreign->strides;
    for (int i = 0; t.strides != nullptr && i < t.ndim; ++i) {
      t.strides[i] = static_cast<std::int64_t>(random() % 12);
      if (random() % 4 == 0 && t.shape[i] > 1) {  // reversed, starting at the last element
        t.byte_offset += static_cast<std::uint64_t>(t.strides[i]) * sizeof(float);
        t.strides[i] = -t.strides[i];
      }
    }
    if (t.byte_offset < 20 * sizeof(float)) {
      ASSERT_EQ(sum_of(view_of(t)), foreign_sum(&t)) << name_of(view_of(t)).c_str();
    }
  }
}

TEST(TensorView, NullStridesAreRowMajorAndStrideIsComputed) {
  foreign_ptr const foreign = make_foreign();
  std::int64_t const shape[] = {2, 3, 4};
  foreign_set_shape(foreign.get(), 3, shape);
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.strides = nullptr;
  tensor_view const view = view_of(t);
  EXPECT_EQ(view.strides(), nullptr);
  EXPECT_EQ(view.stride(0), 12);
  EXPECT_EQ(view.stride(1), 4);
  EXPECT_EQ(view.stride(2), 1);
  EXPECT_TRUE(view.is_row_major());
  EXPECT_TRUE(view.is_compact());
  EXPECT_FALSE(view.is_column_major());
}

TEST(TensorView, DerivesItsOrderFromItsStrides) {
  struct row {
    std::int64_t first;
    std::int64_t second;
    bool row_major;
    bool column_major;
    bool compact;
  };
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  row const rows[] = {{3, 1, true, false, true},
                      {1, 2, false, true, true},
                      {4, 1, false, false, false},
                      {-3, 1, false, false, false},
                      {0, 1, false, false, false}};
  for (row const& each : rows) {
    set_strides(t, each.first, each.second);
    t.byte_offset = 3 * sizeof(float);
    tensor_view const view = view_of(t);
    EXPECT_EQ(view.is_row_major(), each.row_major) << each.first;
    EXPECT_EQ(view.is_column_major(), each.column_major) << each.first;
    EXPECT_EQ(view.is_compact(), each.compact) << each.first;
  }
}

TEST(TensorView, ReturnsItsFlagsAndKeepsUnknownOnes) {
  struct row {
    std::uint64_t flags;
    bool read_only;
    bool is_copied;
    bool is_padded;
  };
  foreign_ptr const foreign = make_foreign();
  DLTensor const& t = foreign_legacy(foreign.get())->dl_tensor;
  EXPECT_EQ(view_of(t).flags(), 0U) << "a DLTensor has no flags";
  EXPECT_EQ(tensor_view(t).flags(), 0U);
  row const rows[] = {{1, true, false, false},
                      {2, false, true, false},
                      {4, false, false, true},
                      {7, true, true, true},
                      {~std::uint64_t{7}, false, false, false}};
  for (row const& each : rows) {
    for (tensor_view const view : {view_of(t, each.flags), view_of(t, 3).with_flags(each.flags)}) {
      EXPECT_EQ(view.flags(), each.flags);
      EXPECT_EQ(view.read_only(), each.read_only);
      EXPECT_EQ(view.is_copied(), each.is_copied);
      EXPECT_EQ(view.is_padded(), each.is_padded);
      EXPECT_EQ(view.data(), t.data);
    }
  }
}

TEST(TensorView, MutableDataRefusesReadOnlyMemory) {
  foreign_ptr const foreign = make_foreign();
  DLTensor const& t = foreign_legacy(foreign.get())->dl_tensor;
  EXPECT_EQ(view_of(t).mutable_data(), foreign->data);
  tensor_view const constant = view_of(t, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(constant.data(), foreign->data);
  EXPECT_EQ(refusal_of([&] { return constant.mutable_data(); }),
            "read_only: expected writable memory; got read-only memory: writability differs. Read "
            "it by data(), or copy it with copy_of");
  dlbridge::managed_tensor const copied = dlbridge::copy_of(constant);
  EXPECT_NE(copied.view().mutable_data(), constant.data());
}

TEST(TensorView, IsConvertedToAStructThatDescribesTheSameElements) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.byte_offset = 8;
  for (device const where : {dlbridge::cpu, device(kDLCUDA, 3), device(kDLOpenCL, 1)}) {
    t.device = where.abi();
    DLTensor const converted = view_of(t).to_dltensor();
    bool const has_handle = where.type == kDLOpenCL;
    EXPECT_EQ(converted.data, foreign->data + (has_handle ? 0 : 2));
    EXPECT_EQ(converted.byte_offset, has_handle ? 8U : 0U);
    EXPECT_EQ(device(converted.device), where);
    EXPECT_EQ(dtype(converted.dtype), dtype(t.dtype));
    EXPECT_EQ(converted.ndim, 2);
    EXPECT_EQ(converted.shape, t.shape);
    EXPECT_EQ(converted.strides, t.strides);
  }
}

// Consumers look up the allocation at data, also of an empty tensor (spec 4.8).
TEST(TensorView, OnOneApiTheStructHasDataAndByteOffsetOfTheProducer) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.device = device(kDLOneAPI, 1).abi();
  for (std::int64_t const rows : {1, 0}) {
    for (int const skipped : {2, 0}) {
      std::uint64_t const offset = static_cast<std::uint64_t>(skipped) * sizeof(float);
      set_shape(t, rows, 3);
      t.byte_offset = offset;
      tensor_view const view = view_of(t);
      EXPECT_EQ(view.data(), foreign->data + skipped);
      EXPECT_EQ(view.byte_offset(), 0U);
      DLTensor const once = view.to_dltensor();
      for (DLTensor const& each : {once, tensor_view(once).with_flags(1).to_dltensor()}) {
        EXPECT_EQ(each.data, foreign->data);
        EXPECT_EQ(each.byte_offset, offset);
      }
      DLTensor const on_host = view.on_device(dlbridge::cpu).to_dltensor();
      EXPECT_EQ(on_host.data, foreign->data + skipped);
      EXPECT_EQ(on_host.byte_offset, 0U);
    }
  }
}

TEST(TensorView, NullStaysNullUnderAByteOffset) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  set_shape(t, 0, 3);
  t.data = nullptr;
  t.byte_offset = 64;
  for (device const where : {dlbridge::cpu, device(kDLOneAPI, 1)}) {
    t.device = where.abi();
    EXPECT_EQ(view_of(t).data(), nullptr);
    EXPECT_EQ(view_of(t).to_dltensor().data, nullptr);
    EXPECT_EQ(view_of(t).to_dltensor().byte_offset, 0U);
  }
}

TEST(TensorView, NameContainsDtypeShapeAndDevice) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  EXPECT_STREQ(name_of(view_of(t)).c_str(), "float32[2, 3] on cpu");
  t.device = device(kDLCUDA, 3).abi();
  set_shape(t, 0, most);
  EXPECT_STREQ(name_of(view_of(t)).c_str(), "float32[0, 9223372036854775807] on cuda:3");
  set_no_shape(t);
  EXPECT_STREQ(name_of(view_of(t)).c_str(), "float32[] on cuda:3");
}

TEST(TensorView, ALongNameIsTruncated) {
  foreign_ptr const foreign = make_foreign();
  std::vector<std::int64_t> const shape(64, 0);
  foreign_set_shape(foreign.get(), 64, shape.data());
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.shape[0] = most;
  for (int i = 1; i < 63; ++i) {
    t.shape[i] = huge;
  }
  std::string const name = name_of(view_of(t)).c_str();
  EXPECT_EQ(name.substr(0, 30), "float32[9223372036854775807, 4");
  EXPECT_EQ(name.substr(name.size() - 3), "...");
}

TEST(BytesFor, CountsPackedElementsInBitsAndAllOthersInBytes) {  // spec 1.5
  struct row {
    dtype type;
    std::int64_t count;
    std::int64_t packed;
    std::int64_t padded;
  };
  row const rows[] = {
      {{2, 32}, 0, 0, 0},    {{2, 32}, 6, 24, 24}, {{2, 32, 4}, 6, 96, 96}, {{17, 4}, 0, 0, 0},
      {{17, 4}, 1, 1, 1},    {{17, 4}, 7, 4, 7},   {{17, 4}, 8, 4, 8},      {{17, 4, 2}, 7, 7, 7},
      {{15, 6}, 4, 3, 4},    {{15, 6}, 5, 4, 5},   {{6, 1}, 8, 1, 8},       {{6, 1}, 9, 2, 9},
      {{17, 4, 3}, 2, 3, 4},
  };
  for (row const& each : rows) {
    EXPECT_EQ(dlbridge::bytes_for(each.count, each.type, false), each.packed)
        << each.count << " of " << name_of(each.type).c_str();
    EXPECT_EQ(dlbridge::bytes_for(each.count, each.type, true), each.padded)
        << each.count << " of " << name_of(each.type).c_str();
  }
}

TEST(BytesFor, IsCorrectForTheLargestAcceptedCount) {
  EXPECT_EQ(dlbridge::bytes_for(most, {kDLBool, 1}, false), std::int64_t{1} << 60);
  EXPECT_EQ(dlbridge::bytes_for(most, {kDLBool, 1}, true), most);
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// validate.hpp: check_tensor refuses invalid tensors and accepts valid ones, however unusual.
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "dltensor_edits.hpp"
#include "foreign.hpp"
#include "refusal.hpp"
#include "wide.hpp"

namespace {

using dlbridge::check_tensor;
using dlbridge::device;
using dlbridge::dtype;
using dlbridge::errc;
using dlbridge::managed_tensor;
using dlbridge::report;
using dlbridge::tensor_view;
using dlbridge::view_of;

static_assert(noexcept(check_tensor(std::declval<DLTensor const&>())));

template <class T, class = void>
struct has_view_of : std::false_type {};
template <class T>
struct has_view_of<T, std::void_t<decltype(view_of(std::declval<T>()))>> : std::true_type {};
static_assert(has_view_of<DLTensor const&>::value && !has_view_of<DLTensor>::value);

constexpr std::int64_t most = INT64_MAX;
constexpr std::int64_t least = INT64_MIN;
constexpr std::int64_t huge = std::int64_t{1} << 62;

std::uintptr_t address_of(void const* data) { return reinterpret_cast<std::uintptr_t>(data); }
void* at_address(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
std::int64_t* invalid_pointer() { return static_cast<std::int64_t*>(at_address(8)); }

struct tensor_case {
  char const* name;
  void (*change)(DLTensor& t);
};
struct bad_tensor : tensor_case {
  errc code;
  char const* message;
  char const* advice;
};
std::ostream& operator<<(std::ostream& out, tensor_case const& row) { return out << row.name; }

struct name_of_case {
  template <class Row>
  std::string operator()(testing::TestParamInfo<Row> const& info) const {
    return info.param.name;
  }
};

constexpr char const* broken = ". The producer is broken; dlbridge cannot read this tensor";
constexpr char const* other_dtype = ". Ask the producer for another dtype, or use a newer dlbridge";
constexpr char const* fewer = ". Pass a view of fewer elements";
constexpr char const* other_device =
    ". Move the tensor to a device that dlbridge supports, or use a newer dlbridge";
constexpr char const* no_storage =
    ". Give the tensor storage first: fake, meta and lazy tensors have none";

bad_tensor const bad_tensors[] = {
    {{"NegativeRank", [](DLTensor& t) { t.ndim = -1; }},
     errc::malformed,
     "malformed tensor: expected ndim from 0 to 64; got ndim -1",
     broken},
    {{"SmallestRank", [](DLTensor& t) { t.ndim = INT32_MIN; }},
     errc::malformed,
     "malformed tensor: expected ndim from 0 to 64; got ndim -2147483648",
     broken},
    {{"Rank65", [](DLTensor& t) { t.ndim = 65; }},
     errc::malformed,
     "malformed tensor: expected ndim from 0 to 64; got ndim 65",
     broken},
    {{"LargestRankWithInvalidShapePointer",
      [](DLTensor& t) {
        t.ndim = INT32_MAX;
        t.shape = invalid_pointer();
      }},
     errc::malformed,
     "malformed tensor: expected ndim from 0 to 64; got ndim 2147483647",
     broken},
    {{"NullShape", [](DLTensor& t) { t.shape = nullptr; }},
     errc::malformed,
     "malformed tensor: expected a shape; got a null shape with ndim 2",
     broken},
    {{"NullShapeAtRank1",
      [](DLTensor& t) {
        t.ndim = 1;
        t.shape = nullptr;
      }},
     errc::malformed,
     "malformed tensor: expected a shape; got a null shape with ndim 1",
     broken},
    {{"NegativeFirstExtent", [](DLTensor& t) { set_shape(t, -1, 3); }},
     errc::malformed,
     "malformed tensor: expected extents of 0 and above; got shape [-1, 3]",
     broken},
    {{"NegativeExtent", [](DLTensor& t) { set_shape(t, 2, -1); }},
     errc::malformed,
     "malformed tensor: expected extents of 0 and above; got shape [2, -1]",
     broken},
    {{"NegativeExtentBesideAnEmptyOne", [](DLTensor& t) { set_shape(t, 0, least); }},
     errc::malformed,
     "malformed tensor: expected extents of 0 and above; got shape [0, -9223372036854775808]",
     broken},
    {{"TwoNegativeExtents", [](DLTensor& t) { set_shape(t, -2, -3); }},
     errc::malformed,
     "malformed tensor: expected extents of 0 and above; got shape [-2, -3]",
     broken},

    {{"UnknownCode", [](DLTensor& t) { set_dtype(t, {99, 8}); }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 99, bits 8, lanes 1): dtype differs",
     other_dtype},
    {{"LastUnknownCode", [](DLTensor& t) { set_dtype(t, {255, 255, 65535}); }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 255, bits 255, lanes 65535): dtype differs",
     other_dtype},
    {{"ZeroBits", [](DLTensor& t) { set_dtype(t, {kDLFloat, 0}); }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 2, bits 0, lanes 1): dtype differs",
     broken},
    {{"ZeroLanes", [](DLTensor& t) { set_dtype(t, {kDLFloat, 32, 0}); }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 2, bits 32, lanes 0): dtype differs",
     broken},
    {{"Float4Of8Bits", [](DLTensor& t) { set_dtype(t, {17, 8}); }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 17, bits 8, lanes 1): dtype differs",
     other_dtype},
    {{"Float6Of8Bits", [](DLTensor& t) { set_dtype(t, {16, 8}); }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 16, bits 8, lanes 1): dtype differs",
     other_dtype},
    {{"UnknownCodeOfAnEmptyTensor",
      [](DLTensor& t) {
        set_shape(t, 0, 0);
        set_dtype(t, {99, 8});
      }},
     errc::dtype_mismatch,
     "expected a dtype of DLPack 1.x; got (code 99, bits 8, lanes 1): dtype differs",
     other_dtype},

    {{"DeviceZero", [](DLTensor& t) { set_device(t, 0); }},
     errc::device_mismatch,
     "expected a device of DLPack 1.x; got (device type 0, id 0): device differs",
     other_device},
    {{"UnassignedDevice", [](DLTensor& t) { set_device(t, 5); }},
     errc::device_mismatch,
     "expected a device of DLPack 1.x; got (device type 5, id 0): device differs",
     other_device},
    {{"UnknownDevice", [](DLTensor& t) { set_device(t, 99); }},
     errc::device_mismatch,
     "expected a device of DLPack 1.x; got (device type 99, id 0): device differs",
     other_device},
    {{"NegativeDevice", [](DLTensor& t) { set_device(t, -1); }},
     errc::device_mismatch,
     "expected a device of DLPack 1.x; got (device type -1, id 0): device differs",
     other_device},

    {{"CountOverflow", [](DLTensor& t) { set_shape(t, huge, 2); }},
     errc::overflow,
     "size overflows: expected a size in bits that fits 64 bits; got shape [4611686018427387904, "
     "2]",
     fewer},
    {{"CountThatWrapsToZero",
      [](DLTensor& t) { set_shape(t, std::int64_t{1} << 32, std::int64_t{1} << 32); }},
     errc::overflow,
     "size overflows: expected a size in bits that fits 64 bits; got shape [4294967296, "
     "4294967296]",
     fewer},
    {{"CountOverflowOfModerateExtents",
      [](DLTensor& t) {
        constexpr std::int64_t extent = std::int64_t{1} << 27;
        set_shape(t, extent, extent);
        set_strides(t, 0, 0);
        t.ndim = 3;
        t.shape[2] = extent;
        t.strides[2] = 0;
      }},
     errc::overflow,
     "size overflows: expected a size in bits that fits 64 bits; got shape [134217728, 134217728, "
     "134217728]",
     fewer},
    {{"BitsOverflow",
      [](DLTensor& t) {  // 2^58 floats of 2^5 bits
        set_shape(t, std::int64_t{1} << 58, 1);
        set_strides(t, 0, 0);
      }},
     errc::overflow,
     "size overflows: expected a size in bits that fits 64 bits; got shape [288230376151711744, 1]",
     fewer},
    {{"BitsOverflowByLanes",
      [](DLTensor& t) {
        set_shape(t, std::int64_t{1} << 41, 1);
        set_strides(t, 0, 0);
        set_dtype(t, {kDLFloat, 128, 65535});
      }},
     errc::overflow,
     "size overflows: expected a size in bits that fits 64 bits; got shape [2199023255552, 1]",
     fewer},

    {{"StrideOverflow", [](DLTensor& t) { set_strides(t, most, 1); }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[9223372036854775807, 1] and byte offset 0",
     broken},
    {{"SmallestStride", [](DLTensor& t) { set_strides(t, least, 1); }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[-9223372036854775808, 1] and byte offset 0",
     broken},
    {{"ReachOverflow", [](DLTensor& t) { set_strides(t, 3, huge); }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[3, 4611686018427387904] and byte offset 0",
     broken},
    {{"BytesOverflow", [](DLTensor& t) { set_strides(t, huge / 2, 1); }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[2305843009213693952, 1] and byte offset 0",
     broken},
    {{"BytesOverflowDownwards", [](DLTensor& t) { set_strides(t, 1, -huge / 2); }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[1, -2305843009213693952] and byte offset 0",
     broken},
    {{"BytesOverflowWithAHandle",
      [](DLTensor& t) {
        set_device(t, kDLOpenCL);
        set_strides(t, huge / 2, 1);
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[2305843009213693952, 1] and byte offset 0",
     broken},
    {{"LargestByteOffset", [](DLTensor& t) { t.byte_offset = UINT64_MAX; }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[3, 1] and byte offset 18446744073709551615",
     broken},
    {{"ByteOffsetPlusReachOverflow", [](DLTensor& t) { t.byte_offset = INT64_MAX - 10; }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[3, 1] and byte offset 9223372036854775797",
     broken},
    {{"BeyondTheLastAddress",
      [](DLTensor& t) {  // 24 bytes, 23 of which have an address before the last one
        t.data = at_address(UINTPTR_MAX - 23);
        t.strides = nullptr;
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] and byte offset 0",
     broken},
    {{"BeyondTheLastAddressByTheByteOffset",
      [](DLTensor& t) {
        t.data = at_address(UINTPTR_MAX - 63);
        t.byte_offset = 40;
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[3, 1] and byte offset 40",
     broken},
    {{"BelowTheFirstAddress",
      [](DLTensor& t) {  // the last element is 20 bytes below address 16
        t.data = at_address(16);
        set_strides(t, -3, -1);
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2, 3] with strides "
     "[-3, -1] and byte offset 0",
     broken},

    {{"OneByteAtTheLastAddress",
      [](DLTensor& t) {  // the end of the memory has no address
        t.data = at_address(UINTPTR_MAX);
        set_dtype(t, {kDLUInt, 8});
        set_no_shape(t);
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [] and byte offset 0",
     broken},
    {{"LargestByteOffsetAtRank0WithInvalidStridesPointer",
      [](DLTensor& t) {
        t.ndim = 0;
        t.strides = invalid_pointer();
        t.byte_offset = UINT64_MAX;
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [] and byte offset "
     "18446744073709551615",
     broken},
    {{"StrideOverflowAtRank1",
      [](DLTensor& t) {
        t.ndim = 1;
        t.strides[0] = most;
      }},
     errc::overflow,
     "size overflows: expected bytes that can be addressed; got shape [2] with strides "
     "[9223372036854775807] and byte offset 0",
     broken},

    {{"NullData", [](DLTensor& t) { t.data = nullptr; }},
     errc::null_data,
     "tensor without data: expected memory; got null data for float32[2, 3] on cpu",
     no_storage},
    {{"NullDataAtRank0",
      [](DLTensor& t) {
        t.data = nullptr;
        set_no_shape(t);
      }},
     errc::null_data,
     "tensor without data: expected memory; got null data for float32[] on cpu",
     no_storage},
    {{"NullDataOnAnAddressDevice",
      [](DLTensor& t) {
        t.data = nullptr;
        set_device(t, kDLOneAPI);
      }},
     errc::null_data,
     "tensor without data: expected memory; got null data for float32[2, 3] on oneapi:0",
     no_storage},
    {{"NullDataWithAByteOffset",
      [](DLTensor& t) {
        t.data = nullptr;
        t.byte_offset = 4096;
      }},
     errc::null_data,
     "tensor without data: expected memory; got null data for float32[2, 3] on cpu",
     no_storage},
};

struct BadTensor : testing::TestWithParam<bad_tensor> {
  std::string refusal() const {
    bad_tensor const& row = GetParam();
    return std::string(dlbridge::row(row.code).name) + ": " + row.message + row.advice;
  }

  template <class Managed>
  void expect_freed_once_by_steal() const {
    foreign_ptr const foreign = make_foreign();
    Managed* const raw = struct_of<Managed>(foreign);
    GetParam().change(raw->dl_tensor);
    EXPECT_EQ(refusal_of([&] { return managed_tensor::steal(raw); }), refusal());
    EXPECT_EQ(foreign->deleter_calls, 1);
  }
};
INSTANTIATE_TEST_SUITE_P(From, BadTensor, testing::ValuesIn(bad_tensors), name_of_case());

TEST_P(BadTensor, IsRefusedWithItsMessage) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  GetParam().change(t);
  EXPECT_EQ(refusal_of([&] { return view_of(t); }), refusal());
  report const why = check_tensor(t);
  ASSERT_FALSE(why.ok());
  EXPECT_EQ(why.code(), GetParam().code);
  EXPECT_EQ(dlbridge::error(why).what(), std::string(GetParam().message) + GetParam().advice);
}

TEST_P(BadTensor, StealFreesItOnce) {
  expect_freed_once_by_steal<DLManagedTensor>();
  expect_freed_once_by_steal<DLManagedTensorVersioned>();
}

// Unusual but valid tensors, which some producers export.
struct odd_tensor : tensor_case {
  std::int64_t count;
};
odd_tensor const odd_tensors[] = {
    {{"NothingChanged", [](DLTensor&) {}}, 6},
    {{"NullStrides", [](DLTensor& t) { t.strides = nullptr; }}, 6},
    {{"Rank0WithoutShape", set_no_shape}, 1},
    {{"Rank0WithInvalidShapePointer",
      [](DLTensor& t) {
        t.ndim = 0;
        t.shape = invalid_pointer();
        t.strides = invalid_pointer();
      }},
     1},
    {{"Rank64",
      [](DLTensor& t) {
        t.ndim = 64;
        for (int i = 2; i < 64; ++i) {
          t.shape[i] = 1;
          t.strides[i] = least;
        }
      }},
     6},
    {{"ExtremeStridesOfExtentsOfOne",
      [](DLTensor& t) {
        set_shape(t, 1, 1);
        set_strides(t, least, most);
      }},
     1},
    {{"ExtremeStridesOfAnEmptyTensor",
      [](DLTensor& t) {
        set_shape(t, 2, 0);
        set_strides(t, least, most);
      }},
     0},
    {{"HugeExtentsOfAnEmptyTensor",
      [](DLTensor& t) {
        t.ndim = 3;
        set_shape(t, huge, huge);
        t.shape[2] = 0;
        t.strides = nullptr;
      }},
     0},
    {{"NullDataOfAnEmptyTensor",
      [](DLTensor& t) {
        set_shape(t, 0, 3);
        t.data = nullptr;
      }},
     0},
    {{"NullDataAndByteOffsetOfAnEmptyTensor",
      [](DLTensor& t) {
        set_shape(t, 0, 3);
        t.data = nullptr;
        t.byte_offset = 8;
      }},
     0},
    {{"LargestByteOffsetOfAnEmptyTensor",
      [](DLTensor& t) {
        set_shape(t, 0, 3);
        t.byte_offset = UINT64_MAX;
      }},
     0},
    {{"NullHandle",
      [](DLTensor& t) {
        set_device(t, kDLVulkan);
        t.data = nullptr;
        t.byte_offset = 64;
      }},
     6},
    {{"HandleThatIsNotAnAddress",
      [](DLTensor& t) {
        set_device(t, kDLMetal);
        t.data = at_address(UINTPTR_MAX);
      }},
     6},
    {{"ReversedFromItsEnd",
      [](DLTensor& t) {
        set_strides(t, -3, -1);
        t.byte_offset = 5 * sizeof(float);
      }},
     6},
    {{"ReversedDownToTheFirstAddress",
      [](DLTensor& t) {
        t.data = at_address(5 * sizeof(float));
        set_strides(t, -3, -1);
      }},
     6},
    {{"ReversedAcrossItsDataDownToTheFirstAddress",
      [](DLTensor& t) {
        t.data = at_address(sizeof(float));
        t.byte_offset = 4 * sizeof(float);
        set_strides(t, -3, -1);
      }},
     6},
    {{"UpToTheLastAddress", [](DLTensor& t) { t.data = at_address(UINTPTR_MAX - 24); }}, 6},
    {{"Broadcast",
      [](DLTensor& t) {
        set_shape(t, std::int64_t{1} << 57, 1);
        set_strides(t, 0, 7);
      }},
     std::int64_t{1} << 57},
    {{"LargestCountOfSingleBits",
      [](DLTensor& t) {
        set_shape(t, most, 1);
        set_strides(t, 0, 0);
        set_dtype(t, {kDLBool, 1});
      }},
     most},
    {{"OddAddress", [](DLTensor& t) { t.byte_offset = 1; }}, 6},
    {{"PackedFloat4", [](DLTensor& t) { set_dtype(t, {17, 4}); }}, 6},
    {{"TwoLanesOfFloat4", [](DLTensor& t) { set_dtype(t, {17, 4, 2}); }}, 6},
    {{"CodeNewerThanTheHeader", [](DLTensor& t) { set_dtype(t, {18, 32}); }}, 6},
    {{"DeviceNewerThanTheHeader", [](DLTensor& t) { set_device(t, 21); }}, 6},
    {{"NegativeOrdinal", [](DLTensor& t) { t.device.device_id = -1; }}, 6},
};

struct OddTensor : testing::TestWithParam<odd_tensor> {
  template <class Managed>
  void expect_owned_and_freed_once() const {
    foreign_ptr const foreign = make_foreign();
    Managed* const raw = struct_of<Managed>(foreign);
    GetParam().change(raw->dl_tensor);
    {
      managed_tensor const owner = managed_tensor::steal(raw);
      tensor_view const view = owner;
      EXPECT_EQ(view.count(), GetParam().count);
      EXPECT_EQ(foreign->deleter_calls, 0);
    }
    EXPECT_EQ(foreign->deleter_calls, 1);
  }
};
INSTANTIATE_TEST_SUITE_P(From, OddTensor, testing::ValuesIn(odd_tensors), name_of_case());

TEST_P(OddTensor, IsReadableThroughAView) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  GetParam().change(t);
  ASSERT_TRUE(check_tensor(t).ok()) << dlbridge::message(check_tensor(t)).c_str();
  tensor_view const view = view_of(t);
  EXPECT_EQ(view.count(), GetParam().count);
  EXPECT_EQ(view.empty(), GetParam().count == 0);
  EXPECT_EQ(view.rank(), t.ndim);
  EXPECT_EQ(view.dtype(), dtype(t.dtype));
  EXPECT_EQ(view.device(), device(t.device));
  bool const is_null = t.data == nullptr && has_address(view.device());  // it stays null
  EXPECT_EQ(address_of(view.data()) + view.byte_offset(),
            is_null ? 0 : address_of(t.data) + t.byte_offset);
  std::int64_t strides[dlbridge::max_rank];
  view.copy_strides(strides);
  for (int i = 0; i < view.rank(); ++i) {
    EXPECT_EQ(view.extent(i), t.shape[i]);
    EXPECT_EQ(view.stride(i), strides[i]) << "stride(i) and copy_strides differ";
  }
  EXPECT_FALSE(name_of(view).empty());
  static_cast<void>(view.is_row_major() || view.is_column_major() || view.is_compact());
}

TEST_P(OddTensor, IsOwnedAndFreedOnce) {
  expect_owned_and_freed_once<DLManagedTensor>();
  expect_owned_and_freed_once<DLManagedTensorVersioned>();
}

// Offsets of packed elements are counted in bits and must fit 64 bits. The reach in either
// direction and the byte offset are therefore at most 2^60 - 1 bytes.
TEST(CheckTensor, AcceptsReachAndByteOffsetBelow2To60Bytes) {
  struct row {
    std::int64_t stride;
    std::uint64_t offset;
    bool accepted;
  };
  constexpr std::int64_t limit = (std::int64_t{1} << 60) - 1;
  constexpr row rows[] = {
      {limit - 1, 0, true},   {limit, 0, false}, {-limit, 0, true},
      {-limit - 1, 0, false}, {1, limit, true},  {1, limit + 1, false},
  };
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.ndim = 1;
  t.data = at_address(UINTPTR_MAX / 2);
  if (sizeof(t.data) != 8) {  // an address of 32 bits limits the reach further; a handle does not
    t.device = {kDLVulkan, 0};
  }
  for (dtype const one_byte : {dtype(kDLUInt, 8), dtype(17, 4), dtype(kDLBool, 1)}) {
    set_dtype(t, one_byte);
    for (row const& each : rows) {
      t.strides[0] = each.stride;
      t.byte_offset = each.offset;
      EXPECT_EQ(check_tensor(t).ok(), each.accepted) << each.stride << " + " << each.offset;
    }
  }
}

// In every accepted tensor the first and the last byte of each element have an address, and the bit
// offsets of the elements fit 64 bits.
TEST(CheckTensor, AcceptsOnlyAddressableTensors) {
  std::mt19937_64 random(5);
  auto const random_size = [&random] {
    std::uint64_t const value = random() >> random() % 64;
    return static_cast<std::int64_t>(random() % 2 == 0 ? value : 0 - value);
  };
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  int accepted = 0;
  constexpr int rounds = 200000;
  for (int round = 0; round < rounds; ++round) {
    t.data = at_address(static_cast<std::uintptr_t>(random() >> random() % 64));
    t.byte_offset = random() % 2 == 0 ? 0 : random() >> random() % 64;
    set_shape(t, random_size() & most, random_size() & most);
    set_strides(t, random_size(), random_size());
    t.shape[random() % 2] &= 3;
    set_dtype(t, {kDLUInt, 1 << random() % 8});
    if (!check_tensor(t).ok() || dlbridge::count_of(t.ndim, t.shape) == 0) {
      continue;
    }
    ++accepted;
    wide low = 0;
    wide high = 0;
    for (int i = 0; i < 2; ++i) {
      wide const span = wide{t.shape[i] - 1} * t.strides[i];
      (span < 0 ? low : high) += span;
    }
    wide const bytes = element_bytes(dtype(t.dtype));
    wide const first = wide{address_of(t.data)} + t.byte_offset;
    ASSERT_GE(first + low * bytes, 0);
    ASSERT_LE(first + (high + 1) * bytes - 1, UINTPTR_MAX);
    wide const bits = element_bits(dtype(t.dtype));
    ASSERT_LE((high + 1) * bits, most);
    ASSERT_GE(low * bits, least);
  }
  EXPECT_GT(accepted, rounds / 100);
}

}  // namespace

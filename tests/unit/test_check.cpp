// SPDX-License-Identifier: BSD-3-Clause
// check.hpp: a check finds every rule that a tensor breaks, and one message lists them all.
#include <dlbridge/check.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "foreign.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::check_view;
using dlbridge::device;
using dlbridge::device_filter;
using dlbridge::dtype;
using dlbridge::dynamic_extent;
using dlbridge::errc;
using dlbridge::layout;
using dlbridge::report;
using dlbridge::requirement;
using dlbridge::tensor_view;

static_assert(noexcept(check_view(std::declval<tensor_view>(), requirement{})));
static_assert(noexcept(meets(std::declval<tensor_view>(), requirement{})));

constexpr std::int64_t any_by_4[] = {dynamic_extent, 4};
constexpr std::int64_t two_by_three[] = {2, 3};

// `change` modifies a tensor, float32[2, 3] on the CPU with strides [3, 1] and aligned to 256
// bytes, or the requirement, or both.
struct mismatch {
  void (*change)(DLTensor& t, requirement& need);
  std::uint64_t flags;
  char const* refusal;
};
mismatch const mismatches[] = {
    {[](DLTensor&, requirement& need) { need.type = dtype(kDLInt, 32); }, 0,
     "dtype_mismatch: expected int32[...] on cpu; got float32[2, 3] on cpu: dtype differs"},
    {[](DLTensor&, requirement& need) { need.type = dtype(kDLFloat, 32, 2); }, 0,
     "dtype_mismatch: expected float32x2[...] on cpu; got float32[2, 3] on cpu: dtype differs"},
    {[](DLTensor&, requirement& need) { need.rank = 3; }, 0,
     "rank_mismatch: expected any dtype[*, *, *] on cpu; got float32[2, 3] on cpu: rank differs"},
    {[](DLTensor& t, requirement& need) {
       t.ndim = 0;
       need.rank = 2;
       need.extents = two_by_three;
     },
     0, "rank_mismatch: expected any dtype[2, 3] on cpu; got float32[] on cpu: rank differs"},
    {[](DLTensor&, requirement& need) {
       need.rank = 2;
       need.extents = any_by_4;
     },
     0,
     "extent_mismatch: expected any dtype[*, 4] on cpu; got float32[2, 3] on cpu: extents differ"},
    {[](DLTensor& t, requirement&) { t.device = device(kDLCUDA, 0).abi(); }, 0,
     "device_mismatch: expected any dtype[...] on cpu; got float32[2, 3] on cuda:0: device "
     "differs"},
    {[](DLTensor&, requirement& need) { need.where = {kDLCUDA}; }, 0,
     "device_mismatch: expected any dtype[...] on cuda; got float32[2, 3] on cpu: device differs"},
    {[](DLTensor& t, requirement& need) {
       t.device = device(kDLCUDA, 0).abi();
       need.where = {kDLCUDA, 1};
     },
     0,
     "device_mismatch: expected any dtype[...] on cuda:1; got float32[2, 3] on cuda:0: device "
     "differs"},
    {[](DLTensor&, requirement& need) { need.where = {99}; }, 0,
     "device_mismatch: expected any dtype[...] on (device type 99, id -1); got float32[2, 3] on "
     "cpu: device differs"},
    {[](DLTensor&, requirement& need) { need.order = layout::column_major; }, 0,
     "layout_mismatch: expected any dtype[...] on cpu, column-major; got float32[2, 3] on cpu with "
     "strides [3, 1]: layout differs. Pass a copy in that layout"},
    {[](DLTensor& t, requirement& need) {
       t.strides = nullptr;
       need.order = layout::column_major;
     },
     0,
     "layout_mismatch: expected any dtype[...] on cpu, column-major; got float32[2, 3] on cpu with "
     "strides [3, 1]: layout differs. Pass a copy in that layout"},
    {[](DLTensor& t, requirement& need) {
       t.strides[0] = 4;
       need.order = layout::compact;
     },
     0,
     "layout_mismatch: expected any dtype[...] on cpu, compact; got float32[2, 3] on cpu with "
     "strides [4, 1]: layout differs. Pass a copy in that layout"},
    {[](DLTensor& t, requirement& need) {
       t.strides[1] = -1;
       t.byte_offset = 64;
       need.order = layout::row_major;
     },
     0,
     "layout_mismatch: expected any dtype[...] on cpu, row-major; got float32[2, 3] on cpu with "
     "strides [3, -1]: layout differs. Pass a copy in that layout"},
    {[](DLTensor&, requirement& need) { need.writable = true; }, DLPACK_FLAG_BITMASK_READ_ONLY,
     "read_only: expected any dtype[...] on cpu, writable; got float32[2, 3] on cpu, read-only: "
     "writability differs. Pass a writable copy"},
    {[](DLTensor& t, requirement& need) {
       t.byte_offset = 2;
       need.alignment = 4;
     },
     0,
     "misaligned: expected any dtype[...] on cpu, aligned to 4 bytes; got float32[2, 3] on cpu, "
     "aligned to 2 bytes: alignment differs. Pass an aligned copy"},
    {[](DLTensor& t, requirement& need) {
       t.byte_offset = 128;
       need.alignment = 256;
     },
     0,
     "misaligned: expected any dtype[...] on cpu, aligned to 256 bytes; got float32[2, 3] on cpu, "
     "aligned to 128 bytes: alignment differs. Pass an aligned copy"},
    {[](DLTensor& t, requirement& need) {
       t.byte_offset = 32;
       need.alignment = 64;
     },
     0,
     "misaligned: expected any dtype[...] on cpu, aligned to 64 bytes; got float32[2, 3] on cpu, "
     "aligned to 32 bytes: alignment differs. Pass an aligned copy"},
    // A message names a satisfied alignment only above 64 bytes.
    {[](DLTensor&, requirement& need) {
       need.rank = 0;
       need.alignment = 64;
     },
     0, "rank_mismatch: expected any dtype[] on cpu; got float32[2, 3] on cpu: rank differs"},
    {[](DLTensor&, requirement& need) {
       need.rank = 0;
       need.alignment = 128;
     },
     0,
     "rank_mismatch: expected any dtype[] on cpu, aligned to 128 bytes; got float32[2, 3] on cpu: "
     "rank differs"},
    {[](DLTensor& t, requirement& need) {
       t.device = device(kDLCUDA, 7).abi();
       t.byte_offset = 1;
       need.type = dtype(kDLComplex, 128);
       need.rank = 1;
       need.order = layout::column_major;
       need.writable = true;
       need.alignment = 16;
     },
     DLPACK_FLAG_BITMASK_READ_ONLY,
     "dtype_mismatch: expected complex128[*] on cpu, column-major, writable, aligned to 16 bytes; "
     "got float32[2, 3] on cuda:7 with strides [3, 1], read-only, aligned to 1 byte: dtype, rank, "
     "device, layout, writability, alignment differ. Pass a writable copy"},
    {[](DLTensor&, requirement& need) {
       need.type = dtype(kDLUInt, 8);
       need.rank = 2;
       need.extents = any_by_4;
       need.where = {device_filter::anywhere};
     },
     0, "dtype_mismatch: expected uint8[*, 4]; got float32[2, 3] on cpu: dtype, extents differ"},
};

TEST(Check, TheMessageNamesEveryBrokenRuleAndBothTensors) {
  for (mismatch const& each : mismatches) {
    foreign_ptr const foreign = make_foreign();
    DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
    requirement need;
    each.change(t, need);
    tensor_view const view = dlbridge::view_of(t, each.flags);
    EXPECT_EQ(refusal_of([&] { return require_view(view, need), 0; }), each.refusal);
    report const why = check_view(view, need);
    ASSERT_FALSE(why.ok());
    EXPECT_EQ(refusal_of([&]() -> int { dlbridge::raise(why); }), each.refusal);
  }
}

// Otherwise a check would pass over what the caller wrote.
TEST(Check, ARequirementOfWhichAFieldWouldNotBeCheckedIsRefused) {
  static constexpr dtype other(kDLFloat, 64);
  struct row {
    void (*change)(requirement& need);
    char const* expected;
  };
  row const rows[] = {
      {[](requirement& need) { need.extents = two_by_three; }, "with the rank of its extents"},
      {[](requirement& need) { need.alignment = 0; }, "with an alignment that is a power of two"},
      {[](requirement& need) { need.alignment = 3; }, "with an alignment that is a power of two"},
      {[](requirement& need) {
         need.others = &other;
         need.other_count = 1;
       },
       "with a type before its others"},
      {[](requirement& need) { need.where.id = 0; }, "with the device type of its ordinal"},
      {[](requirement& need) { need.where = {device_filter::anywhere, 1}; },
       "with the device type of its ordinal"},
  };
  foreign_ptr const foreign = make_foreign();
  tensor_view const view = dlbridge::view_of(foreign_legacy(foreign.get())->dl_tensor);
  for (row const& each : rows) {
    requirement need;
    each.change(need);
    EXPECT_FALSE(meets(view, need));
    EXPECT_EQ(refusal_of([&] { return require_view(view, need), 0; }),
              std::string("bad_argument: bad argument: expected a requirement ") + each.expected +
                  "; got one without it");
    EXPECT_TRUE(check_view(view, need).has(errc::bad_argument));
  }
}

TEST(Check, TheDefaultRequirementAcceptsAllHostAccessibleMemory) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.byte_offset = 1;
  t.strides[0] = -5;
  t.dtype = dtype(17, 4, 2).abi();
  for (int const type : {1, 3, 11, 13, 20}) {  // from spec 1.3
    t.device = device(type, 1).abi();
    EXPECT_TRUE(check_view(tensor_view(t, ~std::uint64_t{0}), requirement{}).ok()) << type;
  }
}

TEST(Check, AnEmptyTensorMeetsEveryAlignmentAndOrder) {
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.shape[0] = 0;
  t.byte_offset = 1;  // not aligned, but there are no elements
  requirement need;
  need.alignment = 64;
  for (layout const order : {layout::row_major, layout::column_major, layout::compact}) {
    need.order = order;
    EXPECT_EQ(refusal_of([&] { return require_view(dlbridge::view_of(t), need), 0; }), "accepted");
  }
}

TEST(Check, TheAlignmentOfAHandleIsThatOfItsByteOffset) {
  struct row {
    std::uintptr_t handle;
    std::uint64_t offset;
    char const* refusal;
  };
  constexpr char const* aligned_to_two =
      "misaligned: expected any dtype[...], aligned to 4 bytes; got float32[2, 3] on vulkan:0, "
      "aligned to 2 bytes: alignment differs. Pass an aligned copy";
  row const rows[] = {{0, 0, "accepted"},     {3, 0, "accepted"},     {3, 4, "accepted"},
                      {0, 2, aligned_to_two}, {8, 2, aligned_to_two}, {3, 6, aligned_to_two}};
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  t.device = device(kDLVulkan, 0).abi();
  requirement need;
  need.where = {device_filter::anywhere};
  need.alignment = 4;
  for (row const& each : rows) {
    t.data = reinterpret_cast<void*>(each.handle);
    t.byte_offset = each.offset;
    EXPECT_EQ(refusal_of([&] { return require_view(dlbridge::view_of(t), need), 0; }), each.refusal)
        << each.handle << " + " << each.offset;
  }
}

// The expected result: each rule, implemented a second time and independently.
std::uint32_t broken_rules(DLTensor const& t, std::uint64_t flags, requirement const& need) {
  report r;
  auto const rule = [&r](errc code, bool holds) {
    if (!holds) {
      r.add(code);
    }
  };
  rule(errc::dtype_mismatch,
       need.type.lanes == 0 || (t.dtype.code == need.type.code && t.dtype.bits == need.type.bits &&
                                t.dtype.lanes == need.type.lanes));
  rule(errc::rank_mismatch, need.rank == -1 || need.rank == t.ndim);
  bool extents = true;
  for (int i = 0; need.extents != nullptr && need.rank == t.ndim && i < t.ndim; ++i) {
    extents = extents && (need.extents[i] == -1 || need.extents[i] == t.shape[i]);
  }
  rule(errc::extent_mismatch, extents);
  rule(errc::device_mismatch, need.where.accepts(device(t.device)));
  bool const row_major = dlbridge::is_row_major(t.ndim, t.shape, t.strides);
  bool const column_major = dlbridge::is_column_major(t.ndim, t.shape, t.strides);
  rule(errc::layout_mismatch,
       need.order == layout::strided || (need.order == layout::row_major && row_major) ||
           (need.order == layout::column_major && column_major) ||
           (need.order == layout::compact && dlbridge::is_compact(t.ndim, t.shape, t.strides)));
  rule(errc::read_only, !need.writable || flags % 2 == 0);
  rule(errc::misaligned,
       dlbridge::count_of(t.ndim, t.shape) == 0 ||
           (reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset) % need.alignment == 0);
  return r.reasons;
}

TEST(Check, ReportsExactlyTheBrokenRulesOfRandomTensors) {
  std::mt19937 random(7);
  auto const one_of = [&random](auto const&... values) {
    std::int64_t const list[] = {static_cast<std::int64_t>(values)...};
    return list[random() % sizeof...(values)];
  };
  foreign_ptr const foreign = make_foreign();
  DLTensor& t = foreign_legacy(foreign.get())->dl_tensor;
  int accepted = 0;
  int accepted_fast = 0;
  constexpr int rounds = 50000;
  for (int round = 0; round < rounds; ++round) {
    std::int64_t const shape[] = {one_of(2, 2, 2, 1, 0), 3};
    foreign_set_shape(foreign.get(), static_cast<int>(one_of(2, 2, 2, 2, 1, 0)), shape);
    t.strides = random() % 4 == 0 ? nullptr : foreign->strides;
    foreign->strides[0] = one_of(3, 3, 1, 4);
    foreign->strides[1] = one_of(1, 1, 2);
    t.dtype.bits = static_cast<std::uint8_t>(one_of(32, 32, 64));
    t.device =
        device(static_cast<int>(one_of(1, 1, 1, 2, 13)), static_cast<int>(one_of(0, 1))).abi();
    std::int64_t const offset = one_of(0, 0, 0, 64, 4, 2, 1);
    bool const in_address = random() % 2 == 0;
    t.data = reinterpret_cast<char*>(foreign->data) + (in_address ? offset : 0);
    t.byte_offset = in_address ? 0 : static_cast<std::uint64_t>(offset);
    auto const flags = static_cast<std::uint64_t>(one_of(0, 0, 1, 6, 7));

    std::int64_t const extents[] = {one_of(dynamic_extent, dynamic_extent, 2),
                                    one_of(dynamic_extent, 3, 4)};
    requirement need;
    need.type = dtype(kDLFloat, 32, static_cast<int>(one_of(0, 1, 1)));
    need.rank = static_cast<std::int32_t>(one_of(dlbridge::requirement::any_rank, 2, 2, 2, 1));
    bool const has_extents = random() % 2 == 0 && need.rank != requirement::any_rank;
    need.extents = has_extents ? extents : nullptr;
    need.where.type = static_cast<std::int32_t>(
        one_of(device_filter::host, device_filter::host, device_filter::anywhere, 2));
    need.where.id = need.where.type == 2 && random() % 3 == 0 ? 0 : device_filter::any_id;
    need.order = static_cast<layout>(one_of(0, 0, 1, 2, 3));
    need.writable = random() % 2 == 0;
    need.alignment = static_cast<std::size_t>(one_of(1, 1, 4, 64, 256));

    tensor_view const view = dlbridge::view_of(t, flags);
    report const why = check_view(view, need);
    std::uint32_t const broken = broken_rules(t, flags, need);
    ASSERT_EQ(why.reasons, broken) << dlbridge::message(why).c_str();
    ASSERT_EQ(meets(view, need), broken == 0);
    accepted += broken == 0 ? 1 : 0;
    // The fast path may refuse, and its caller checks whether the memory is writable.
    bool const fast = dlbridge::detail::fits_fast_path(t, need);
    need.writable = false;
    ASSERT_TRUE(!fast || broken_rules(t, flags, need) == 0) << dlbridge::message(why).c_str();
    accepted_fast += fast ? 1 : 0;
  }
  EXPECT_GT(accepted, rounds / 50);
  if (sizeof(void*) == 8) {  // with shorter addresses every tensor takes the slow path
    EXPECT_GT(accepted_fast, rounds / 500);
  }
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// lend.hpp: an imported tensor is exported again, and the struct describes the same memory.
#include <dlbridge/lend.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <utility>

#include "foreign.hpp"
#include "refusal.hpp"
#include "struct_kinds.hpp"

namespace {

using dlbridge::lend;
using dlbridge::managed_tensor;
using dlbridge::shared_tensor;
using dlbridge::struct_kind;
using dlbridge::tensor_view;

struct exported_data {
  void* data;
  std::uint64_t byte_offset;
};

// A foreign tensor of the given rows is imported and lent twice: in the struct of its owner, which
// only a versioned tensor can use, and in a struct of its own.
struct Lend : testing::TestWithParam<std::tuple<struct_kind, bool>> {
  struct_kind kind = std::get<0>(GetParam());
  bool has_strides = std::get<1>(GetParam());
  foreign_ptr foreign = make_foreign();

  void expect(DLDeviceType type, std::int64_t rows, exported_data wanted) {
    std::int64_t const shape[] = {rows, 3};
    foreign_set_shape(foreign.get(), 2, shape);
    DLTensor& t = foreign_versioned(foreign.get())->dl_tensor;
    t.device = {type, 0};
    t.byte_offset = sizeof(float);
    t.strides = has_strides ? t.strides : nullptr;
    shared_tensor const owner(managed_tensor::steal(foreign_versioned(foreign.get())));
    tensor_view const view = owner.get().view();
    for (managed_tensor const& lent : {lend(owner, view, kind), lend(owner, view, kind)}) {
      EXPECT_EQ(lent.kind(), kind);
      EXPECT_EQ(lent.tensor().data, wanted.data);
      EXPECT_EQ(lent.tensor().byte_offset, wanted.byte_offset);
      EXPECT_EQ(lent.tensor().strides[0], 3);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Lend, testing::Combine(both_struct_kinds, testing::Bool()),
                         [](auto const& test) {
                           return name_of(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "Strided" : "WithoutStrides");
                         });

TEST_P(Lend, AddsTheByteOffsetToAnAddress) { expect(kDLCPU, 1, {foreign->data + 1, 0}); }

TEST_P(Lend, KeepsAHandleAndItsByteOffset) { expect(kDLOpenCL, 1, {foreign->data, 4}); }

TEST_P(Lend, AnEmptyTensorHasNullData) { expect(kDLCPU, 0, {nullptr, 0}); }

// Consumers look up the allocation at data, also of an empty tensor (spec 4.8).
TEST_P(Lend, OnOneApiKeepsDataAndByteOffset) { expect(kDLOneAPI, 1, {foreign->data, 4}); }

TEST_P(Lend, OnOneApiAnEmptyTensorKeepsDataAndByteOffset) {
  expect(kDLOneAPI, 0, {foreign->data, 4});
}

TEST_P(Lend, AnEmptyOwnerIsRefused) {
  DLTensor t{};
  t.dtype = {kDLFloat, 32, 1};
  t.device = {kDLCPU, 0};
  EXPECT_EQ(refusal_of([&] { return lend(shared_tensor(), tensor_view(t), kind); }),
            "null_data: tensor without data: expected an owner of a tensor; got an empty one");
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// shared_tensor.hpp: several owners of one tensor, the last of which frees it.
#include <dlbridge/shared_tensor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "counted_heap.hpp"
#include "foreign_fixture.hpp"
#include "refusal.hpp"

namespace {

using dlbridge::errc;
using dlbridge::managed_tensor;
using dlbridge::shared_tensor;

struct Shared : ForeignTensor {};

TEST_F(Shared, TheLastOwnerFreesTheTensor) {
  shared_tensor first(managed_tensor::steal(raw));
  {
    shared_tensor const second = first;
    first = shared_tensor();
    EXPECT_EQ(deleted(), 0);
    EXPECT_EQ(second.get().tensor().data, t.data);
  }
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Shared, AnEmptyOwnerIsRefused) {
  managed_tensor moved = managed_tensor::steal(raw);
  managed_tensor const kept = std::move(moved);
  EXPECT_EQ(refusal_of([&] { return shared_tensor(std::move(moved)); }).substr(0, 9), "null_data");
}

TEST_F(Shared, AViewWithDimsOfItsOwnDoesNotChange) {
  dlbridge::tensor_view of_owner = view();
  shared_tensor owner(managed_tensor::steal(raw), of_owner);
  t.shape[0] = 7;
  t.strides[1] = 9;
  EXPECT_EQ(of_owner.extent(0), 2);
  EXPECT_EQ(of_owner.stride(1), 1);
  EXPECT_EQ(of_owner.data(), t.data);
  owner = shared_tensor();
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Shared, AViewWithoutStridesGetsThoseOfItsOrder) {
  t.strides = nullptr;
  dlbridge::tensor_view of_owner = view();
  shared_tensor const owner(managed_tensor::steal(raw), of_owner);
  ASSERT_NE(of_owner.strides(), nullptr);
  EXPECT_EQ(of_owner.strides()[0], 3);
  EXPECT_EQ(of_owner.strides()[1], 1);
}

TEST_F(Shared, AMovedFromOwnerIsEmpty) {
  shared_tensor first(managed_tensor::steal(raw));
  shared_tensor const second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT: the state after the move is what is tested
  EXPECT_TRUE(second);
}

TEST_F(Shared, OneExportAtATimeReservesTheStruct) {
  shared_tensor owner(managed_tensor::steal(raw));
  DLManagedTensorVersioned* const first = owner.try_reserve();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(owner.try_reserve(), nullptr);
  first->deleter(first);
  DLManagedTensorVersioned* const second = owner.try_reserve();
  EXPECT_EQ(second, first);
  owner = shared_tensor();
  EXPECT_EQ(deleted(), 0);  // the struct is an owner
  second->deleter(second);
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Shared, OneThreadAtATimeReservesTheStruct) {
  shared_tensor const owner(managed_tensor::steal(raw));
  std::atomic<int> users{0};
  std::atomic<int> collisions{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20'000; ++n) {
        if (DLManagedTensorVersioned* const reserved = owner.try_reserve()) {
          collisions += users.fetch_add(1);
          users.fetch_sub(1);
          reserved->deleter(reserved);
        }
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(collisions, 0);
  EXPECT_EQ(deleted(), 0);
}

TEST_F(Shared, WithoutMemoryTheCallerKeepsTheTensor) {
  if (!heap_is_counted()) {
    GTEST_SKIP() << "another operator new replaces the counting one";
  }
  managed_tensor m = managed_tensor::steal(raw);
  heap.fails = true;
  errc code{};
  try {
    shared_tensor const shared(std::move(m));
  } catch (dlbridge::error const& e) {
    code = e.code();
  }
  heap.fails = false;
  EXPECT_EQ(code, errc::out_of_memory);
  EXPECT_EQ(deleted(), 0);
  ASSERT_TRUE(m);
  EXPECT_EQ(m.tensor().data, t.data);
  m = managed_tensor();
  EXPECT_EQ(deleted(), 1);
}

}  // namespace

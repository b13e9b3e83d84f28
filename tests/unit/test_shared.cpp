// shared.hpp: several owners of one tensor, the last of which frees it.
#include <dlbridge/shared.hpp>

#include <gtest/gtest.h>

#include <utility>

#include "counted_heap.hpp"
#include "foreign_fixture.hpp"

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

TEST_F(Shared, AMovedFromOwnerIsEmpty) {
  shared_tensor first(managed_tensor::steal(raw));
  shared_tensor const second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT: the state after the move is what is tested
  EXPECT_TRUE(second);
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

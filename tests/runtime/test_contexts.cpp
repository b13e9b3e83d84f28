// cuda and hip: what is current on a thread is so again when a guard has gone, and memory is where
// its driver says.
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/hip.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "machine.hpp"

namespace {

using dlbridge::context_guard;
using dlbridge::cuda_table;
using dlbridge::device;
using dlbridge::hip_table;
using dlbridge::report;
using dlbridge::runtime_kind;
using dlbridge::stream_ref;

class CudaContext : public OnEachRuntime {
 protected:
  /// A context that is no device's primary one; current, as CUDA makes it.
  void* new_context(int ordinal) {
    void* made = nullptr;
    auto* const create = m.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "");
    EXPECT_EQ(create(&made, 0, ordinal), 0);
    return made;
  }
  void pop() {
    void* popped = nullptr;
    EXPECT_EQ(m.call<int(void**)>("cuCtxPopCurrent_v2", "")(&popped), 0);
  }
  void set(void* context) { EXPECT_EQ(m.call<int(void*)>("cuCtxSetCurrent", "")(context), 0); }
  void* current() { return reinterpret_cast<void*>(m.current()); }

  cuda_table const& driver = *dlbridge::cuda();
};

TEST_P(CudaContext, OfAStreamIsTheOneItWasMadeIn) {
  void* const other = new_context(0);
  stream_ref const stream = m.new_stream_here();
  pop();
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream).ok());
    EXPECT_EQ(current(), other);
    EXPECT_EQ(guard.context(), other);
    EXPECT_EQ(guard.events(), nullptr) << "events are kept for primary contexts";
    ASSERT_TRUE(guard.try_enter(m.new_stream(1)).ok());
    EXPECT_EQ(current(), m.context(1)) << "one at a time";
    EXPECT_NE(guard.events(), nullptr);
    guard.leave();
    EXPECT_EQ(current(), m.context(0));
    EXPECT_EQ(guard.context(), nullptr);
  }
  EXPECT_EQ(current(), m.context(0));
}

TEST_P(CudaContext, OfADefaultStreamIsTheCurrentOneWhereItIsOfTheDevice) {
  void* const other = new_context(0);
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream_ref::default_of(device(kDLCUDA, 0))).ok());
    EXPECT_EQ(current(), other);
    ASSERT_TRUE(guard.try_enter(stream_ref::default_of(device(kDLCUDA, 1))).ok());
    EXPECT_EQ(current(), m.context(1)) << "of another device it is the primary one";
  }
  EXPECT_EQ(current(), other);
  pop();
}

TEST_P(CudaContext, OfAnUnusedDeviceIsRetainedOnce) {
  long long const before = m.counter("retains");
  for (int i = 0; i < 10; ++i) {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter_device(1).ok());
  }
  EXPECT_EQ(m.counter("retains"), before + 1);
}

TEST_P(CudaContext, IsNotMadeForADeviceThatNobodyUses) {
  void* const other = new_context(1);
  stream_ref const stream = m.new_stream_here(1);
  long long const before = m.counter("retains");
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream).ok());
    EXPECT_EQ(guard.events(), nullptr);
  }
  EXPECT_EQ(m.counter("retains"), before);
  EXPECT_EQ(current(), other);
  pop();
}

TEST_P(CudaContext, NothingCurrentStaysSo) {
  set(nullptr);
  for (stream_ref const stream : {m.new_stream(1), stream_ref::default_of(device(kDLCUDA, 0))}) {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream).ok());
    EXPECT_NE(current(), nullptr);
    guard.leave();
    EXPECT_EQ(current(), nullptr);
  }
  m.use(0);
}

TEST_P(CudaContext, ThatCannotBeEnteredChangesNothing) {
  context_guard<cuda_table> guard(driver);
  EXPECT_FALSE(guard.try_enter_device(7).ok());
  EXPECT_FALSE(guard.try_enter_context(&guard).ok());
  EXPECT_EQ(guard.context(), nullptr);
  EXPECT_EQ(current(), m.context(0));
}

TEST_P(CudaContext, MemoryIsWhereTheDriverSays) {
  device where;
  ASSERT_TRUE(try_locate(driver, m.new_memory(8, 1), where));
  EXPECT_EQ(where, device(kDLCUDA, 1));
  void* pinned = nullptr;
  ASSERT_EQ(driver.host_allocate(&pinned, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, pinned, where));
  EXPECT_EQ(where, device(kDLCUDAHost, 0));
  void* managed = nullptr;
  ASSERT_EQ(driver.managed_allocate(&managed, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, static_cast<char*>(managed) + 3, where));
  EXPECT_EQ(where, device(kDLCUDAManaged, 0));
  int own = 0;
  EXPECT_FALSE(try_locate(driver, &own, where));
  EXPECT_EQ(where, device(kDLCUDAManaged, 0)) << "nothing was written";
}

INSTANTIATE_TEST_SUITE_P(Runtimes, CudaContext, ::testing::Values(runtime_kind::cuda),
                         runtime_name);

class HipDevice : public OnEachRuntime {
 protected:
  hip_table const& driver = *dlbridge::hip();
};

TEST_P(HipDevice, IsEnteredAndLeft) {
  {
    context_guard<hip_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(m.new_stream(1)).ok());
    EXPECT_EQ(m.current(), 1U);
    EXPECT_EQ(guard.context(), 1);
    EXPECT_NE(guard.events(), nullptr);
    ASSERT_TRUE(guard.try_enter_device(0).ok());
    EXPECT_EQ(m.current(), 0U);
    EXPECT_FALSE(guard.try_enter_device(7).ok());
    EXPECT_EQ(guard.context(), -1);
    EXPECT_EQ(guard.events(), nullptr);
  }
  EXPECT_EQ(m.current(), 0U);
}

TEST_P(HipDevice, MemoryIsWhereTheRuntimeSays) {
  device where;
  ASSERT_TRUE(try_locate(driver, m.new_memory(8, 1), where));
  EXPECT_EQ(where, device(kDLROCM, 1));
  void* pinned = nullptr;
  ASSERT_EQ(driver.host_allocate(&pinned, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, pinned, where));
  EXPECT_EQ(where, device(kDLROCMHost, 0));
  void* managed = nullptr;
  ASSERT_EQ(driver.managed_allocate(&managed, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, managed, where));
  EXPECT_EQ(where, device(kDLROCMHost, 0)) << "the CPU reaches it, and it has no type of its own";
  int own = 0;
  EXPECT_FALSE(try_locate(driver, &own, where));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, HipDevice, ::testing::Values(runtime_kind::hip), runtime_name);

TEST(KeptEvents, AreEachGivenToOneThread) {
  dlbridge::event_pool kept;
  int events[10] = {};
  int taken = 0;
  for (int& event : events) {
    taken += kept.try_put(&event) ? 1 : 0;
  }
  EXPECT_EQ(taken, 8) << "there is room for so many";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&kept] {
      for (int turn = 0; turn < 1000; ++turn) {
        if (void* const event = kept.try_take()) {
          ++*static_cast<int*>(event);  // races if another thread has it too
          while (!kept.try_put(event)) {
          }
        }
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  int left = 0;
  for (; kept.try_take() != nullptr; ++left) {
  }
  EXPECT_EQ(left, 8);
}

}  // namespace

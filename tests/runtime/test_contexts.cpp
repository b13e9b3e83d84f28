// SPDX-License-Identifier: BSD-3-Clause
// cuda.hpp, hip.hpp: a guard restores the current context of the thread, and try_locate returns
// the device that the driver reports.
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "simulated_runtime.hpp"

namespace {

using dlbridge::context_guard;
using dlbridge::cuda_table;
using dlbridge::device;
using dlbridge::hip_table;
using dlbridge::in_current_context;
using dlbridge::report;
using dlbridge::runtime_kind;
using dlbridge::stream_ref;

class CudaContext : public EachRuntimeTest {
 protected:
  /// Creates a context that is not a primary one. CUDA makes it current.
  void* new_context(int ordinal) {
    void* context = nullptr;
    auto* const create = runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "");
    EXPECT_EQ(create(&context, 0, ordinal), 0);
    return context;
  }
  void pop() {
    void* popped = nullptr;
    EXPECT_EQ(runtime.call<int(void**)>("cuCtxPopCurrent_v2", "")(&popped), 0);
  }
  void set(void* context) {
    EXPECT_EQ(runtime.call<int(void*)>("cuCtxSetCurrent", "")(context), 0);
  }
  void* current() { return reinterpret_cast<void*>(runtime.current()); }

  cuda_table const& driver = *dlbridge::cuda();
};

TEST_P(CudaContext, GuardEntersTheContextOfAStream) {
  void* const other = new_context(0);
  stream_ref const stream = runtime.new_stream_in_current_context();
  pop();
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream).ok());
    EXPECT_EQ(current(), other);
    EXPECT_EQ(guard.context(), other);
    EXPECT_EQ(guard.events(), nullptr) << "only primary contexts have a pool of events";
    ASSERT_TRUE(guard.try_enter(runtime.new_stream(1)).ok());
    EXPECT_EQ(current(), runtime.context(1)) << "the guard enters one context at a time";
    EXPECT_NE(guard.events(), nullptr);
    guard.leave();
    EXPECT_EQ(current(), runtime.context(0));
    EXPECT_EQ(guard.context(), nullptr);
  }
  EXPECT_EQ(current(), runtime.context(0));
}

TEST_P(CudaContext, GuardKeepsTheCurrentContextForADefaultStreamOfItsDevice) {
  void* const other = new_context(0);
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream_ref::default_of(device(kDLCUDA, 0))).ok());
    EXPECT_EQ(current(), other);
    ASSERT_TRUE(guard.try_enter(stream_ref::default_of(device(kDLCUDA, 1))).ok());
    EXPECT_EQ(current(), runtime.context(1)) << "for another device it is the primary context";
  }
  EXPECT_EQ(current(), other);
  pop();
}

TEST_P(CudaContext, GuardEntersTheContextOfAStoredDefaultStream) {
  stream_ref const standard = stream_ref::default_of(device(kDLCUDA, 0));
  void* const other = new_context(0);
  stream_ref const stored = in_current_context(standard);
  EXPECT_EQ(stored.context(), other);
  pop();
  EXPECT_EQ(in_current_context(stored), stored) << "the context is known";
  auto const expect_entry = [&] {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stored).ok());
    EXPECT_EQ(current(), other);
    EXPECT_EQ(guard.context(), other);
    EXPECT_EQ(guard.in_context(standard), stored);
  };
  expect_entry();
  std::thread(expect_entry).join();
  EXPECT_EQ(current(), runtime.context(0));
}

TEST_P(CudaContext, StreamIsStoredWithTheContextThatTheGuardEnters) {
  auto const expect_the_same = [&](void* current_context, int ordinal) {
    stream_ref const standard = stream_ref::default_of(device(kDLCUDA, ordinal));
    set(current_context);
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(standard).ok());
    void* const entered = guard.context();
    guard.leave();
    EXPECT_EQ(in_current_context(standard).context(), entered);
    EXPECT_EQ(in_current_context(driver, standard).context(), entered);
  };
  void* const other = new_context(1);
  for (void* const current_context : {runtime.context(0), other, static_cast<void*>(nullptr)}) {
    for (int const ordinal : {0, 1}) {
      expect_the_same(current_context, ordinal);
    }
  }
  set(runtime.context(0));
  stream_ref const stream = runtime.new_stream();
  EXPECT_EQ(in_current_context(stream), stream) << "other handles are unique";
  runtime.fail("cuCtxGetCurrent", "", 999);
  EXPECT_EQ(in_current_context(stream_ref::default_of(device(kDLCUDA, 0))).context(), nullptr);
  runtime.clear_failures();
}

TEST_P(CudaContext, StoringAStreamCreatesNoContext) {
  long long const retains = runtime.counter("retains");
  long long const contexts = runtime.counter("contexts");
  static_cast<void>(in_current_context(stream_ref::default_of(device(kDLCUDA, 1))));
  EXPECT_EQ(runtime.counter("retains"), retains);
  EXPECT_EQ(runtime.counter("contexts"), contexts);
}

TEST_P(CudaContext, StreamOfAThreadWithoutAContextIsThatOfTheActivePrimaryOne) {
  stream_ref const standard = stream_ref::default_of(device(kDLCUDA, 0));
  dlbridge::detail::cuda_devices()[0].primary = nullptr;  // dlbridge has not retained it yet
  void* const expected = runtime.context(0);
  std::thread([&] { EXPECT_EQ(in_current_context(standard).context(), expected); }).join();
}

TEST_P(CudaContext, StoredStreamOfADestroyedContextIsThatOfTheDevice) {
  void* const destroyed = new_context(0);
  stream_ref const stored = in_current_context(stream_ref::default_of(device(kDLCUDA, 0)));
  EXPECT_EQ(runtime.call<int(void*)>("cuCtxDestroy_v2", "")(destroyed), 0);
  context_guard<cuda_table> guard(driver);
  ASSERT_TRUE(guard.try_enter(stored).ok());
  EXPECT_EQ(guard.context(), runtime.context(0));
  runtime.clear_misuses();  // the handle of the context was looked up
}

TEST_P(CudaContext, FailureToEnterAStoredContextEntersNoOther) {
  void* const other = new_context(0);
  stream_ref const stored = in_current_context(stream_ref::default_of(device(kDLCUDA, 0)));
  pop();
  context_guard<cuda_table> guard(driver);
  for (int const code : {1, 700, 999}) {
    runtime.fail("cuCtxPushCurrent_v2", "", code);
    EXPECT_TRUE(guard.try_enter(stored).has(dlbridge::errc::runtime_failed));
    EXPECT_EQ(guard.context(), nullptr);
    runtime.clear_failures();
  }
  EXPECT_TRUE(guard.try_enter(stored).ok());
  EXPECT_EQ(guard.context(), other);
}

TEST_P(CudaContext, PrimaryContextOfAnUnusedDeviceIsRetainedOnce) {
  long long const retains = runtime.counter("retains");
  for (int i = 0; i < 10; ++i) {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter_device(1).ok());
  }
  EXPECT_EQ(runtime.counter("retains"), retains + 1);
}

TEST_P(CudaContext, EventPoolCreatesNoPrimaryContext) {
  void* const other = new_context(1);
  stream_ref const stream = runtime.new_stream_in_current_context(1);
  long long const retains = runtime.counter("retains");
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream).ok());
    EXPECT_EQ(guard.events(), nullptr);
  }
  EXPECT_EQ(runtime.counter("retains"), retains);
  EXPECT_EQ(current(), other);
  pop();
}

TEST_P(CudaContext, ThreadWithoutAContextHasNoneAfterTheGuard) {
  set(nullptr);
  for (stream_ref const stream :
       {runtime.new_stream(1), stream_ref::default_of(device(kDLCUDA, 0))}) {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream).ok());
    EXPECT_NE(current(), nullptr);
    guard.leave();
    EXPECT_EQ(current(), nullptr);
  }
  runtime.use(0);
}

TEST_P(CudaContext, FailureToEnterKeepsTheCurrentContext) {
  context_guard<cuda_table> guard(driver);
  EXPECT_FALSE(guard.try_enter_device(7).ok());
  EXPECT_FALSE(guard.try_enter_context(&guard).ok());
  EXPECT_EQ(guard.context(), nullptr);
  EXPECT_EQ(current(), runtime.context(0));
}

TEST_P(CudaContext, PrimaryContextReplacesACurrentOneThatAnotherThreadDestroyed) {
  void* const destroyed = new_context(0);
  std::thread([&] {
    EXPECT_EQ(runtime.call<int(void*)>("cuCtxDestroy_v2", "")(destroyed), 0);
  }).join();
  {
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(stream_ref::default_of(device(kDLCUDA, 0))).ok());
    EXPECT_EQ(guard.context(), runtime.context(0));
    EXPECT_EQ(current(), runtime.context(0));
    EXPECT_NE(guard.events(), nullptr);
  }
  EXPECT_EQ(current(), destroyed) << "the guard restores the current context, whatever it is";
  pop();
}

TEST_P(CudaContext, PrimaryContextIsCreatedAgainAfterAReset) {
  auto const reset = runtime.call<int(int)>("cuDevicePrimaryCtxReset_v2", "");
  for (int const turn : {0, 1, 2}) {
    SCOPED_TRACE(turn);
    context_guard<cuda_table> guard(driver);
    ASSERT_TRUE(guard.try_enter_device(0).ok());
    EXPECT_NE(guard.events(), nullptr);
    void* memory = nullptr;
    EXPECT_EQ(driver.memory_allocate(&memory, 8), 0) << "the context exists";
    guard.leave();
    ASSERT_EQ(reset(0), 0);
  }
  context_guard<cuda_table> guard(driver);
  ASSERT_TRUE(guard.try_enter_device(0).ok());
  EXPECT_EQ(runtime.counter("retains"), 1) << "the references before the reset are void";
}

TEST_P(CudaContext, NoEventFromBeforeAResetIsUsed) {
  auto const reset = runtime.call<int(int)>("cuDevicePrimaryCtxReset_v2", "");
  auto const retain = runtime.call<int(void**, int)>("cuDevicePrimaryCtxRetain", "");
  auto const order = [&] {
    return dlbridge::try_order_after(driver, runtime.new_stream(), runtime.new_stream()).ok();
  };
  for (bool const is_retained_by_other_code : {true, false}) {
    SCOPED_TRACE(is_retained_by_other_code);
    for (int turn = 0; turn < 2; ++turn) {  // the first one fills the pool
      EXPECT_TRUE(order());
    }
    ASSERT_EQ(reset(0), 0);
    if (is_retained_by_other_code) {
      void* retained = nullptr;
      ASSERT_EQ(retain(&retained, 0), 0);
      EXPECT_EQ(retained, runtime.context(0)) << "the handle does not show the reset";
    } else {
      context_guard<cuda_table> guard(driver);
      ASSERT_TRUE(guard.try_enter_device(0).ok());
    }
    EXPECT_TRUE(order());
    EXPECT_EQ(runtime.misuse_reports(), "");
  }
}

TEST_P(CudaContext, StoredContextDoesNotExistAfterAReset) {
  context_guard<cuda_table> guard(driver);
  ASSERT_TRUE(guard.try_enter_device(0).ok());
  dlbridge::cuda_context const stored = guard.to_store();
  EXPECT_TRUE(guard.exists(stored));
  ASSERT_TRUE(guard.try_enter_context(stored).ok());
  EXPECT_EQ(guard.context(), stored.handle);
  ASSERT_EQ(runtime.call<int(int)>("cuDevicePrimaryCtxReset_v2", "")(0), 0);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_FALSE(guard.exists(stored));
    report const status = guard.try_enter_context(stored);
    EXPECT_TRUE(status.has(dlbridge::errc::runtime_failed));
    EXPECT_NE(std::string(status.got.c_str()).find("CONTEXT_IS_DESTROYED"), std::string::npos);
    ASSERT_TRUE(guard.try_enter_device(0).ok()) << "the context is created again";
  }
  EXPECT_EQ(guard.context(), stored.handle);
}

TEST_P(CudaContext, StreamOfAGreenContextIsEntered) {
  void* green = nullptr;
  void* handle = nullptr;
  ASSERT_EQ((runtime.call<int(void**, void*, int, unsigned)>("cuGreenCtxCreate", "")(
                &green, nullptr, 0, 1)),
            0);
  ASSERT_EQ((runtime.call<int(void**, void*, unsigned, int)>("cuGreenCtxStreamCreate", "")(
                &handle, green, 1, 0)),
            0);
  stream_ref const stream(device(kDLCUDA, 0), handle);
  context_guard<cuda_table> guard(driver);
  ASSERT_TRUE(guard.try_enter(stream).ok());
  EXPECT_EQ(guard.context(), runtime.context(0));
  EXPECT_NE(guard.events(), nullptr) << "its streams record events of the primary context";
  for (int const ordinal : {-1, -100000, 7}) {
    stream_ref const elsewhere(device(kDLCUDA, ordinal), handle);
    EXPECT_TRUE(guard.try_enter(elsewhere).has(dlbridge::errc::runtime_failed)) << ordinal;
  }
}

TEST_P(CudaContext, LocateReturnsTheDeviceThatTheDriverReports) {
  device where;
  ASSERT_TRUE(try_locate(driver, runtime.new_memory(8, 1), where));
  EXPECT_EQ(where, device(kDLCUDA, 1));
  void* pinned = nullptr;
  ASSERT_EQ(driver.host_allocate(&pinned, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, pinned, where));
  EXPECT_EQ(where, device(kDLCUDAHost, 0));
  void* managed = nullptr;
  ASSERT_EQ(driver.managed_allocate(&managed, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, static_cast<char*>(managed) + 3, where));
  EXPECT_EQ(where, device(kDLCUDAManaged, 0));
  int host_variable = 0;
  EXPECT_FALSE(try_locate(driver, &host_variable, where));
  EXPECT_EQ(where, device(kDLCUDAManaged, 0)) << "out is unchanged";
}

INSTANTIATE_TEST_SUITE_P(Runtimes, CudaContext, ::testing::Values(runtime_kind::cuda),
                         runtime_name);

class HipDevice : public EachRuntimeTest {
 protected:
  hip_table const& driver = *dlbridge::hip();
};

TEST_P(HipDevice, GuardSetsAndRestoresTheCurrentDevice) {
  {
    context_guard<hip_table> guard(driver);
    ASSERT_TRUE(guard.try_enter(runtime.new_stream(1)).ok());
    EXPECT_EQ(runtime.current(), 1U);
    EXPECT_EQ(guard.context(), 1);
    EXPECT_NE(guard.events(), nullptr);
    ASSERT_TRUE(guard.try_enter_device(0).ok());
    EXPECT_EQ(runtime.current(), 0U);
    EXPECT_FALSE(guard.try_enter_device(7).ok());
    EXPECT_EQ(guard.context(), -1);
    EXPECT_EQ(guard.events(), nullptr);
  }
  EXPECT_EQ(runtime.current(), 0U);
}

TEST_P(HipDevice, LocateReturnsTheDeviceThatTheRuntimeReports) {
  device where;
  ASSERT_TRUE(try_locate(driver, runtime.new_memory(8, 1), where));
  EXPECT_EQ(where, device(kDLROCM, 1));
  void* pinned = nullptr;
  ASSERT_EQ(driver.host_allocate(&pinned, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, pinned, where));
  EXPECT_EQ(where, device(kDLROCMHost, 0));
  void* managed = nullptr;
  ASSERT_EQ(driver.managed_allocate(&managed, 8, 1), 0);
  ASSERT_TRUE(try_locate(driver, managed, where));
  EXPECT_EQ(where, device(kDLROCMHost, 0))
      << "DLPack has no device type for managed memory of ROCm";
  int host_variable = 0;
  EXPECT_FALSE(try_locate(driver, &host_variable, where));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, HipDevice, ::testing::Values(runtime_kind::hip), runtime_name);

TEST(EventPool, GivesEachEventToOneThread) {
  dlbridge::event_pool pool;
  int events[10] = {};
  int added = 0;
  for (int& event : events) {
    added += pool.try_put(&event) ? 1 : 0;
  }
  EXPECT_EQ(added, 8) << "the capacity of the pool";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&pool] {
      for (int turn = 0; turn < 1000; ++turn) {
        if (void* const event = pool.try_take()) {
          ++*static_cast<int*>(event);  // a data race if another thread has the event too
          while (!pool.try_put(event)) {
          }
        }
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  int remaining = 0;
  for (; pool.try_take() != nullptr; ++remaining) {
  }
  EXPECT_EQ(remaining, 8);
}

}  // namespace

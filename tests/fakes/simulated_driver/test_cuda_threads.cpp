// SPDX-License-Identifier: BSD-3-Clause
// Several threads call one driver, and host callbacks run without its lock.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "cuda_api.hpp"

namespace {

class CudaThreads : public cuda_driver_test {};

void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

TEST_F(CudaThreads, ThreadsUseSeparateStreams) {
  std::atomic<int> counted{0};
  auto const work = [&] {
    ASSERT_EQ(cuCtxSetCurrent(context), ok);
    void* const stream = new_stream();
    auto const memory = new_memory(8);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(simulated_write(stream, at(memory), 7, 8), ok);
      ASSERT_EQ(cuLaunchHostFunc(stream, count, &counted), ok);
      ASSERT_EQ(cuStreamSynchronize(stream), ok);
      ASSERT_EQ(byte_at(memory), 7);
    }
    ASSERT_EQ(cuStreamDestroy_v2(stream), ok);
    ASSERT_EQ(cuMemFree_v2(memory), ok);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& one : threads) {
    one.join();
  }
  EXPECT_EQ(counted, 80);
  EXPECT_EQ(simulated_race_count(), 0U);
}

// The driver does not hold its lock during the callback, so another thread can make calls.
TEST_F(CudaThreads, HostCallbackMayWaitForAThreadThatCallsTheDriver) {
  struct meeting {
    std::promise<void> entered, called;
  } meeting_point;
  auto const wait = [](void* data) {
    auto* const point = static_cast<meeting*>(data);
    point->entered.set_value();
    point->called.get_future().wait();
  };
  void* const stream = new_stream();
  ASSERT_EQ(cuLaunchHostFunc(stream, wait, &meeting_point), ok);
  std::thread other([&] {
    meeting_point.entered.get_future().wait();
    EXPECT_EQ(cuCtxSetCurrent(context), ok);
    EXPECT_EQ(cuStreamDestroy_v2(new_stream()), ok);
    meeting_point.called.set_value();
  });
  EXPECT_EQ(cuStreamSynchronize(stream), ok);
  other.join();
}

// Destructors of thread-local objects run after the last call of the thread's function.
TEST_F(CudaThreads, DestructorOfAThreadLocalObjectMayCallTheDriver) {
  struct owner {
    void* event = nullptr;
    ~owner() { EXPECT_EQ(cuEventDestroy_v2(event), ok); }
  };
  std::thread([&] {
    thread_local owner event_owner;
    EXPECT_EQ(cuCtxSetCurrent(context), ok);
    event_owner.event = new_event();
  }).join();
  EXPECT_EQ(simulated_counter("events"), 0);
}

TEST_F(CudaThreads, SeveralThreadsWaitForOneHostCallback) {
  std::atomic<int> counted{0};
  void* const stream = new_stream();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(cuLaunchHostFunc(stream, count, &counted), ok);
  }
  auto const wait = [&] {
    ASSERT_EQ(cuCtxSetCurrent(context), ok);
    ASSERT_EQ(cuStreamSynchronize(stream), ok);
    EXPECT_EQ(counted, 50);
  };
  std::thread first(wait);
  std::thread second(wait);
  first.join();
  second.join();
}

}  // namespace

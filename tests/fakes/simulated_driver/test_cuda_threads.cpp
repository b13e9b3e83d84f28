// Many threads on one driver, with host functions that run without its lock.
#include <atomic>
#include <thread>
#include <vector>

#include "cuda_calls.hpp"

namespace {

class CudaThreads : public machine {};

void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

TEST_F(CudaThreads, EachOnItsStream) {
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

TEST_F(CudaThreads, AllWaitForOneHostFunction) {
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

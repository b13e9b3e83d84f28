// Many threads on one driver, with host functions that run without its lock.
#include <atomic>
#include <future>
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

// The lock is not held meanwhile: another thread may have what the function waits for.
TEST_F(CudaThreads, AHostFunctionMayWaitForAThreadThatCalls) {
  struct meeting {
    std::promise<void> entered, called;
  } both;
  auto const wait = [](void* into) {
    auto* const noted = static_cast<meeting*>(into);
    noted->entered.set_value();
    noted->called.get_future().wait();
  };
  void* const stream = new_stream();
  ASSERT_EQ(cuLaunchHostFunc(stream, wait, &both), ok);
  std::thread other([&] {
    both.entered.get_future().wait();
    EXPECT_EQ(cuCtxSetCurrent(context), ok);
    EXPECT_EQ(cuStreamDestroy_v2(new_stream()), ok);
    both.called.set_value();
  });
  EXPECT_EQ(cuStreamSynchronize(stream), ok);
  other.join();
}

// Objects of a thread that end after its last call make calls too.
TEST_F(CudaThreads, ADestructorOfAThreadMayCall) {
  struct owner {
    void* mark = nullptr;
    ~owner() { EXPECT_EQ(cuEventDestroy_v2(mark), ok); }
  };
  std::thread([&] {
    thread_local owner mine;
    EXPECT_EQ(cuCtxSetCurrent(context), ok);
    mine.mark = new_event();
  }).join();
  EXPECT_EQ(simulated_counter("events"), 0);
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

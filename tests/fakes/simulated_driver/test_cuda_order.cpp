// Streams run late, and those that did not wait run first.
#include <array>
#include <thread>

#include "cuda_calls.hpp"

namespace {

class CudaOrder : public machine {};

TEST_F(CudaOrder, NothingRunsBeforeItIsNeeded) {
  auto const memory = new_memory(16);
  void* const stream = new_stream();
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 16), ok);
  EXPECT_NE(byte_at(memory), 7);
  EXPECT_EQ(simulated_pending(), 1U);
  EXPECT_EQ(cuStreamSynchronize(stream), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_EQ(simulated_pending(), 0U);
}

TEST_F(CudaOrder, SynchronisingOneStreamLeavesTheOthers) {
  auto const memory = new_memory(16);
  void* const stream = new_stream();
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 16), ok);
  EXPECT_EQ(cuStreamSynchronize(new_stream()), ok);
  EXPECT_NE(byte_at(memory), 7);
}

TEST_F(CudaOrder, AForgottenWaitGivesStaleBytes) {
  auto const from = new_memory(16);
  auto const to = new_memory(16);
  void* const producer = new_stream();
  void* const consumer = new_stream();
  ASSERT_EQ(simulated_write(producer, at(from), 7, 16), ok);
  ASSERT_EQ(simulated_copy(consumer, at(to), at(from), 16), ok);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(from), 7);
  EXPECT_NE(byte_at(to), 7);
}

TEST_F(CudaOrder, AWaitBringsTheBytes) {
  auto const from = new_memory(16);
  auto const to = new_memory(16);
  void* const producer = new_stream();
  void* const consumer = new_stream();
  ASSERT_EQ(simulated_write(producer, at(from), 7, 16), ok);
  order(consumer, producer);
  ASSERT_EQ(simulated_copy(consumer, at(to), at(from), 16), ok);
  ASSERT_EQ(cuStreamSynchronize(consumer), ok);
  EXPECT_EQ(byte_at(to), 7);
}

TEST_F(CudaOrder, AnEventMarksWhatWasRecordedLast) {
  auto const memory = new_memory(2);
  void* const stream = new_stream();
  void* const mark = new_event();
  EXPECT_EQ(cuEventQuery(mark), ok) << "never recorded";
  EXPECT_EQ(cuEventSynchronize(mark), ok);
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 1), ok);
  ASSERT_EQ(cuEventRecord(mark, stream), ok);
  ASSERT_EQ(simulated_write(stream, at(memory + 1), 7, 1), ok);
  EXPECT_EQ(cuEventSynchronize(mark), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_NE(byte_at(memory + 1), 7);
}

TEST_F(CudaOrder, AQueryIsNotReadyOnce) {
  void* const stream = new_stream();
  void* const mark = new_event();
  auto const memory = new_memory(1);
  EXPECT_EQ(cuStreamQuery(stream), ok);
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 1), ok);
  ASSERT_EQ(cuEventRecord(mark, stream), ok);
  EXPECT_EQ(cuEventQuery(mark), not_ready);
  EXPECT_EQ(cuEventQuery(mark), ok);
  ASSERT_EQ(simulated_write(stream, at(memory), 8, 1), ok);
  EXPECT_EQ(cuStreamQuery(stream), not_ready);
  EXPECT_EQ(cuStreamQuery(stream), ok);
}

// Which of two streams the legacy default stream waits for, and which wait for it.
TEST_F(CudaOrder, TheLegacyStreamIsInOrderWithBlockingOnes) {
  auto const memory = new_memory(3);
  ASSERT_EQ(simulated_write(new_stream(true), at(memory), 7, 1), ok);
  ASSERT_EQ(simulated_write(new_stream(false), at(memory + 1), 7, 1), ok);
  ASSERT_EQ(simulated_write(per_thread_stream, at(memory + 2), 7, 1), ok);
  ASSERT_EQ(cuStreamSynchronize(legacy_stream), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_NE(byte_at(memory + 1), 7);
  EXPECT_EQ(byte_at(memory + 2), 7) << "it is a blocking stream too";
}

TEST_F(CudaOrder, BlockingStreamsAreInOrderWithTheLegacyOne) {
  auto const memory = new_memory(4);
  ASSERT_EQ(simulated_write(nullptr, at(memory), 7, 4), ok);
  ASSERT_EQ(simulated_copy(new_stream(false), at(memory + 1), at(memory), 1), ok);
  void* const blocking = new_stream(true);
  ASSERT_EQ(simulated_copy(blocking, at(memory + 2), at(memory), 1), ok);
  ASSERT_EQ(cuStreamSynchronize(blocking), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_EQ(byte_at(memory + 2), 7);
}

TEST_F(CudaOrder, ThePerThreadStreamIsInOrderWithNoOther) {
  auto const memory = new_memory(1);
  ASSERT_EQ(simulated_write(new_stream(true), at(memory), 7, 1), ok);
  ASSERT_EQ(cuStreamSynchronize(per_thread_stream), ok);
  EXPECT_NE(byte_at(memory), 7);
}

TEST_F(CudaOrder, EachThreadHasItsPerThreadStream) {
  auto const memory = new_memory(1);
  ASSERT_EQ(simulated_write(per_thread_stream, at(memory), 7, 1), ok);
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), ok);
    EXPECT_EQ(cuStreamSynchronize(per_thread_stream), ok);
  }).join();
  EXPECT_NE(byte_at(memory), 7);
}

TEST_F(CudaOrder, WorkOnADestroyedStreamStillRuns) {
  auto const memory = new_memory(1);
  void* const stream = new_stream();
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 1), ok);
  ASSERT_EQ(cuStreamDestroy_v2(stream), ok);
  EXPECT_NE(byte_at(memory), 7);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(memory), 7);
}

TEST_F(CudaOrder, ManyUnfinishedWorksAcrossStreams) {
  std::array<void*, 2> const streams{new_stream(), new_stream()};
  auto const memory = new_memory(1);
  for (unsigned i = 0; i < 5000; ++i) {
    order(streams[i % 2], streams[(i + 1) % 2]);
    ASSERT_EQ(simulated_write(streams[i % 2], at(memory), static_cast<unsigned char>(i), 1), ok);
  }
  ASSERT_EQ(cuStreamSynchronize(streams[1]), ok);
  EXPECT_EQ(byte_at(memory), 4999 % 256);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaOrder, HostFunctionsRunOnAThreadThatMustNotCall) {
  struct seen {
    std::thread::id where;
    int code = 0;
  } noted;
  auto const note = [](void* into) {
    auto* const out = static_cast<seen*>(into);
    out->where = std::this_thread::get_id();
    out->code = cuCtxSynchronize();
  };
  void* const stream = new_stream();
  ASSERT_EQ(cuLaunchHostFunc(stream, note, &noted), ok);
  EXPECT_EQ(noted.code, 0);
  ASSERT_EQ(cuStreamSynchronize(stream), ok);
  EXPECT_EQ(noted.code, not_permitted);
  EXPECT_NE(noted.where, std::this_thread::get_id());
}

}  // namespace

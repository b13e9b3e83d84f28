// SPDX-License-Identifier: BSD-3-Clause
// The order of streams: operations run late, and streams without a wait run first.
#include <array>
#include <thread>

#include "cuda_api.hpp"

namespace {

class CudaOrder : public cuda_driver_test {};

TEST_F(CudaOrder, OperationsRunWhenTheHostWaits) {
  auto const memory = new_memory(16);
  void* const stream = new_stream();
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 16), ok);
  EXPECT_NE(byte_at(memory), 7);
  EXPECT_EQ(simulated_pending_count(), 1U);
  EXPECT_EQ(cuStreamSynchronize(stream), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_EQ(simulated_pending_count(), 0U);
}

TEST_F(CudaOrder, SynchronisationOfOneStreamDoesNotRunOthers) {
  auto const memory = new_memory(16);
  void* const stream = new_stream();
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 16), ok);
  EXPECT_EQ(cuStreamSynchronize(new_stream()), ok);
  EXPECT_NE(byte_at(memory), 7);
}

TEST_F(CudaOrder, MissingWaitGivesStaleBytes) {
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

TEST_F(CudaOrder, WaitOrdersTheCopyAfterTheWrite) {
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

TEST_F(CudaOrder, EventRefersToItsLastRecord) {
  auto const memory = new_memory(2);
  void* const stream = new_stream();
  void* const event = new_event();
  EXPECT_EQ(cuEventQuery(event), ok) << "never recorded";
  EXPECT_EQ(cuEventSynchronize(event), ok);
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 1), ok);
  ASSERT_EQ(cuEventRecord(event, stream), ok);
  ASSERT_EQ(simulated_write(stream, at(memory + 1), 7, 1), ok);
  EXPECT_EQ(cuEventSynchronize(event), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_NE(byte_at(memory + 1), 7);
}

TEST_F(CudaOrder, QueryIsNotReadyOnce) {
  void* const stream = new_stream();
  void* const event = new_event();
  auto const memory = new_memory(1);
  EXPECT_EQ(cuStreamQuery(stream), ok);
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 1), ok);
  ASSERT_EQ(cuEventRecord(event, stream), ok);
  EXPECT_EQ(cuEventQuery(event), not_ready);
  EXPECT_EQ(cuEventQuery(event), ok);
  ASSERT_EQ(simulated_write(stream, at(memory), 8, 1), ok);
  EXPECT_EQ(cuStreamQuery(stream), not_ready);
  EXPECT_EQ(cuStreamQuery(stream), ok);
}

// The implicit order between the legacy default stream and blocking streams.
TEST_F(CudaOrder, LegacyStreamWaitsForBlockingStreams) {
  auto const memory = new_memory(3);
  ASSERT_EQ(simulated_write(new_stream(true), at(memory), 7, 1), ok);
  ASSERT_EQ(simulated_write(new_stream(false), at(memory + 1), 7, 1), ok);
  ASSERT_EQ(simulated_write(per_thread_stream, at(memory + 2), 7, 1), ok);
  ASSERT_EQ(cuStreamSynchronize(legacy_stream), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_NE(byte_at(memory + 1), 7);
  EXPECT_EQ(byte_at(memory + 2), 7) << "it is a blocking stream";
}

TEST_F(CudaOrder, BlockingStreamsWaitForTheLegacyStream) {
  auto const memory = new_memory(4);
  ASSERT_EQ(simulated_write(nullptr, at(memory), 7, 4), ok);
  ASSERT_EQ(simulated_copy(new_stream(false), at(memory + 1), at(memory), 1), ok);
  void* const blocking = new_stream(true);
  ASSERT_EQ(simulated_copy(blocking, at(memory + 2), at(memory), 1), ok);
  ASSERT_EQ(cuStreamSynchronize(blocking), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_EQ(byte_at(memory + 2), 7);
}

TEST_F(CudaOrder, PerThreadStreamDoesNotWaitForOtherStreams) {
  auto const memory = new_memory(1);
  ASSERT_EQ(simulated_write(new_stream(true), at(memory), 7, 1), ok);
  ASSERT_EQ(cuStreamSynchronize(per_thread_stream), ok);
  EXPECT_NE(byte_at(memory), 7);
}

TEST_F(CudaOrder, EachThreadHasItsOwnPerThreadStream) {
  auto const memory = new_memory(1);
  ASSERT_EQ(simulated_write(per_thread_stream, at(memory), 7, 1), ok);
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), ok);
    EXPECT_EQ(cuStreamSynchronize(per_thread_stream), ok);
  }).join();
  EXPECT_NE(byte_at(memory), 7);
}

TEST_F(CudaOrder, OperationsOfADestroyedStreamRun) {
  auto const memory = new_memory(1);
  void* const stream = new_stream();
  ASSERT_EQ(simulated_write(stream, at(memory), 7, 1), ok);
  ASSERT_EQ(cuStreamDestroy_v2(stream), ok);
  EXPECT_NE(byte_at(memory), 7);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(memory), 7);
}

TEST_F(CudaOrder, ManyPendingOperationsRunInOrder) {
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

TEST_F(CudaOrder, HostCallbackRunsOnAnotherThreadAndMustNotCallTheDriver) {
  struct observation {
    std::thread::id where;
    int code = 0;
  } observed;
  auto const observe = [](void* data) {
    auto* const out = static_cast<observation*>(data);
    out->where = std::this_thread::get_id();
    out->code = cuCtxSynchronize();
  };
  void* const stream = new_stream();
  ASSERT_EQ(cuLaunchHostFunc(stream, observe, &observed), ok);
  EXPECT_EQ(observed.code, 0);
  ASSERT_EQ(cuStreamSynchronize(stream), ok);
  EXPECT_EQ(observed.code, not_permitted);
  EXPECT_NE(observed.where, std::this_thread::get_id());
}

}  // namespace

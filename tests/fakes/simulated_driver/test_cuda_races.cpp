// SPDX-License-Identifier: BSD-3-Clause
// Race reports: the driver reports a race if and only if a wait is missing.
#include "cuda_api.hpp"

namespace {

class CudaRaces : public cuda_driver_test {
 protected:
  void SetUp() override {
    cuda_driver_test::SetUp();
    memory = new_memory(64);
    other = new_memory(64);
    one = new_stream();
    two = new_stream();
  }
  int write(void* stream) { return simulated_write(stream, at(memory), 7, 16); }
  int read(void* stream) { return simulated_read(stream, at(memory), 16); }

  CUdeviceptr memory = 0;
  CUdeviceptr other = 0;
  void* one = nullptr;
  void* two = nullptr;
};

TEST_F(CudaRaces, ReadWithoutAWaitIsReported) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(simulated_copy(two, at(other), at(memory), 16), ok);
  ASSERT_EQ(simulated_race_count(), 1U);
  EXPECT_NE(race(0).find("simulated_write"), std::string::npos) << race(0);
  EXPECT_NE(race(0).find("simulated_copy"), std::string::npos) << race(0);
  EXPECT_NE(race(0).find("reads memory"), std::string::npos) << race(0);
  EXPECT_EQ(simulated_counter("races"), 1);
  simulated_clear_races();
  EXPECT_EQ(simulated_race_count(), 0U);
  EXPECT_EQ(simulated_race_report(0, nullptr, 0), 0U);
}

TEST_F(CudaRaces, ReadAfterAWaitIsNotReported) {
  void* const event = new_event();
  // [wait]
  simulated_write(one, at(memory), 7, 16);  // a kernel on stream `one`
  cuEventRecord(event, one);
  cuStreamWaitEvent(two, event, 0);
  simulated_copy(two, at(other), at(memory), 16);  // another on stream `two`
  cuStreamSynchronize(two);

  unsigned char value[16];
  simulated_peek(at(other), value, 16);  // the host cannot read device memory
  EXPECT_EQ(value[15], 7);
  EXPECT_EQ(simulated_race_count(), 0U);  // 1 without the event
  // [/wait]
}

TEST_F(CudaRaces, WriteAfterTheRecordedEventIsReported) {
  void* const event = new_event();
  ASSERT_EQ(cuEventRecord(event, one), ok);
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamWaitEvent(two, event, 0), ok);
  ASSERT_EQ(read(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, WaitRefersToTheRecordAtItsTime) {
  void* const event = new_event();
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuEventRecord(event, one), ok);
  ASSERT_EQ(cuStreamWaitEvent(two, event, 0), ok);
  ASSERT_EQ(cuEventRecord(event, new_stream()), ok);
  ASSERT_EQ(read(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  ASSERT_EQ(cuStreamWaitEvent(new_stream(), event, 0), ok);
  EXPECT_EQ(cuEventSynchronize(event), ok);
  ASSERT_EQ(write(new_stream()), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "with both earlier operations";
}

TEST_F(CudaRaces, WriteDuringAReadIsReported) {
  ASSERT_EQ(read(one), ok);
  ASSERT_EQ(write(two), ok);
  ASSERT_EQ(simulated_race_count(), 1U);
  EXPECT_NE(race(0).find("still reads"), std::string::npos) << race(0);
}

TEST_F(CudaRaces, ReadsDoNotRace) {
  ASSERT_EQ(read(one), ok);
  ASSERT_EQ(read(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, OtherBytesDoNotRace) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(simulated_write(two, at(memory + 16), 7, 16), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, HostWaitOrdersLaterOperations) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamSynchronize(one), ok);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, HostWaitForAnotherStreamDoesNotOrder) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamSynchronize(two), ok);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, RunPendingDoesNotOrder) {
  ASSERT_EQ(write(one), ok);
  simulated_run_pending();
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, OrderIsTransitive) {
  void* const between = new_stream();
  ASSERT_EQ(write(one), ok);
  order(between, one);
  order(two, between);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, EachRaceIsReported) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
  void* const three = new_stream();
  order(three, two);
  ASSERT_EQ(write(three), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "it is not ordered after the first write";
}

TEST_F(CudaRaces, LegacyStreamOrdersBlockingStreams) {
  ASSERT_EQ(write(new_stream(true)), ok);
  ASSERT_EQ(write(nullptr), ok);
  ASSERT_EQ(write(per_thread_stream), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  ASSERT_EQ(write(one), ok);
  EXPECT_NE(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, StreamOrderedFreeWithoutAWaitIsReported) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuMemFreeAsync(memory, two), ok);
  ASSERT_EQ(simulated_race_count(), 1U);
  EXPECT_NE(race(0).find("cuMemFreeAsync"), std::string::npos) << race(0);
}

TEST_F(CudaRaces, StreamOrderedFreeAfterAWaitIsNotReported) {
  ASSERT_EQ(write(one), ok);
  order(two, one);
  ASSERT_EQ(cuMemFreeAsync(memory, two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  ASSERT_EQ(simulated_write(two, at(other), 1, 1), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, UseAfterFreeIsReported) {
  ASSERT_EQ(cuMemFreeAsync(memory, one), ok);
  ASSERT_EQ(write(one), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
  ASSERT_EQ(cuStreamSynchronize(one), ok);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, 1, one), invalid_value);
  EXPECT_EQ(simulated_race_count(), 2U);
  EXPECT_EQ(write(one), illegal_address);
}

TEST_F(CudaRaces, UseOfUnawaitedAllocationIsReported) {
  CUdeviceptr result = 0;
  ASSERT_EQ(cuMemAllocAsync(&result, 8, one), ok);
  ASSERT_EQ(simulated_write(two, at(result), 7, 8), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, FreeDuringAnOperationIsReported) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuMemFree_v2(memory), ok);
  ASSERT_EQ(simulated_race_count(), 1U);
  EXPECT_NE(race(0).find("cuMemFree_v2"), std::string::npos) << race(0);
  ASSERT_EQ(simulated_write(two, at(other), 7, 16), ok);
  ASSERT_EQ(cuStreamSynchronize(one), ok);
  ASSERT_EQ(cuMemFree_v2(other), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "the wait was for another stream";
}

TEST_F(CudaRaces, FreeAfterAWaitIsNotReported) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(read(one), ok);
  ASSERT_EQ(cuStreamSynchronize(one), ok);
  ASSERT_EQ(cuMemFree_v2(memory), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, FreeOrdersNothing) {
  CUdeviceptr const third = new_memory(16);
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuMemFree_v2(third), ok);
  ASSERT_EQ(read(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, FreeingPinnedMemoryDuringACopyIsReported) {
  void* pinned = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&pinned, 16, 0), ok);
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, pinned, 16, one), ok);
  ASSERT_EQ(cuMemFreeHost(pinned), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, ColumnsOfOneMatrixDoNotRace) {
  struct columns {  // CUDA_MEMCPY2D
    std::size_t from_x = 0, from_y = 0;
    unsigned from_type = 2;
    void const* from_host = nullptr;
    CUdeviceptr from_device = 0;
    void* from_array = nullptr;
    std::size_t from_pitch = 8, to_x = 0, to_y = 0;
    unsigned to_type = 2;
    void* to_host = nullptr;
    CUdeviceptr to_device = 0;
    void* to_array = nullptr;
    std::size_t to_pitch = 8, width = 4, height = 8;
  } copy;
  copy.from_device = other;
  copy.to_device = memory;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&copy, one), ok);
  copy.to_x = 4;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&copy, two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  copy.to_x = 3;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&copy, new_stream()), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "with both earlier operations";
}

TEST_F(CudaRaces, DestroyedStreamIsNotOrdered) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamDestroy_v2(one), ok);
  simulated_run_pending();
  ASSERT_EQ(write(new_stream()), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

}  // namespace

// Races are reported where a wait is missing, and nowhere else.
#include "cuda_calls.hpp"

namespace {

class CudaRaces : public machine {
 protected:
  void SetUp() override {
    machine::SetUp();
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

TEST_F(CudaRaces, AReadThatDidNotWait) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(simulated_copy(two, at(other), at(memory), 16), ok);
  ASSERT_EQ(simulated_race_count(), 1U);
  EXPECT_NE(race(0).find("simulated_write"), std::string::npos) << race(0);
  EXPECT_NE(race(0).find("simulated_copy"), std::string::npos) << race(0);
  EXPECT_NE(race(0).find("reads memory"), std::string::npos) << race(0);
  EXPECT_EQ(simulated_counter("races"), 1);
  simulated_forget_races();
  EXPECT_EQ(simulated_race_count(), 0U);
  EXPECT_EQ(simulated_race(0, nullptr, 0), 0U);
}

TEST_F(CudaRaces, AReadThatWaited) {
  void* const mark = new_event();
  // [wait]
  simulated_write(one, at(memory), 7, 16);  // a kernel on stream `one`
  cuEventRecord(mark, one);
  cuStreamWaitEvent(two, mark, 0);
  simulated_copy(two, at(other), at(memory), 16);  // another on stream `two`
  cuStreamSynchronize(two);

  unsigned char found[16];
  simulated_peek(at(other), found, 16);  // the host itself cannot read there
  EXPECT_EQ(found[15], 7);
  EXPECT_EQ(simulated_race_count(), 0U);  // 1 without the event
  // [/wait]
}

TEST_F(CudaRaces, AWaitForAnEventThatWasRecordedTooEarly) {
  void* const mark = new_event();
  ASSERT_EQ(cuEventRecord(mark, one), ok);
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamWaitEvent(two, mark, 0), ok);
  ASSERT_EQ(read(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, AWaitIsForTheRecordOfItsTime) {
  void* const mark = new_event();
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuEventRecord(mark, one), ok);
  ASSERT_EQ(cuStreamWaitEvent(two, mark, 0), ok);
  ASSERT_EQ(cuEventRecord(mark, new_stream()), ok);
  ASSERT_EQ(read(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  ASSERT_EQ(cuStreamWaitEvent(new_stream(), mark, 0), ok);
  EXPECT_EQ(cuEventSynchronize(mark), ok);
  ASSERT_EQ(write(new_stream()), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "with both";
}

TEST_F(CudaRaces, AWriteWhileAnotherStillReads) {
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

TEST_F(CudaRaces, TheHostHasWaited) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamSynchronize(one), ok);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, TheHostHasWaitedForAnother) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamSynchronize(two), ok);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, DrainingTeachesNobodyAnything) {
  ASSERT_EQ(write(one), ok);
  simulated_drain();
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, OrderPassesThroughAThirdStream) {
  void* const between = new_stream();
  ASSERT_EQ(write(one), ok);
  order(between, one);
  order(two, between);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, ARaceHidesNoOther) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(write(two), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
  void* const three = new_stream();
  order(three, two);
  ASSERT_EQ(write(three), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "it is not after the first one";
}

TEST_F(CudaRaces, OrderPassesThroughTheLegacyStream) {
  ASSERT_EQ(write(new_stream(true)), ok);
  ASSERT_EQ(write(nullptr), ok);
  ASSERT_EQ(write(per_thread_stream), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  ASSERT_EQ(write(one), ok);
  EXPECT_NE(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, FreeingInTheWrongOrder) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuMemFreeAsync(memory, two), ok);
  ASSERT_EQ(simulated_race_count(), 1U);
  EXPECT_NE(race(0).find("cuMemFreeAsync"), std::string::npos) << race(0);
}

TEST_F(CudaRaces, FreeingInOrder) {
  ASSERT_EQ(write(one), ok);
  order(two, one);
  ASSERT_EQ(cuMemFreeAsync(memory, two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  ASSERT_EQ(simulated_write(two, at(other), 1, 1), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, UseAfterFree) {
  ASSERT_EQ(cuMemFreeAsync(memory, one), ok);
  ASSERT_EQ(write(one), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
  ASSERT_EQ(cuStreamSynchronize(one), ok);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, 1, one), invalid_value);
  EXPECT_EQ(simulated_race_count(), 2U);
  EXPECT_EQ(write(one), illegal_address);
}

TEST_F(CudaRaces, UseOfMemoryWhoseAllocationIsNotAwaited) {
  CUdeviceptr made = 0;
  ASSERT_EQ(cuMemAllocAsync(&made, 8, one), ok);
  ASSERT_EQ(simulated_write(two, at(made), 7, 8), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaRaces, ABlockingFreeWaitsAndSoDoesNotRace) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuMemFree_v2(memory), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaRaces, PinnedMemoryFreedUnderACopy) {
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
  } how;
  how.from_device = other;
  how.to_device = memory;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&how, one), ok);
  how.to_x = 4;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&how, two), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  how.to_x = 3;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&how, new_stream()), ok);
  EXPECT_EQ(simulated_race_count(), 2U) << "with both";
}

TEST_F(CudaRaces, ADestroyedStreamIsStillUnordered) {
  ASSERT_EQ(write(one), ok);
  ASSERT_EQ(cuStreamDestroy_v2(one), ok);
  simulated_drain();
  ASSERT_EQ(write(new_stream()), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

}  // namespace

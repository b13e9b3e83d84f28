// Capturing: works are noted instead of run, and what is not allowed meanwhile breaks it.
#include "cuda_calls.hpp"

namespace {

constexpr int global_mode = 0, thread_mode = 1, relaxed = 2;
constexpr int none = 0, active = 1, invalidated = 2;

class CudaCapture : public machine {
 protected:
  void SetUp() override {
    machine::SetUp();
    memory = new_memory(16);
    stream = new_stream();
  }
  void begin(int mode = global_mode) { ASSERT_EQ(cuStreamBeginCapture_v2(stream, mode), ok); }
  int end() { return cuStreamEndCapture(stream, &graph); }
  int write(void* where) { return simulated_write(where, at(memory), 7, 16); }
  static int status_of(void* one) {
    int found = -1;
    EXPECT_EQ(cuStreamIsCapturing(one, &found), ok);
    return found;
  }

  CUdeviceptr memory = 0;
  void* stream = nullptr;
  void* graph = nullptr;
};

TEST_F(CudaCapture, WorkIsNotedAndNotRun) {
  EXPECT_EQ(status_of(stream), none);
  begin();
  EXPECT_EQ(status_of(stream), active);
  EXPECT_EQ(write(stream), ok);
  EXPECT_EQ(write(stream), ok);
  EXPECT_EQ(simulated_pending(), 0U);
  ASSERT_EQ(end(), ok);
  EXPECT_EQ(status_of(stream), none);
  EXPECT_EQ(simulated_graph_works(graph), 2);
  EXPECT_NE(byte_at(memory), 7);
  EXPECT_EQ(simulated_counter("graphs"), 1);
  EXPECT_EQ(cuGraphDestroy(graph), ok);
  EXPECT_EQ(cuGraphDestroy(graph), invalid_value);
}

TEST_F(CudaCapture, EachCaptureHasItsId) {
  int status = -1;
  unsigned long long first = 0;
  unsigned long long second = 0;
  EXPECT_EQ(cuStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, nullptr, nullptr), ok);
  EXPECT_EQ(status, none);
  begin();
  EXPECT_EQ(cuStreamGetCaptureInfo_v2(stream, &status, &first, nullptr, nullptr, nullptr), ok);
  EXPECT_EQ(status, active);
  ASSERT_EQ(end(), ok);
  begin();
  EXPECT_EQ(cuStreamGetCaptureInfo_v2(stream, &status, &second, nullptr, nullptr, nullptr), ok);
  EXPECT_NE(first, second);
  ASSERT_EQ(end(), ok);
}

TEST_F(CudaCapture, AWaitBringsAnotherStreamIn) {
  void* const other = new_stream();
  begin();
  order(other, stream);
  EXPECT_EQ(status_of(other), active);
  EXPECT_EQ(write(other), ok);
  order(stream, other);
  ASSERT_EQ(end(), ok);
  EXPECT_EQ(simulated_graph_works(graph), 1);
  EXPECT_EQ(status_of(other), none);
}

TEST_F(CudaCapture, WorkThatIsNotBroughtBack) {
  void* const other = new_stream();
  begin();
  order(other, stream);
  EXPECT_EQ(write(other), ok);
  EXPECT_EQ(end(), capture_unjoined);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(CudaCapture, SynchronisingBreaksIt) {
  begin();
  EXPECT_EQ(cuStreamSynchronize(stream), capture_unsupported);
  EXPECT_EQ(status_of(stream), invalidated);
  EXPECT_EQ(write(stream), capture_invalidated);
  EXPECT_EQ(end(), capture_invalidated);
  EXPECT_EQ(status_of(stream), none);
  begin();
  EXPECT_EQ(cuStreamQuery(stream), capture_unsupported);
  EXPECT_EQ(end(), capture_invalidated);
  begin();
  EXPECT_EQ(cuCtxSynchronize(), capture_unsupported);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, OtherStreamsMayBeSynchronised) {
  begin();
  EXPECT_EQ(cuStreamSynchronize(new_stream()), ok);
  EXPECT_EQ(end(), ok);
}

TEST_F(CudaCapture, TheLegacyStreamBreaksThatOfABlockingStream) {
  stream = new_stream(true);
  begin();
  int status = -1;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), capture_implicit);
  EXPECT_EQ(status_of(stream), active) << "a question breaks nothing";
  EXPECT_EQ(write(nullptr), capture_implicit);
  EXPECT_EQ(status_of(stream), invalidated);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, TheLegacyStreamLeavesNonBlockingOnesAlone) {
  begin();
  EXPECT_EQ(write(nullptr), ok);
  EXPECT_EQ(end(), ok);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, relaxed), capture_unsupported);
}

TEST_F(CudaCapture, AllocatingIsForbiddenByMode) {
  CUdeviceptr made = 0;
  for (int const mode : {global_mode, thread_mode}) {
    begin(mode);
    EXPECT_EQ(cuMemAlloc_v2(&made, 1), capture_unsupported);
    EXPECT_EQ(end(), capture_invalidated);
  }
  begin(relaxed);
  EXPECT_EQ(cuMemAlloc_v2(&made, 1), ok);
  EXPECT_EQ(end(), ok);
}

TEST_F(CudaCapture, PageableCopiesBreakIt) {
  int here = 0;
  begin();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(&here, memory, 4, stream), capture_unsupported);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, WhatWasNotCapturedMustNotGetIn) {
  void* const mark = new_event();
  ASSERT_EQ(cuEventRecord(mark, new_stream()), ok);
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream, mark, 0), capture_isolation);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, TwoCapturesDoNotMeet) {
  void* const other = new_stream();
  void* const mark = new_event();
  begin();
  ASSERT_EQ(cuStreamBeginCapture_v2(other, relaxed), ok);
  ASSERT_EQ(cuEventRecord(mark, other), ok);
  EXPECT_EQ(cuStreamWaitEvent(stream, mark, 0), capture_merge);
  EXPECT_EQ(end(), capture_invalidated);
  EXPECT_EQ(cuStreamEndCapture(other, &graph), capture_invalidated);
}

TEST_F(CudaCapture, CapturedEventsCannotBeAwaitedByTheHost) {
  void* const mark = new_event();
  begin();
  ASSERT_EQ(cuEventRecord(mark, stream), ok);
  EXPECT_EQ(cuEventSynchronize(mark), captured_event);
  EXPECT_EQ(cuEventQuery(mark), captured_event);
  static_cast<void>(end());
}

TEST_F(CudaCapture, BeginningTwiceAndEndingElsewhere) {
  EXPECT_EQ(end(), illegal_state);
  begin();
  EXPECT_EQ(cuStreamBeginCapture_v2(stream, relaxed), illegal_state);
  void* const other = new_stream();
  order(other, stream);
  EXPECT_EQ(cuStreamEndCapture(other, &graph), capture_unmatched);
  EXPECT_EQ(end(), capture_invalidated);
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// Stream capture: captured operations do not run, and forbidden calls invalidate the capture.
#include "cuda_api.hpp"

namespace {

constexpr int global_mode = 0, thread_mode = 1, relaxed = 2;
constexpr int none = 0, active = 1, invalidated = 2;

class CudaCapture : public cuda_driver_test {
 protected:
  void SetUp() override {
    cuda_driver_test::SetUp();
    memory = new_memory(16);
    stream = new_stream();
  }
  void begin(int mode = global_mode) { ASSERT_EQ(cuStreamBeginCapture_v2(stream, mode), ok); }
  int end() { return cuStreamEndCapture(stream, &graph); }
  int write(void* where) { return simulated_write(where, at(memory), 7, 16); }
  static int status_of(void* one) {
    int value = -1;
    EXPECT_EQ(cuStreamIsCapturing(one, &value), ok);
    return value;
  }

  CUdeviceptr memory = 0;
  void* stream = nullptr;
  void* graph = nullptr;
};

TEST_F(CudaCapture, CapturedOperationsDoNotRun) {
  EXPECT_EQ(status_of(stream), none);
  begin();
  EXPECT_EQ(status_of(stream), active);
  EXPECT_EQ(write(stream), ok);
  EXPECT_EQ(write(stream), ok);
  EXPECT_EQ(simulated_pending_count(), 0U);
  ASSERT_EQ(end(), ok);
  EXPECT_EQ(status_of(stream), none);
  EXPECT_EQ(simulated_graph_node_count(graph), 2);
  EXPECT_NE(byte_at(memory), 7);
  EXPECT_EQ(simulated_counter("graphs"), 1);
  EXPECT_EQ(cuGraphDestroy(graph), ok);
  EXPECT_EQ(cuGraphDestroy(graph), invalid_value);
}

TEST_F(CudaCapture, EachCaptureHasAUniqueId) {
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

TEST_F(CudaCapture, WaitAddsAnotherStreamToTheCapture) {
  void* const other = new_stream();
  begin();
  order(other, stream);
  EXPECT_EQ(status_of(other), active);
  EXPECT_EQ(write(other), ok);
  order(stream, other);
  ASSERT_EQ(end(), ok);
  EXPECT_EQ(simulated_graph_node_count(graph), 1);
  EXPECT_EQ(status_of(other), none);
}

TEST_F(CudaCapture, EndFailsWithUnjoinedOperations) {
  void* const other = new_stream();
  begin();
  order(other, stream);
  EXPECT_EQ(write(other), ok);
  EXPECT_EQ(end(), capture_unjoined);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(CudaCapture, SynchronisationInvalidatesTheCapture) {
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

TEST_F(CudaCapture, OtherStreamsCanBeSynchronised) {
  begin();
  EXPECT_EQ(cuStreamSynchronize(new_stream()), ok);
  EXPECT_EQ(end(), ok);
}

TEST_F(CudaCapture, LegacyStreamInvalidatesTheCaptureOfABlockingStream) {
  stream = new_stream(true);
  begin();
  int status = -1;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), capture_implicit);
  EXPECT_EQ(status_of(stream), active) << "a query does not invalidate the capture";
  EXPECT_EQ(write(nullptr), capture_implicit);
  EXPECT_EQ(status_of(stream), invalidated);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, LegacyStreamKeepsTheCaptureOfANonBlockingStreamValid) {
  begin();
  EXPECT_EQ(write(nullptr), ok);
  EXPECT_EQ(end(), ok);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, relaxed), capture_unsupported);
}

TEST_F(CudaCapture, AllocationIsForbiddenByCaptureMode) {
  CUdeviceptr result = 0;
  for (int const mode : {global_mode, thread_mode}) {
    begin(mode);
    EXPECT_EQ(cuMemAlloc_v2(&result, 1), capture_unsupported);
    EXPECT_EQ(end(), capture_invalidated);
  }
  begin(relaxed);
  EXPECT_EQ(cuMemAlloc_v2(&result, 1), ok);
  EXPECT_EQ(end(), ok);
}

TEST_F(CudaCapture, PageableCopyInvalidatesTheCapture) {
  int here = 0;
  begin();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(&here, memory, 4, stream), capture_unsupported);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, WaitForAnUncapturedEventIsRefused) {
  void* const event = new_event();
  ASSERT_EQ(cuEventRecord(event, new_stream()), ok);
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), capture_isolation);
  EXPECT_EQ(end(), capture_invalidated);
}

TEST_F(CudaCapture, TwoCapturesCannotBeMerged) {
  void* const other = new_stream();
  void* const event = new_event();
  begin();
  ASSERT_EQ(cuStreamBeginCapture_v2(other, relaxed), ok);
  ASSERT_EQ(cuEventRecord(event, other), ok);
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), capture_merge);
  EXPECT_EQ(end(), capture_invalidated);
  EXPECT_EQ(cuStreamEndCapture(other, &graph), capture_invalidated);
}

TEST_F(CudaCapture, HostCannotWaitForACapturedEvent) {
  void* const event = new_event();
  begin();
  ASSERT_EQ(cuEventRecord(event, stream), ok);
  EXPECT_EQ(cuEventSynchronize(event), captured_event);
  EXPECT_EQ(cuEventQuery(event), captured_event);
  static_cast<void>(end());
}

TEST_F(CudaCapture, QueryOfAnEventIsForbiddenByCaptureMode) {
  void* const event = new_event();
  ASSERT_EQ(cuEventRecord(event, new_stream()), ok);
  begin();
  EXPECT_EQ(cuEventQuery(event), capture_unsupported);
  EXPECT_EQ(end(), capture_invalidated);
  begin();
  int mode = relaxed;
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), ok);
  EXPECT_NE(cuEventQuery(event), capture_unsupported);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), ok);
  EXPECT_EQ(end(), ok);
}

TEST_F(CudaCapture, FreeNodeTakesOnlyMemoryOfItsGraph) {
  CUdeviceptr foreign = 0;
  ASSERT_EQ(cuMemAllocAsync(&foreign, 16, stream), ok);
  begin();
  EXPECT_EQ(cuMemFreeAsync(foreign, stream), invalid_value);
  EXPECT_EQ(end(), capture_invalidated);
  EXPECT_EQ(cuMemFreeAsync(foreign, stream), ok);
  begin();
  CUdeviceptr own = 0;
  ASSERT_EQ(cuMemAllocAsync(&own, 16, stream), ok);
  EXPECT_EQ(cuMemFreeAsync(own, stream), ok);
  ASSERT_EQ(end(), ok);
  EXPECT_EQ(simulated_graph_node_count(graph), 2);
}

TEST_F(CudaCapture, LaunchedGraphRunsInStreamOrder) {
  begin();
  EXPECT_EQ(write(stream), ok);
  ASSERT_EQ(end(), ok);
  void* executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), ok);
  void* const other = new_stream();
  for (void* const where : {stream, other}) {
    unsigned char const zeros[16] = {};
    ASSERT_EQ(simulated_poke(at(memory), zeros, 16), ok);
    ASSERT_EQ(cuGraphLaunch(executable, where), ok);
    EXPECT_EQ(byte_at(memory), 0) << "it runs late";
    if (where == stream) {
      simulated_run_pending();
      EXPECT_EQ(byte_at(memory), 7);
    }
  }
  EXPECT_EQ(simulated_race_count(), 0U) << "a launch is ordered after the one before";
  EXPECT_EQ(simulated_read(new_stream(), at(memory), 1), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(memory), 7);
  ASSERT_EQ(cuMemFree_v2(memory), ok);
  simulated_clear_races();
  EXPECT_EQ(cuGraphLaunch(executable, stream), illegal_address);
  EXPECT_EQ(simulated_race_count(), 1U) << "it uses memory that was freed";
  EXPECT_EQ(cuGraphExecDestroy(executable), ok);
  EXPECT_EQ(cuGraphLaunch(executable, stream), invalid_value);
}

TEST_F(CudaCapture, NodesWithoutAnEdgeAreReported) {
  void* const other = new_stream();
  begin();
  order(other, stream);
  EXPECT_EQ(write(stream), ok);
  EXPECT_EQ(write(other), ok);
  order(stream, other);
  ASSERT_EQ(end(), ok);
  void* executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), ok);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(CudaCapture, BeginTwiceAndEndOnAnotherStreamAreRefused) {
  EXPECT_EQ(end(), illegal_state);
  begin();
  EXPECT_EQ(cuStreamBeginCapture_v2(stream, relaxed), illegal_state);
  void* const other = new_stream();
  order(other, stream);
  EXPECT_EQ(cuStreamEndCapture(other, &graph), capture_unmatched);
  EXPECT_EQ(end(), capture_invalidated);
}

}  // namespace

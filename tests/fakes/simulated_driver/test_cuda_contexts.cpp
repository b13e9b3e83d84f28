// SPDX-License-Identifier: BSD-3-Clause
// Current contexts, and the handles that belong to a context.
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "cuda_api.hpp"

namespace {

class CudaContexts : public cuda_driver_test {};

TEST_F(CudaContexts, CallsBeforeInitFail) {
  simulated_reset();
  int number = 0;
  EXPECT_EQ(cuDeviceGetCount(&number), not_initialized);
  EXPECT_EQ(cuDriverGetVersion(&number), ok);
  EXPECT_EQ(cuInit(1), invalid_value);
  EXPECT_EQ(cuInit(0), ok);
  EXPECT_EQ(cuDeviceGetCount(&number), ok);
  EXPECT_EQ(number, 2);
}

TEST_F(CudaContexts, CallsWithoutACurrentContextFail) {
  void* const stream = new_stream();
  ASSERT_EQ(cuCtxSetCurrent(nullptr), ok);
  void* result = nullptr;
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuStreamCreate(&result, 0), invalid_context);
  EXPECT_EQ(cuEventCreate(&result, 0), invalid_context);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 1), invalid_context);
  EXPECT_EQ(cuCtxSynchronize(), invalid_context);
  EXPECT_EQ(cuStreamSynchronize(nullptr), invalid_context);
  EXPECT_EQ(simulated_write(nullptr, at(1), 0, 1), invalid_context);
  void* owner = nullptr;
  EXPECT_EQ(cuStreamGetCtx(stream, &owner), ok);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(cuStreamGetCtx(nullptr, &owner), invalid_context);
}

TEST_F(CudaContexts, EachThreadHasItsOwnCurrentContext) {
  std::thread([] {
    void* now = at(1);
    EXPECT_EQ(cuCtxGetCurrent(&now), ok);
    EXPECT_EQ(now, nullptr);
  }).join();
}

TEST_F(CudaContexts, PushAndPopChangeTheCurrentContext) {
  void* other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), ok);
  ASSERT_EQ(cuCtxPushCurrent_v2(other), ok);
  int device = -1;
  EXPECT_EQ(cuCtxGetDevice(&device), ok);
  EXPECT_EQ(device, 1);
  void* popped = nullptr;
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), ok);
  EXPECT_EQ(popped, other);
  EXPECT_EQ(cuCtxGetDevice(&device), ok);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), ok);
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), invalid_context);
}

TEST_F(CudaContexts, PrimaryContextIsReferenceCounted) {
  void* again = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), ok);
  EXPECT_EQ(again, context);
  EXPECT_EQ(simulated_counter("retains"), 2);
  ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), ok);
  EXPECT_EQ(simulated_counter("contexts"), 1);
  void* const stream = new_stream();
  ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), ok);
  EXPECT_EQ(simulated_counter("contexts"), 0);
  unsigned flags = 1;
  int active = 1;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), ok);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuCtxSynchronize(), context_destroyed);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), invalid_context);
  EXPECT_EQ(cuStreamGetCtx(stream, &again), context_destroyed);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), ok);
  EXPECT_EQ(simulated_write(nullptr, at(new_memory(1)), 1, 1), ok) << "the context is alive again";
}

TEST_F(CudaContexts, DestroyingAContextFreesItsMemory) {
  void* other = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), ok);
  EXPECT_NE(other, context);
  new_memory(100);
  ASSERT_EQ(cuCtxDestroy_v2(other), ok);
  EXPECT_EQ(simulated_counter("device_bytes"), 0);
  EXPECT_EQ(cuCtxPushCurrent_v2(at(12345)), invalid_context);
  void* now = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&now), ok);
  EXPECT_EQ(now, context) << "cuCtxCreate pushes, cuCtxDestroy pops";
}

TEST_F(CudaContexts, EventIsRecordedOnlyInItsContextAndAwaitedInAny) {
  void* const event = new_event();
  void* const here = new_stream();
  void* other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), ok);
  ASSERT_EQ(cuCtxSetCurrent(other), ok);
  void* const there = new_stream();
  EXPECT_EQ(cuEventRecord(event, there), invalid_handle);
  EXPECT_EQ(cuEventRecord(event, nullptr), invalid_handle);
  EXPECT_EQ(cuEventRecord(event, here), ok);
  EXPECT_EQ(cuStreamWaitEvent(there, event, 0), ok);
  EXPECT_EQ(simulated_write(here, at(new_memory(1)), 1, 1), invalid_handle);
}

TEST_F(CudaContexts, DestroyedAndOtherHandlesAreRefused) {
  void* const stream = new_stream();
  void* const event = new_event();
  ASSERT_EQ(cuStreamDestroy_v2(stream), ok);
  ASSERT_EQ(cuEventDestroy_v2(event), ok);
  EXPECT_EQ(cuStreamSynchronize(stream), invalid_handle);
  EXPECT_EQ(cuStreamDestroy_v2(stream), invalid_handle);
  EXPECT_EQ(cuEventSynchronize(event), invalid_handle);
  EXPECT_EQ(cuEventRecord(event, nullptr), invalid_handle);
  EXPECT_EQ(cuStreamSynchronize(new_event()), invalid_handle);
  EXPECT_EQ(cuStreamDestroy_v2(nullptr), invalid_handle);
  EXPECT_EQ(cuStreamDestroy_v2(legacy_stream), invalid_handle);
}

TEST_F(CudaContexts, DevicesOutOfRangeAreRefused) {
  int device = 0;
  void* other = nullptr;
  EXPECT_EQ(cuDeviceGet(&device, 2), invalid_device);
  EXPECT_EQ(cuDeviceGet(&device, -1), invalid_device);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&other, 2), invalid_device);
  EXPECT_EQ(cuDeviceCanAccessPeer(&device, 0, 2), invalid_device);
}

TEST_F(CudaContexts, PeerAccessFollowsTheConfiguration) {
  void* other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), ok);
  auto const memory = new_memory(1);
  ASSERT_EQ(cuCtxPushCurrent_v2(other), ok);
  EXPECT_EQ(simulated_write(nullptr, at(memory), 7, 1), illegal_address);
  int possible = 0;
  EXPECT_EQ(cuDeviceCanAccessPeer(&possible, 1, 0), ok);
  EXPECT_EQ(possible, 1);
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), ok);
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), already_enabled);
  EXPECT_EQ(simulated_write(nullptr, at(memory), 7, 1), ok);
  simulated_set_peer_access(0, 1, 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&possible, 0, 1), ok);
  EXPECT_EQ(possible, 0);
  ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), ok);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), peer_unsupported);
}

TEST_F(CudaContexts, GreenContextSharesEventsAndMemoryWithThePrimaryOne) {
  void* green = nullptr;
  void* stream = nullptr;
  ASSERT_EQ(cuGreenCtxCreate(&green, nullptr, 0, 1), ok);
  EXPECT_EQ(cuGreenCtxStreamCreate(&stream, green, 0, 0), invalid_value) << "must be non-blocking";
  ASSERT_EQ(cuGreenCtxStreamCreate(&stream, green, 1, 0), ok);
  void* owner = nullptr;
  EXPECT_EQ(cuStreamGetCtx(stream, &owner), not_supported);
  EXPECT_EQ(cuEventRecord(new_event(), stream), ok) << "the event is of the primary context";
  EXPECT_EQ(simulated_write(stream, at(new_memory(8)), 7, 8), ok);
  void* converted = nullptr;
  ASSERT_EQ(cuCtxFromGreenCtx(&converted, green), ok);
  EXPECT_NE(converted, context);
  ASSERT_EQ(cuCtxSetCurrent(converted), ok);
  EXPECT_EQ(cuEventRecord(new_event(), stream), ok);
  ASSERT_EQ(cuCtxSetCurrent(context), ok);
  EXPECT_EQ(cuGreenCtxDestroy(green), ok);
}

TEST_F(CudaContexts, ResetEndsAllReferencesToAPrimaryContext) {
  void* again = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), ok);
  ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), ok);
  EXPECT_EQ(simulated_counter("retains"), 0);
  EXPECT_EQ(cuCtxSynchronize(), context_destroyed);
  EXPECT_EQ(simulated_misuse_count(), 0U);
}

TEST_F(CudaContexts, IdOfADestroyedContextMayBeAsked) {
  void* other = nullptr;
  unsigned long long id = 0;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), ok);
  ASSERT_EQ(cuCtxGetId(other, &id), ok);
  ASSERT_EQ(cuCtxDestroy_v2(other), ok);
  EXPECT_EQ(cuCtxGetId(other, &id), context_destroyed);
  EXPECT_EQ(cuCtxGetId(at(77), &id), invalid_context);
  EXPECT_EQ(simulated_misuse_count(), 0U);
}

// As a driver of version 13.0 was seen to do.
TEST_F(CudaContexts, HandleOfADestroyedPrimaryContextStaysValid) {
  unsigned long long first = 0;
  unsigned long long again = 0;
  unsigned long long none = 77;
  ASSERT_EQ(cuCtxGetId(context, &first), ok);
  void* const event = new_event();
  ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), ok);
  EXPECT_EQ(cuCtxGetId(context, &none), context_destroyed);
  EXPECT_EQ(cuCtxGetId(nullptr, &none), context_destroyed);
  EXPECT_EQ(none, 77U);
  int device = -1;
  EXPECT_EQ(cuCtxGetDevice(&device), ok);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), ok);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), ok) << "calls in the context fail, and not this one";
  EXPECT_EQ(cuCtxSynchronize(), context_destroyed);
  EXPECT_EQ(simulated_misuse_count(), 0U);
  void* retained = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&retained, 0), ok);
  EXPECT_EQ(retained, context);
  ASSERT_EQ(cuCtxGetId(context, &again), ok);
  EXPECT_NE(again, first);
  EXPECT_EQ(cuEventQuery(event), invalid_handle);
  EXPECT_EQ(simulated_misuse_count(), 1U);
  simulated_clear_misuses();
}

TEST_F(CudaContexts, UseOfDestroyedHandlesIsReported) {
  void* const stream = new_stream();
  void* const event = new_event();
  ASSERT_EQ(cuStreamDestroy_v2(stream), ok);
  EXPECT_EQ(cuStreamSynchronize(stream), invalid_handle);
  ASSERT_EQ(simulated_misuse_count(), 1U);
  char text[100] = "";
  simulated_misuse_report(0, text, sizeof text);
  EXPECT_STREQ(text, "cuStreamSynchronize uses a destroyed stream");
  ASSERT_EQ(cuEventDestroy_v2(event), ok);
  EXPECT_EQ(cuEventRecord(event, nullptr), invalid_handle);
  EXPECT_EQ(simulated_counter("misuses"), 2);
  void* other = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), ok);
  void* const of_other = new_event();
  ASSERT_EQ(cuCtxDestroy_v2(other), ok);
  EXPECT_EQ(cuCtxPushCurrent_v2(other), ok) << "as a driver of version 13.0 was seen to do";
  EXPECT_EQ(cuCtxSynchronize(), context_destroyed);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), ok);
  EXPECT_EQ(cuEventQuery(of_other), invalid_handle);
  EXPECT_EQ(simulated_misuse_count(), 4U);
  EXPECT_EQ(cuStreamSynchronize(at(77)), invalid_handle) << "an unknown handle";
  EXPECT_EQ(simulated_misuse_count(), 4U);
  simulated_clear_misuses();
  EXPECT_EQ(simulated_misuse_count(), 0U);
}

TEST_F(CudaContexts, NothingWorksInAForkedChild) {
  pid_t const child = fork();
  if (child == 0) {
    void* current = nullptr;
    bool const is_refused =
        cuInit(0) == not_initialized && cuCtxGetCurrent(&current) == not_initialized;
    _exit(is_refused ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(cuCtxSynchronize(), ok) << "the parent is unaffected";
}

}  // namespace

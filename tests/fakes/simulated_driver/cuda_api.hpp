// The functions of CUDA that the tests of the simulated driver call, and their fixture.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "error_codes.hpp"
#include "simulated.h"

using CUdeviceptr = unsigned long long;

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuDeviceGetCount(int*);
int cuDeviceGet(int*, int);
int cuDeviceGetName(char*, int, int);
int cuDeviceGetAttribute(int*, int, int);
int cuDeviceCanAccessPeer(int*, int, int);
int cuDevicePrimaryCtxRetain(void**, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuDevicePrimaryCtxGetState(int, unsigned*, int*);
int cuCtxGetCurrent(void**);
int cuCtxSetCurrent(void*);
int cuCtxPushCurrent_v2(void*);
int cuCtxPopCurrent_v2(void**);
int cuCtxGetDevice(int*);
int cuCtxGetId(void*, unsigned long long*);
int cuCtxCreate_v2(void**, unsigned, int);
int cuCtxDestroy_v2(void*);
int cuCtxSynchronize();
int cuCtxEnablePeerAccess(void*, unsigned);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamGetCtx(void*, void**);
int cuStreamSynchronize(void*);
int cuStreamQuery(void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuStreamIsCapturing(void*, int*);
int cuStreamGetCaptureInfo_v2(void*, int*, unsigned long long*, void**, void const**, std::size_t*);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamEndCapture(void*, void**);
int cuGraphDestroy(void*);
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cuGraphLaunch(void*, void*);
int cuGraphExecDestroy(void*);
int cuThreadExchangeStreamCaptureMode(int*);
int cuGreenCtxCreate(void**, void*, int, unsigned);
int cuGreenCtxDestroy(void*);
int cuCtxFromGreenCtx(void**, void*);
int cuGreenCtxStreamCreate(void**, void*, unsigned, int);
int cuDevicePrimaryCtxReset_v2(int);
int cuEventCreate(void**, unsigned);
int cuEventDestroy_v2(void*);
int cuEventRecord(void*, void*);
int cuEventSynchronize(void*);
int cuEventQuery(void*);
int cuMemAlloc_v2(CUdeviceptr*, std::size_t);
int cuMemFree_v2(CUdeviceptr);
int cuMemAllocAsync(CUdeviceptr*, std::size_t, void*);
int cuMemFreeAsync(CUdeviceptr, void*);
int cuMemHostAlloc(void**, std::size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemHostRegister_v2(void*, std::size_t, unsigned);
int cuMemHostUnregister(void*);
int cuMemAllocManaged(CUdeviceptr*, std::size_t, unsigned);
int cuMemcpyHtoDAsync_v2(CUdeviceptr, void const*, std::size_t, void*);
int cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, std::size_t, void*);
int cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, std::size_t, void*);
int cuMemcpyPeerAsync(CUdeviceptr, void*, CUdeviceptr, void*, std::size_t, void*);
int cuMemcpy2DAsync_v2(void const*, void*);
int cuMemcpyAsync(CUdeviceptr, CUdeviceptr, std::size_t, void*);
int cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, void*);
int cuPointerGetAttribute(void*, int, CUdeviceptr);
int cuGetErrorName(int, char const**);
int cuGetErrorString(int, char const**);
int cuLaunchHostFunc(void*, void (*)(void*), void*);
}

inline void* const legacy_stream = reinterpret_cast<void*>(1);
inline void* const per_thread_stream = reinterpret_cast<void*>(2);

// A driver in its state at the start of a process, with the primary context of device 0 current.
class cuda_driver_test : public ::testing::Test {
 protected:
  void SetUp() override {
    simulated_reset();
    ASSERT_EQ(cuInit(0), ok);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), ok);
    ASSERT_EQ(cuCtxSetCurrent(context), ok);
  }

  void* new_stream(bool blocking = false) {
    void* result = nullptr;
    EXPECT_EQ(cuStreamCreate(&result, blocking ? 0 : 1), ok);
    return result;
  }
  void* new_event() {
    void* result = nullptr;
    EXPECT_EQ(cuEventCreate(&result, 2), ok);
    return result;
  }
  CUdeviceptr new_memory(std::size_t bytes) {
    CUdeviceptr result = 0;
    EXPECT_EQ(cuMemAlloc_v2(&result, bytes), ok);
    return result;
  }
  void* context = nullptr;
};

inline void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// The present byte at an address, whatever operations are pending.
inline int byte_at(CUdeviceptr address) {
  unsigned char value = 0;
  return simulated_peek(at(address), &value, 1) == 0 ? value : -1;
}

inline std::string race(std::size_t index) {
  char text[1000] = "";
  simulated_race_report(index, text, sizeof text);
  return text;
}

// Orders `later` after the operations that are on `earlier` now.
inline void order(void* later, void* earlier) {
  void* event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 2), ok);
  ASSERT_EQ(cuEventRecord(event, earlier), ok);
  ASSERT_EQ(cuStreamWaitEvent(later, event, 0), ok);
  ASSERT_EQ(cuEventDestroy_v2(event), ok);
}

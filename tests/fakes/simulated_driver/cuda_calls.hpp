// CUDA's functions as the tests of the simulated driver call them, and a machine to call them on.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

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

enum : int {
  ok = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  invalid_device = 101,
  invalid_context = 201,
  peer_unsupported = 217,
  invalid_handle = 400,
  illegal_state = 401,
  not_ready = 600,
  illegal_address = 700,
  already_enabled = 704,
  context_destroyed = 709,
  already_registered = 712,
  not_registered = 713,
  not_permitted = 800,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
};

inline void* const legacy_stream = reinterpret_cast<void*>(1);
inline void* const per_thread_stream = reinterpret_cast<void*>(2);

// A driver as it is when a process begins, with the primary context of device 0 current.
class machine : public ::testing::Test {
 protected:
  void SetUp() override {
    simulated_reset();
    ASSERT_EQ(cuInit(0), ok);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), ok);
    ASSERT_EQ(cuCtxSetCurrent(context), ok);
  }

  void* new_stream(bool blocking = false) {
    void* made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, blocking ? 0 : 1), ok);
    return made;
  }
  void* new_event() {
    void* made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, 2), ok);
    return made;
  }
  CUdeviceptr new_memory(std::size_t bytes) {
    CUdeviceptr made = 0;
    EXPECT_EQ(cuMemAlloc_v2(&made, bytes), ok);
    return made;
  }
  void* context = nullptr;
};

inline void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// What is at an address now, whatever is still to run.
inline int byte_at(CUdeviceptr address) {
  unsigned char found = 0;
  return simulated_peek(at(address), &found, 1) == 0 ? found : -1;
}

inline std::string race(std::size_t index) {
  char text[1000] = "";
  simulated_race(index, text, sizeof text);
  return text;
}

// Makes `later` come after what is on `earlier` by now.
inline void order(void* later, void* earlier) {
  void* mark = nullptr;
  ASSERT_EQ(cuEventCreate(&mark, 2), ok);
  ASSERT_EQ(cuEventRecord(mark, earlier), ok);
  ASSERT_EQ(cuStreamWaitEvent(later, mark, 0), ok);
  ASSERT_EQ(cuEventDestroy_v2(mark), ok);
}

// SPDX-License-Identifier: BSD-3-Clause
// The functions of HIP, where they differ from CUDA's.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <thread>

#include "error_codes.hpp"
#include "simulated.h"

extern "C" {
int hipInit(unsigned);
int hipGetDeviceCount(int*);
int hipGetDevice(int*);
int hipSetDevice(int);
int hipDeviceGetName(char*, int, int);
int hipDeviceCanAccessPeer(int*, int, int);
int hipDeviceEnablePeerAccess(int, unsigned);
int hipDeviceSynchronize();
int hipRuntimeGetVersion(int*);
int hipStreamCreateWithFlags(void**, unsigned);
int hipStreamDestroy(void*);
int hipStreamSynchronize(void*);
int hipStreamQuery(void*);
int hipStreamWaitEvent(void*, void*, unsigned);
int hipStreamIsCapturing(void*, int*);
int hipStreamGetCaptureInfo_v2(void*, int*, unsigned long long*, void**, void const**,
                               std::size_t*);
int hipStreamBeginCapture(void*, int);
int hipStreamEndCapture(void*, void**);
int hipGraphDestroy(void*);
int hipEventCreateWithFlags(void**, unsigned);
int hipEventDestroy(void*);
int hipEventRecord(void*, void*);
int hipEventSynchronize(void*);
int hipEventQuery(void*);
int hipMalloc(void**, std::size_t);
int hipFree(void*);
int hipMallocAsync(void**, std::size_t, void*);
int hipFreeAsync(void*, void*);
int hipHostMalloc(void**, std::size_t, unsigned);
int hipHostFree(void*);
int hipHostRegister(void*, std::size_t, unsigned);
int hipHostUnregister(void*);
int hipMallocManaged(void**, std::size_t, unsigned);
int hipMemcpyAsync(void*, void const*, std::size_t, int, void*);
int hipMemcpyPeerAsync(void*, int, void const*, int, std::size_t, void*);
int hipMemcpy2DAsync(void*, std::size_t, void const*, std::size_t, std::size_t, std::size_t, int,
                     void*);
int hipMemsetAsync(void*, int, std::size_t, void*);
int hipPointerGetAttribute(void*, int, void*);
int hipGetLastError();
int hipPeekAtLastError();
char const* hipGetErrorName(int);
char const* hipGetErrorString(int);
}

namespace {

constexpr int to_device = 1, to_host = 2, by_address = 4;

class Hip : public ::testing::Test {
 protected:
  void SetUp() override { simulated_reset(); }

  unsigned char* new_memory(std::size_t bytes) {
    void* result = nullptr;
    EXPECT_EQ(hipMalloc(&result, bytes), ok);
    return static_cast<unsigned char*>(result);
  }
  void* new_stream(unsigned flags = 1) {
    void* result = nullptr;
    EXPECT_EQ(hipStreamCreateWithFlags(&result, flags), ok);
    return result;
  }
  void* new_event() {
    void* result = nullptr;
    EXPECT_EQ(hipEventCreateWithFlags(&result, 2), ok);
    return result;
  }
  static int byte_at(void const* address) {
    unsigned char value = 0;
    return simulated_peek(address, &value, 1) == 0 ? value : -1;
  }
};

TEST_F(Hip, InitialisesOnTheFirstCall) {
  int number = 0;
  EXPECT_EQ(hipGetDeviceCount(&number), ok);
  EXPECT_EQ(number, 2);
  EXPECT_EQ(hipRuntimeGetVersion(&number), ok);
  EXPECT_GT(number, 60000000);
  EXPECT_EQ(hipInit(1), invalid_value);
  char name[40] = "";
  EXPECT_EQ(hipDeviceGetName(name, sizeof name, 0), ok);
  EXPECT_STREQ(name, "Simulated HIP device 0");
}

TEST_F(Hip, EachThreadHasItsOwnCurrentDevice) {
  EXPECT_EQ(hipSetDevice(2), invalid_device);
  ASSERT_EQ(hipSetDevice(1), ok);
  int device = -1;
  EXPECT_EQ(hipGetDevice(&device), ok);
  EXPECT_EQ(device, 1);
  std::thread([] {
    int there = -1;
    EXPECT_EQ(hipGetDevice(&there), ok);
    EXPECT_EQ(there, 0);
  }).join();
}

using HipDeathTest = Hip;

TEST_F(HipDeathTest, HostCannotAccessDeviceMemory) {
  unsigned char volatile* const memory = new_memory(4);
  EXPECT_DEATH(static_cast<void>(*memory), "");
}

TEST_F(Hip, OperationsRunLateAndUnorderedOnesInReverse) {
  unsigned char* const from = new_memory(4);
  unsigned char* const to = new_memory(4);
  ASSERT_EQ(hipMemsetAsync(from, 7, 4, new_stream()), ok);
  ASSERT_EQ(simulated_copy(new_stream(), to, from, 4), ok);
  EXPECT_NE(byte_at(from), 7);
  ASSERT_EQ(hipDeviceSynchronize(), ok);
  EXPECT_EQ(byte_at(from), 7);
  EXPECT_NE(byte_at(to), 7);
  EXPECT_EQ(simulated_race_count(), 1U);
}

TEST_F(Hip, WaitOrdersTheCopyAfterTheWrite) {
  unsigned char* const from = new_memory(4);
  unsigned char* const to = new_memory(4);
  void* const producer = new_stream();
  void* const consumer = new_stream();
  void* const event = new_event();
  ASSERT_EQ(hipMemsetAsync(from, 7, 4, producer), ok);
  ASSERT_EQ(hipEventRecord(event, producer), ok);
  ASSERT_EQ(hipStreamWaitEvent(consumer, event, 0), ok);
  ASSERT_EQ(hipEventDestroy(event), ok);
  ASSERT_EQ(hipMemcpyAsync(to, from, 4, by_address, consumer), ok);
  ASSERT_EQ(hipStreamSynchronize(consumer), ok);
  EXPECT_EQ(byte_at(to), 7);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(Hip, NullStreamWaitsForBlockingStreams) {
  unsigned char* const memory = new_memory(2);
  ASSERT_EQ(hipMemsetAsync(memory, 7, 1, new_stream(0)), ok);
  ASSERT_EQ(hipMemsetAsync(memory + 1, 7, 1, new_stream(1)), ok);
  ASSERT_EQ(hipStreamSynchronize(nullptr), ok);
  EXPECT_EQ(byte_at(memory), 7);
  EXPECT_NE(byte_at(memory + 1), 7);
}

TEST_F(Hip, EventIsRecordedOnlyOnItsDevice) {
  void* const event = new_event();
  ASSERT_EQ(hipSetDevice(1), ok);
  void* const there = new_stream();
  EXPECT_EQ(hipEventRecord(event, there), invalid_handle);
  EXPECT_EQ(hipEventRecord(event, nullptr), invalid_handle);
  EXPECT_EQ(hipStreamWaitEvent(there, event, 0), ok);
}

TEST_F(Hip, DestroyedHandlesAreRefused) {
  void* const stream = new_stream();
  void* const event = new_event();
  ASSERT_EQ(hipStreamDestroy(stream), ok);
  ASSERT_EQ(hipEventDestroy(event), ok);
  EXPECT_EQ(hipStreamSynchronize(stream), context_destroyed);
  EXPECT_EQ(hipStreamDestroy(nullptr), invalid_handle);
  EXPECT_EQ(hipEventRecord(event, nullptr), invalid_handle);
}

TEST_F(Hip, PointerAttributesDescribeTheAllocation) {
  constexpr int memory_type = 2, is_managed = 8, device_ordinal = 9;
  void* pinned = nullptr;
  void* managed = nullptr;
  ASSERT_EQ(hipHostMalloc(&pinned, 4, 0), ok);
  ASSERT_EQ(hipMallocManaged(&managed, 4, 1), ok);
  ASSERT_EQ(hipSetDevice(1), ok);
  unsigned char* const memory = new_memory(4);
  auto const query = [](auto value, int attribute, void* address) {
    EXPECT_EQ(hipPointerGetAttribute(&value, attribute, address), ok);
    return value;
  };
  EXPECT_EQ(query(0U, memory_type, memory), 2U);
  EXPECT_EQ(query(0U, memory_type, pinned), 1U);
  EXPECT_TRUE(query(false, is_managed, managed));
  EXPECT_FALSE(query(true, is_managed, pinned));
  EXPECT_EQ(query(0, device_ordinal, memory), 1);
  int here = 0;
  EXPECT_EQ(hipPointerGetAttribute(&here, memory_type, &here), invalid_value);
  EXPECT_EQ(hipHostFree(pinned), ok);
  EXPECT_EQ(hipFree(managed), ok);
  EXPECT_EQ(hipFree(nullptr), ok);
  EXPECT_EQ(hipFree(&here), invalid_value);
}

TEST_F(Hip, BlockPeerAndPlainCopies) {
  std::array<unsigned char, 6> from{1, 2, 3, 4, 5, 6};
  std::array<unsigned char, 6> to{};
  unsigned char* const memory = new_memory(12);
  ASSERT_EQ(hipMemcpy2DAsync(memory, 4, from.data(), 2, 2, 3, to_device, nullptr), ok);
  ASSERT_EQ(hipMemcpy2DAsync(to.data(), 2, memory, 4, 2, 3, to_host, nullptr), ok);
  EXPECT_EQ(to, from);
  EXPECT_EQ(hipMemcpyAsync(memory, from.data(), 1, to_host, nullptr), invalid_value);
  ASSERT_EQ(hipSetDevice(1), ok);
  unsigned char* const there = new_memory(4);
  ASSERT_EQ(hipMemcpyPeerAsync(there, 1, memory, 0, 2, nullptr), ok);
  ASSERT_EQ(hipDeviceSynchronize(), ok);
  EXPECT_EQ(byte_at(there + 1), 2);
  EXPECT_EQ(simulated_write(nullptr, memory, 1, 1), illegal_address)
      << "peer access is not enabled yet";
  EXPECT_EQ(hipDeviceEnablePeerAccess(0, 0), ok);
  EXPECT_EQ(simulated_write(nullptr, memory, 1, 1), ok);
}

TEST_F(Hip, StreamOrderedMemory) {
  void* memory = nullptr;
  void* const stream = new_stream();
  ASSERT_EQ(hipMallocAsync(&memory, 8, stream), ok);
  ASSERT_EQ(hipMemsetAsync(memory, 1, 8, stream), ok);
  ASSERT_EQ(hipFreeAsync(memory, stream), ok);
  EXPECT_EQ(simulated_race_count(), 0U);
  EXPECT_EQ(simulated_counter("device_bytes"), 8);
  ASSERT_EQ(hipStreamSynchronize(stream), ok);
  EXPECT_EQ(simulated_counter("device_bytes"), 0);
}

TEST_F(Hip, CaptureRecordsOperations) {
  void* const stream = new_stream();
  unsigned char* const memory = new_memory(1);
  void* graph = nullptr;
  int status = -1;
  unsigned long long id = 0;
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), ok);
  ASSERT_EQ(hipMemsetAsync(memory, 7, 1, stream), ok);
  EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr), ok);
  EXPECT_EQ(status, 1);
  EXPECT_NE(id, 0U);
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), ok);
  EXPECT_EQ(simulated_graph_node_count(graph), 1);
  EXPECT_EQ(hipGraphDestroy(graph), ok);
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), ok);
  EXPECT_EQ(hipStreamSynchronize(stream), capture_unsupported);
  EXPECT_EQ(hipStreamIsCapturing(stream, &status), ok);
  EXPECT_EQ(status, 2);
}

TEST_F(Hip, LastErrorIsStoredUntilItIsRead) {
  EXPECT_EQ(hipGetLastError(), ok);
  int here = 0;
  EXPECT_EQ(hipFree(&here), invalid_value);
  EXPECT_EQ(hipFree(nullptr), ok);
  EXPECT_EQ(hipPeekAtLastError(), invalid_value) << "a successful call does not clear the error";
  std::thread([] { EXPECT_EQ(hipGetLastError(), ok); }).join();
  EXPECT_EQ(hipGetLastError(), invalid_value);
  EXPECT_EQ(hipGetLastError(), ok);
  void* const stream = new_stream();
  ASSERT_EQ(hipMemsetAsync(new_memory(1), 7, 1, stream), ok);
  EXPECT_EQ(hipStreamQuery(stream), not_ready);
  EXPECT_EQ(hipGetLastError(), ok);
}

TEST_F(Hip, ErrorNamesAreReturnedDirectly) {
  EXPECT_STREQ(hipGetErrorName(not_ready), "hipErrorNotReady");
  EXPECT_STREQ(hipGetErrorName(12345), "hipErrorUnknown");
  EXPECT_STREQ(hipGetErrorString(2), "out of memory");
}

}  // namespace

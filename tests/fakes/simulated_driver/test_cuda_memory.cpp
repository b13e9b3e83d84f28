// SPDX-License-Identifier: BSD-3-Clause
// Memory: access by the host, pointer attributes, and copies of every kind.
#include <array>
#include <numeric>

#include "cuda_api.hpp"

namespace {

class CudaMemory : public cuda_driver_test {
 protected:
  CUdeviceptr new_managed(std::size_t bytes) {
    CUdeviceptr result = 0;
    EXPECT_EQ(cuMemAllocManaged(&result, bytes, 1), ok);
    return result;
  }
  unsigned char* new_pinned(std::size_t bytes) {
    void* result = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&result, bytes, 0), ok);
    return static_cast<unsigned char*>(result);
  }
  unsigned query(int attribute, CUdeviceptr address) {
    unsigned value = 1000;
    EXPECT_EQ(cuPointerGetAttribute(&value, attribute, address), ok);
    return value;
  }
};

constexpr int of_context = 1, memory_type = 2, is_managed = 8, device_ordinal = 9;
constexpr int range_start = 11, range_size = 12;
constexpr unsigned host_memory = 1, device_memory = 2;

CUdeviceptr number(void const* address) { return reinterpret_cast<CUdeviceptr>(address); }

using CudaMemoryDeathTest = CudaMemory;

TEST_F(CudaMemoryDeathTest, HostCannotAccessDeviceMemory) {
  auto const memory = new_memory(16);
  auto* const bytes = static_cast<unsigned char volatile*>(at(memory));
  EXPECT_DEATH(static_cast<void>(*bytes), "");
  EXPECT_DEATH(*bytes = 1, "");
}

TEST_F(CudaMemory, HostCanAccessManagedAndPinnedMemory) {
  auto* const managed = static_cast<unsigned char*>(at(new_managed(16)));
  unsigned char* const pinned = new_pinned(16);
  managed[15] = 7;
  pinned[15] = 8;
  EXPECT_EQ(byte_at(number(managed) + 15), 7);
  EXPECT_EQ(byte_at(number(pinned) + 15), 8);
  EXPECT_EQ(simulated_counter("managed_bytes"), 16);
  EXPECT_EQ(simulated_counter("pinned_bytes"), 16);
}

TEST_F(CudaMemory, PointerAttributesDescribeTheAllocation) {
  auto const memory = new_memory(100);
  unsigned char* const pinned = new_pinned(1);
  auto const managed = new_managed(1);
  EXPECT_EQ(query(memory_type, memory + 99), device_memory);
  EXPECT_EQ(query(memory_type, number(pinned)), host_memory);
  EXPECT_EQ(query(memory_type, managed), device_memory);
  EXPECT_EQ(query(is_managed, managed), 1U);
  EXPECT_EQ(query(is_managed, memory), 0U);
  EXPECT_EQ(query(device_ordinal, memory), 0U);
  void* owner = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&owner, of_context, memory), ok);
  EXPECT_EQ(owner, context);
  std::array<unsigned long long, 2> range{};
  EXPECT_EQ(cuPointerGetAttribute(&range[0], range_start, memory + 5), ok);
  EXPECT_EQ(cuPointerGetAttribute(&range[1], range_size, memory + 5), ok);
  EXPECT_EQ(range[0], memory);
  EXPECT_EQ(range[1], 100U);
}

TEST_F(CudaMemory, UnknownPointersAreRefused) {
  int here = 0;
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, memory_type, number(&here)), invalid_value);
  EXPECT_EQ(cuPointerGetAttribute(&type, memory_type, 0), invalid_value);
  auto const memory = new_memory(100);
  EXPECT_EQ(cuPointerGetAttribute(&type, memory_type, memory + 100), invalid_value);
  ASSERT_EQ(cuMemFree_v2(memory), ok);
  EXPECT_EQ(cuPointerGetAttribute(&type, memory_type, memory), invalid_value);
  EXPECT_EQ(cuMemFree_v2(memory), invalid_value);
  EXPECT_EQ(cuMemFree_v2(0), ok);
}

TEST_F(CudaMemory, StreamOrderedMemoryHasNoContext) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAllocAsync(&memory, 8, nullptr), ok);
  void* owner = at(1);
  EXPECT_EQ(cuPointerGetAttribute(&owner, of_context, memory), ok);
  EXPECT_EQ(owner, nullptr);
  EXPECT_EQ(cuMemFreeAsync(memory, nullptr), ok);
  EXPECT_EQ(simulated_counter("allocations"), 1) << "the free runs in stream order";
  EXPECT_EQ(cuMemFreeAsync(memory, nullptr), invalid_value);
  EXPECT_EQ(cuStreamSynchronize(nullptr), ok);
  EXPECT_EQ(simulated_counter("allocations"), 0);
  EXPECT_EQ(simulated_race_count(), 0U);
}

TEST_F(CudaMemory, RegisteredMemoryIsAccessedByKernels) {
  std::array<unsigned char, 64> here{};
  ASSERT_EQ(cuMemHostRegister_v2(here.data(), 64, 0), ok);
  EXPECT_EQ(cuMemHostRegister_v2(here.data() + 8, 8, 0), already_registered);
  EXPECT_EQ(query(memory_type, number(here.data() + 8)), host_memory);
  ASSERT_EQ(simulated_write(nullptr, here.data(), 7, 64), ok);
  EXPECT_EQ(here[63], 0);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(here[63], 7);
  EXPECT_EQ(cuMemHostUnregister(here.data()), ok);
  EXPECT_EQ(cuMemHostUnregister(here.data()), not_registered);
}

TEST_F(CudaMemory, PageableCopyReadsImmediatelyAndMakesTheHostWait) {
  auto const memory = new_memory(4);
  std::array<unsigned char, 4> from{1, 2, 3, 4};
  std::array<unsigned char, 4> to{};
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, from.data(), 4, nullptr), ok);
  from.fill(9);
  EXPECT_NE(byte_at(memory), 1) << "the write of the copy runs in stream order";
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(to.data(), memory, 4, nullptr), ok);
  EXPECT_EQ(to, (std::array<unsigned char, 4>{1, 2, 3, 4}));
  EXPECT_EQ(simulated_counter("host_synchronizations"), 1);
}

TEST_F(CudaMemory, PinnedCopyRunsInStreamOrder) {
  auto const memory = new_memory(4);
  unsigned char* const from = new_pinned(4);
  unsigned char* const to = new_pinned(4);
  from[0] = 1;
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, from, 4, nullptr), ok);
  from[0] = 2;
  to[0] = 3;
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(to, memory, 4, nullptr), ok);
  EXPECT_EQ(to[0], 3);
  ASSERT_EQ(cuStreamSynchronize(nullptr), ok);
  EXPECT_EQ(to[0], 2);
}

TEST_F(CudaMemory, BlockCopyCopiesRows) {
  struct {  // CUDA_MEMCPY2D
    std::size_t from_x = 0, from_y = 0;
    unsigned from_type = host_memory;
    void const* from_host = nullptr;
    CUdeviceptr from_device = 0;
    void* from_array = nullptr;
    std::size_t from_pitch = 0, to_x = 0, to_y = 0;
    unsigned to_type = device_memory;
    void* to_host = nullptr;
    CUdeviceptr to_device = 0;
    void* to_array = nullptr;
    std::size_t to_pitch = 0, width = 0, height = 0;
  } copy;
  std::array<unsigned char, 12> from{};
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  copy.from_host = from.data();
  copy.from_pitch = 4;
  copy.to_device = new_memory(30);
  copy.to_pitch = 10;
  copy.to_x = 1;
  copy.width = 3;
  copy.height = 3;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&copy, nullptr), ok);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(copy.to_device + 21), 8);
  EXPECT_EQ(byte_at(copy.to_device + 23), 10);
  copy.height = 4;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, nullptr), invalid_value) << "past the end of the allocation";
}

TEST_F(CudaMemory, CopiesAndFillsOutsideOfAllocationsAreRefused) {
  auto const memory = new_memory(16);
  auto const other = new_memory(15);
  int here = 0;
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(memory, other, 16, nullptr), invalid_value);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(memory, number(&here), 4, nullptr), invalid_value);
  EXPECT_EQ(cuMemsetD8Async(other, 1, 16, nullptr), invalid_value);
  EXPECT_EQ(cuMemsetD8Async(other, 7, 15, nullptr), ok);
  EXPECT_EQ(cuMemcpyAsync(memory, other, 15, nullptr), ok);
  EXPECT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(memory + 14), 7);
}

TEST_F(CudaMemory, PeerCopyRequiresTheContextsOfBothAddresses) {
  auto const here = new_memory(4);
  void* other = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), ok);
  ASSERT_EQ(cuCtxPushCurrent_v2(other), ok);
  auto const there = new_memory(4);
  EXPECT_EQ(query(device_ordinal, there), 1U);
  ASSERT_EQ(simulated_write(nullptr, at(there), 7, 4), ok);
  EXPECT_EQ(cuMemcpyPeerAsync(here, other, there, context, 4, nullptr), invalid_value);
  ASSERT_EQ(cuMemcpyPeerAsync(here, context, there, other, 4, nullptr), ok);
  ASSERT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(byte_at(here), 7);
}

TEST_F(CudaMemory, NewMemoryIsNotZero) {
  auto const memory = new_memory(100);
  EXPECT_EQ(byte_at(memory + 99), 0xCD);
  EXPECT_EQ(*new_pinned(1), 0xCD);
}

TEST_F(CudaMemory, AllocationBeyondTheMemoryLimitFails) {
  simulated_set_memory_limit(100);
  auto const first = new_memory(60);
  CUdeviceptr second = 0;
  EXPECT_EQ(cuMemAlloc_v2(&second, 60), out_of_memory);
  EXPECT_EQ(cuMemAllocAsync(&second, 60, nullptr), out_of_memory);
  ASSERT_EQ(cuMemFree_v2(first), ok);
  EXPECT_EQ(cuMemAlloc_v2(&second, 60), ok);
  EXPECT_EQ(simulated_counter("device_bytes"), 60);
}

TEST_F(CudaMemory, FreeWaitsForTheDevice) {
  auto const memory = new_memory(4);
  auto const other = new_memory(4);
  ASSERT_EQ(simulated_write(new_stream(), at(other), 7, 4), ok);
  ASSERT_EQ(cuMemFree_v2(memory), ok);
  EXPECT_EQ(byte_at(other), 7);
  EXPECT_EQ(simulated_counter("device_synchronizations"), 1);
}

TEST_F(CudaMemory, FreedPagesAreReleasedAndAddressesAreReusedLate) {
  auto const permanent = new_memory(100);
  CUdeviceptr last = 0;
  for (int i = 0; i < 200; ++i) {
    auto const memory = new_memory(std::size_t{1} << 30);  // three times the addresses of a device
    EXPECT_NE(memory, last);
    last = memory;
    ASSERT_EQ(cuMemsetD8Async(memory, 1, std::size_t{1} << 20, nullptr), ok);
    ASSERT_EQ(cuMemFree_v2(memory), ok);
  }
  EXPECT_EQ(simulated_counter("device_bytes"), 100);
  CUdeviceptr result = 0;
  EXPECT_EQ(cuMemAlloc_v2(&result, std::size_t{1} << 40), out_of_memory);
  ASSERT_EQ(cuMemFree_v2(permanent), ok);
}

}  // namespace

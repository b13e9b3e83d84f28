// SPDX-License-Identifier: BSD-3-Clause
// The control interface: failures on demand, call counts, counters, names.
#include <dlfcn.h>

#include <cstring>

#include "cuda_api.hpp"

namespace {

class CudaControl : public cuda_driver_test {};

TEST_F(CudaControl, NthCallFailsOnDemand) {
  simulated_fail_call(2, out_of_memory);
  void* result = nullptr;
  EXPECT_EQ(cuEventCreate(&result, 0), ok);
  EXPECT_EQ(cuEventCreate(&result, 0), out_of_memory);
  EXPECT_EQ(cuEventCreate(&result, 0), ok);
  EXPECT_EQ(simulated_counter("events"), 2);
}

TEST_F(CudaControl, FunctionFailsUntilFailuresAreCleared) {
  ASSERT_EQ(simulated_fail_function("cuEventCreate", out_of_memory), 0);
  EXPECT_NE(simulated_fail_function("cuEventCreat", out_of_memory), 0);
  void* result = nullptr;
  EXPECT_EQ(cuEventCreate(&result, 0), out_of_memory);
  EXPECT_EQ(cuEventCreate(&result, 0), out_of_memory);
  EXPECT_EQ(cuStreamCreate(&result, 0), ok);
  simulated_clear_failures();
  EXPECT_EQ(cuEventCreate(&result, 0), ok);
}

TEST_F(CudaControl, CallsAreCounted) {
  simulated_reset_call_counts();
  new_event();
  new_event();
  new_stream();
  EXPECT_EQ(simulated_call_count("cuEventCreate"), 2);
  EXPECT_EQ(simulated_call_count("cuEventDestroy_v2"), 0);
  EXPECT_EQ(simulated_call_count(nullptr), 3);
  EXPECT_EQ(simulated_call_count("cuEvent"), -1);
}

TEST_F(CudaControl, EveryNamedFunctionIsExportedAndCanFail) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  std::size_t count = 0;
  for (; simulated_function_name(count) != nullptr; ++count) {
    char const* const name = simulated_function_name(count);
    EXPECT_NE(dlsym(library, name), nullptr) << name;
    EXPECT_EQ(simulated_fail_function(name, 999), 0) << name;
  }
  EXPECT_GT(count, 50U);
  EXPECT_EQ(cuCtxSynchronize(), 999);
  EXPECT_EQ(dlsym(library, "cuMemAlloc"), nullptr)
      << "the first version of the function has other types";
  dlclose(library);
}

TEST_F(CudaControl, CountersCountObjectsThatExist) {
  void* const stream = new_stream();
  void* const event = new_event();
  auto const memory = new_memory(10);
  EXPECT_EQ(simulated_counter("contexts"), 1);
  EXPECT_EQ(simulated_counter("retains"), 1);
  EXPECT_EQ(simulated_counter("streams"), 1);
  EXPECT_EQ(simulated_counter("events"), 1);
  EXPECT_EQ(simulated_counter("allocations"), 1);
  EXPECT_EQ(simulated_counter("device_bytes"), 10);
  EXPECT_EQ(simulated_counter("nonsense"), -1);
  EXPECT_EQ(cuStreamDestroy_v2(stream), ok);
  EXPECT_EQ(cuEventDestroy_v2(event), ok);
  EXPECT_EQ(cuMemFree_v2(memory), ok);
  EXPECT_EQ(simulated_counter("streams"), 0);
  EXPECT_EQ(simulated_counter("events"), 0);
  EXPECT_EQ(simulated_counter("allocations"), 0);
}

TEST_F(CudaControl, SynchronisationsAreCounted) {
  EXPECT_EQ(cuStreamSynchronize(nullptr), ok);
  EXPECT_EQ(cuEventSynchronize(new_event()), ok);
  EXPECT_EQ(simulated_counter("host_synchronizations"), 2);
  EXPECT_EQ(simulated_counter("device_synchronizations"), 0);
  EXPECT_EQ(cuCtxSynchronize(), ok);
  EXPECT_EQ(simulated_counter("host_synchronizations"), 3);
  EXPECT_EQ(simulated_counter("device_synchronizations"), 1);
}

TEST_F(CudaControl, PeekAndPokeAccessMemoryDirectly) {
  auto const memory = new_memory(4);
  std::uint32_t const written = 0x01020304;
  std::uint32_t value = 0;
  EXPECT_EQ(simulated_poke(at(memory), &written, 4), 0);
  EXPECT_EQ(simulated_peek(at(memory), &value, 4), 0);
  EXPECT_EQ(value, written);
  EXPECT_NE(simulated_peek(at(memory + 1), &value, 4), 0);
  EXPECT_NE(simulated_peek(&value, &value, 4), 0);
}

TEST_F(CudaControl, ErrorCodesHaveNamesAndDescriptions) {
  char const* text = nullptr;
  EXPECT_EQ(cuGetErrorName(709, &text), ok);
  EXPECT_STREQ(text, "CUDA_ERROR_CONTEXT_IS_DESTROYED");
  EXPECT_EQ(cuGetErrorString(2, &text), ok);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(12345, &text), invalid_value);
  EXPECT_EQ(text, nullptr);
}

TEST_F(CudaControl, DevicesHaveNamesAndAttributes) {
  char name[64] = "";
  EXPECT_EQ(cuDeviceGetName(name, sizeof name, 1), ok);
  EXPECT_STREQ(name, "Simulated CUDA device 1");
  int value = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&value, 41, 0), ok);
  EXPECT_EQ(value, 1);
}

}  // namespace

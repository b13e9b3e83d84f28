// SPDX-License-Identifier: BSD-3-Clause
// The driver is loaded by other code while a function looks it up. A dl_iterate_phdr of this
// program loads it in the second lookup of a call, at which another thread could. A dlopen of this
// program finds no driver by its name alone, so drivers that the machine has are not loaded.
#include <dlbridge/build.hpp>
#include <dlbridge/runtime.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace {

using iterate = int(int (*)(dl_phdr_info*, std::size_t, void*), void*);
using open_library = void*(char const*, int);

bool is_armed = false;
int lookups = 0;

using dlbridge::device;
using dlbridge::errc;
using dlbridge::managed_tensor;
using dlbridge::report;
using dlbridge::stream_ref;

struct drivers : ::testing::TestWithParam<device> {
  device gpu = GetParam();
  bool is_cuda = gpu.type == kDLCUDA;
  char const* file = is_cuda ? CUDA : HIP;

  bool is_found() const {
    return is_cuda ? dlbridge::cuda() != nullptr : dlbridge::hip() != nullptr;
  }
  report order() const {
    return dlbridge::try_order_after(stream_ref::default_of(gpu),
                                     stream_ref::default_of(device(gpu.type, 1)));
  }
  long waits() const {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    auto const count =
        reinterpret_cast<long (*)(char const*)>(dlsym(library, "simulated_call_count"));
    return count(is_cuda ? "cuStreamWaitEvent" : "hipStreamWaitEvent");
  }
};

char const* file_to_load = nullptr;

TEST_P(drivers, EitherTheFunctionRunsOrTheReportStatesThatThereIsNoDriver) {
  if (is_found()) {
    GTEST_SKIP() << "the driver is already loaded";
  }
  file_to_load = file;
  lookups = 0;
  is_armed = true;
  report const status = order();
  is_armed = false;
  EXPECT_EQ(status.ok(), waits() > 0) << "success without a call of the driver";
  EXPECT_TRUE(status.ok() || status.has(errc::runtime_missing));
  EXPECT_TRUE(order().ok()) << "the next call finds the driver";
  EXPECT_GT(waits(), 0);
}

TEST_P(drivers, LaterCallsDoNotSearchForTheDriverAgain) {
  static_cast<void>(waits());  // loads the driver, unless the other test has done so
  ASSERT_TRUE(is_found());
  lookups = 0;
  EXPECT_TRUE(is_found());
  EXPECT_EQ(lookups, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, drivers, ::testing::Values(device(kDLCUDA, 0), device(kDLROCM, 0)),
                         [](auto const& each) {
                           return each.param.type == kDLCUDA ? "cuda" : "hip";
                         });

}  // namespace

// These replace the functions of the C library for the whole program.
extern "C" void* dlopen(char const* name, int mode) noexcept {
  static auto* const original = reinterpret_cast<open_library*>(dlsym(RTLD_NEXT, "dlopen"));
  bool const is_path = name == nullptr || std::strchr(name, '/') != nullptr;
  return is_path ? original(name, mode) : nullptr;
}

extern "C" int dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) {
  static auto* const original = reinterpret_cast<iterate*>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  ++lookups;
  if (is_armed && lookups == 2) {
    is_armed = false;
    dlopen(file_to_load, RTLD_NOW | RTLD_LOCAL);
  }
  return original(visit, data);
}

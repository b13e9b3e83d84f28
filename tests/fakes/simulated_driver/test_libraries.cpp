// SPDX-License-Identifier: BSD-3-Clause
// The libraries as their user opens them: by file name and symbol, both in one process, and the old
// one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

std::string const folder = SIMULATED_DRIVERS;
std::string const old_folder = SIMULATED_DRIVERS_OLD;

class library {
 public:
  explicit library(std::string const& path) : handle_(dlopen(path.c_str(), RTLD_NOW)) {}
  bool is_loaded() const { return handle_ != nullptr; }
  bool has(char const* name) const { return dlsym(handle_, name) != nullptr; }
  template <class Function>
  Function find(char const* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }
  template <class... Arguments>
  int call(char const* name, Arguments... arguments) const {
    return find<int (*)(Arguments...)>(name)(arguments...);
  }

 private:
  void* handle_;
};

TEST(Libraries, BothDriversInOneProcessHaveSeparateStates) {
  library const cuda(folder + "/libcuda.so.1");
  library const hip(folder + "/libamdhip64.so.6");
  ASSERT_TRUE(cuda.is_loaded() && hip.is_loaded());
  void* stream = nullptr;
  ASSERT_EQ(hip.call("hipStreamCreateWithFlags", &stream, 1U), 0);
  EXPECT_EQ(hip.call("simulated_counter", "streams"), 1);
  EXPECT_EQ(cuda.call("simulated_counter", "streams"), 0);
  EXPECT_EQ(hip.call("simulated_call_count", "hipStreamCreateWithFlags"), 1);
  EXPECT_EQ(cuda.call("simulated_call_count", "hipStreamCreateWithFlags"), -1);
  void* context = nullptr;
  ASSERT_EQ(cuda.call("cuInit", 0U), 0);
  ASSERT_EQ(cuda.call("cuDevicePrimaryCtxRetain", &context, 0), 0);
  ASSERT_EQ(cuda.call("cuCtxSetCurrent", context), 0);
  EXPECT_EQ(cuda.call("cuStreamSynchronize", stream), 400)
      << "the stream belongs to the other driver";
}

// Constructed before any library is opened, so destroyed after all libraries have ended.
struct last_call {
  int (*function)(int*) = nullptr;
  ~last_call() {
    int version = 0;
    if (function != nullptr) {
      std::_Exit(function(&version));
    }
  }
} last;

TEST(LibrariesDeathTest, CallsAfterProcessExitFail) {
  auto const end = [] {
    library const cuda(folder + "/libcuda.so.1");
    last.function = cuda.find<int (*)(int*)>("cuDriverGetVersion");
    std::exit(0);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(4), "");
}

TEST(Libraries, OldDriverLacksNewFunctions) {
  library const cuda(old_folder + "/libcuda.so.1");
  ASSERT_TRUE(cuda.is_loaded());
  EXPECT_TRUE(cuda.has("cuMemAlloc_v2"));
  EXPECT_TRUE(cuda.has("cuLaunchHostFunc"));
  for (char const* const name : {"cuStreamIsCapturing", "cuStreamGetCaptureInfo_v2",
                                 "cuMemAllocAsync", "cuMemFreeAsync", "cuStreamBeginCapture_v2"}) {
    EXPECT_FALSE(cuda.has(name)) << name;
    EXPECT_EQ(cuda.call("simulated_call_count", name), -1) << name;
  }
}

TEST(Libraries, OnlyTheExactNamesExist) {
  library const cuda(folder + "/libcuda.so.1");
  for (char const* const name : {"cuMemAlloc", "cuMemFree", "cuCtxPushCurrent", "cuCtxPopCurrent",
                                 "cuStreamDestroy", "cuEventDestroy", "cuMemcpyHtoDAsync",
                                 "cuStreamSynchronize_ptsz", "cuDevicePrimaryCtxRelease"}) {
    EXPECT_FALSE(cuda.has(name)) << name;
  }
}

TEST(Libraries, OnlyTheInterfaceIsExported) {
  library const cuda(folder + "/libcuda.so.1");
  EXPECT_FALSE(cuda.has("_ZN9simulated6driver3getEv"));
}

}  // namespace

// simulated_runtime: the simulated driver of CUDA or ROCm, as the tests of both call it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulated.h"

/// The library of one driver: its control functions, and driver functions that only tests call.
struct simulated_library {
  void* handle;

  template <class Function>
  Function* find(char const* name) const {
    void* const address = handle != nullptr ? dlsym(handle, name) : nullptr;
    EXPECT_NE(address, nullptr) << name;
    return reinterpret_cast<Function*>(address);
  }
};

/// One runtime whose driver is simulated. The loader finds the driver like a real one.
class simulated_runtime {
  // Returns null for a real driver.
  static void* open(char const* file) {
    void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return handle != nullptr && dlsym(handle, "simulated_reset") != nullptr ? handle : nullptr;
  }

  dlbridge::runtime_kind kind_;
  simulated_library library_{
      open(kind_ == dlbridge::runtime_kind::cuda ? "libcuda.so.1" : "libamdhip64.so.6")};
  explicit simulated_runtime(dlbridge::runtime_kind kind) : kind_(kind) {}

  template <class Function>
  Function* find(char const* control) const {
    return is_loaded() ? library_.find<Function>((std::string("simulated_") + control).c_str())
                       : nullptr;
  }
  void restore(std::uintptr_t previous) {
    if (is_cuda()) {
      EXPECT_EQ(call<int(void*)>("cuCtxSetCurrent", "")(reinterpret_cast<void*>(previous)), 0);
    } else {
      use(static_cast<int>(previous));
    }
  }

 public:
  static simulated_runtime& of(dlbridge::runtime_kind kind) {
    static simulated_runtime cuda(dlbridge::runtime_kind::cuda);
    static simulated_runtime hip(dlbridge::runtime_kind::hip);
    return kind == dlbridge::runtime_kind::cuda ? cuda : hip;
  }

  bool is_loaded() const { return library_.handle != nullptr; }
  bool is_cuda() const { return kind_ == dlbridge::runtime_kind::cuda; }
  /// The device with an ordinal, and the device of pinned memory.
  dlbridge::device device(int ordinal = 0) const {
    return dlbridge::device(is_cuda() ? kDLCUDA : kDLROCM, ordinal);
  }
  dlbridge::device pinned() const {
    return dlbridge::device(is_cuda() ? kDLCUDAHost : kDLROCMHost, 0);
  }
  /// The name of a function in this driver.
  std::string name(char const* cuda_name, char const* hip_name) const {
    return is_cuda() ? cuda_name : hip_name;
  }

#define CONTROL(name) decltype(&simulated_##name) name = find<decltype(simulated_##name)>(#name)
  CONTROL(write);
  CONTROL(copy);
  CONTROL(read);
  CONTROL(peek);
  CONTROL(poke);
  CONTROL(pending_count);
  CONTROL(run_pending);
  CONTROL(race_count);
  CONTROL(race_report);
  CONTROL(clear_races);
  CONTROL(misuse_count);
  CONTROL(misuse_report);
  CONTROL(clear_misuses);
  CONTROL(fail_call);
  CONTROL(fail_function);
  CONTROL(clear_failures);
  CONTROL(call_count);
  CONTROL(reset_call_counts);
  CONTROL(function_name);
  CONTROL(counter);
  CONTROL(set_memory_limit);
  CONTROL(graph_node_count);
  CONTROL(reset);
#undef CONTROL

  /// Resets the driver to its state at the start of a process, and makes device 0 current.
  void begin() {
    reset();
    ASSERT_EQ(call<int(unsigned)>("cuInit", "hipInit")(0), 0);
    contexts_.clear();
    use(0);
  }
  /// Makes a device current on this thread.
  void use(int ordinal) {
    if (is_cuda()) {
      ASSERT_EQ(call<int(void*)>("cuCtxSetCurrent", "")(context(ordinal)), 0);
    } else {
      ASSERT_EQ(call<int(int)>("", "hipSetDevice")(ordinal), 0);
    }
  }
  /// The primary context of a CUDA device.
  void* context(int ordinal) {
    auto const index = static_cast<std::size_t>(ordinal);
    while (contexts_.size() <= index) {
      contexts_.push_back(nullptr);
    }
    void*& context = contexts_[index];
    if (context == nullptr) {
      EXPECT_EQ(call<int(void**, int)>("cuDevicePrimaryCtxRetain", "")(&context, ordinal), 0);
    }
    return context;
  }
  /// The current context (CUDA) or device (HIP) of this thread.
  std::uintptr_t current() {
    if (is_cuda()) {
      void* context = nullptr;
      EXPECT_EQ(call<int(void**)>("cuCtxGetCurrent", "")(&context), 0);
      return reinterpret_cast<std::uintptr_t>(context);
    }
    int ordinal = -1;
    EXPECT_EQ(call<int(int*)>("", "hipGetDevice")(&ordinal), 0);
    return static_cast<std::uintptr_t>(ordinal);
  }

  /// Creates a stream of a device. flags: 0 for a blocking stream, 1 for a non-blocking one.
  dlbridge::stream_ref new_stream(int ordinal = 0, unsigned flags = 1) {
    std::uintptr_t const previous = current();
    use(ordinal);
    dlbridge::stream_ref const stream = new_stream_in_current_context(ordinal, flags);
    restore(previous);
    return stream;
  }
  /// Creates a stream in the current context, which belongs to the device.
  dlbridge::stream_ref new_stream_in_current_context(int ordinal = 0, unsigned flags = 1) {
    void* handle = nullptr;
    auto* const create = call<int(void**, unsigned)>("cuStreamCreate", "hipStreamCreateWithFlags");
    EXPECT_EQ(create(&handle, flags), 0);
    return dlbridge::stream_ref(device(ordinal), handle);
  }
  void destroy(dlbridge::stream_ref stream) {
    EXPECT_EQ(call<int(void*)>("cuStreamDestroy_v2", "hipStreamDestroy")(stream.native_handle()),
              0);
  }
  unsigned char* new_memory(std::size_t bytes, int ordinal = 0) {
    std::uintptr_t const previous = current();
    use(ordinal);
    void* memory = nullptr;
    EXPECT_EQ((call<int(void**, std::size_t)>("cuMemAlloc_v2", "hipMalloc")(&memory, bytes)), 0);
    restore(previous);
    return static_cast<unsigned char*>(memory);
  }
  void synchronize(dlbridge::stream_ref stream) {
    EXPECT_EQ(
        call<int(void*)>("cuStreamSynchronize", "hipStreamSynchronize")(stream.native_handle()), 0);
  }
  /// Begins the capture of a stream. mode: 0 forbids unsafe calls on all threads (global), 1 on
  /// this thread (thread-local).
  void begin_capture(dlbridge::stream_ref stream, int mode = 1) {
    EXPECT_EQ((call<int(void*, int)>("cuStreamBeginCapture_v2", "hipStreamBeginCapture")(
                  stream.native_handle(), mode)),
              0);
  }
  /// Ends the capture of a stream. Returns the number of nodes of the graph, or -1 if the capture
  /// was invalidated.
  long end_capture(dlbridge::stream_ref stream) {
    void* graph = nullptr;
    int const result = call<int(void*, void**)>("cuStreamEndCapture", "hipStreamEndCapture")(
        stream.native_handle(), &graph);
    graph_ = graph;
    return result == 0 ? graph_node_count(graph) : -1;
  }
  /// Launches the graph that end_capture has returned. Instantiating it reports nodes that access
  /// the same memory without an edge.
  void launch_captured(dlbridge::stream_ref stream) {
    void* executable = nullptr;
    EXPECT_EQ(
        (call<int(void**, void*, unsigned long long)>(
            "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags")(&executable, graph_, 0)),
        0);
    EXPECT_EQ((call<int(void*, void*)>("cuGraphLaunch", "hipGraphLaunch")(executable,
                                                                          stream.native_handle())),
              0);
  }

  std::vector<unsigned char> bytes_at(void const* address, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    EXPECT_EQ(peek(address, bytes.data(), count), 0);
    return bytes;
  }
  /// All race reports, one a line.
  std::string race_reports() { return join(race_count(), race_report); }
  /// All reports of uses of destroyed handles, one a line.
  std::string misuse_reports() { return join(misuse_count(), misuse_report); }
  /// The number of calls of a function.
  long calls_of(char const* cuda_name, char const* hip_name) {
    return call_count(name(cuda_name, hip_name).c_str());
  }
  /// Makes every call of a function fail.
  int fail(char const* cuda_name, char const* hip_name, int code) {
    return fail_function(name(cuda_name, hip_name).c_str(), code);
  }

  template <class Function>
  Function* call(char const* cuda_name, char const* hip_name) const {
    return library_.find<Function>(is_cuda() ? cuda_name : hip_name);
  }

 private:
  template <class Report>
  static std::string join(std::size_t count, Report report) {
    std::string reports;
    for (std::size_t i = 0; i < count; ++i) {
      char text[400];
      report(i, text, sizeof text);
      reports += std::string(text) + "\n";
    }
    return reports;
  }
  std::vector<void*> contexts_;
  void* graph_ = nullptr;
};

/// A test that runs on each runtime. After the test, it checks that the current context is the same
/// as before, and that the driver has reported no race and no use of a destroyed handle.
class EachRuntimeTest : public ::testing::TestWithParam<dlbridge::runtime_kind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(runtime.is_loaded()) << "LD_LIBRARY_PATH does not contain the simulated driver";
    begin();
  }
  void TearDown() override {
    if (runtime.is_loaded()) {
      EXPECT_EQ(runtime.current(), current_at_start_) << "the current context has changed";
      if (!runtime.is_cuda()) {
        EXPECT_EQ(runtime.call<int()>("", "hipGetLastError")(), 0) << "an error was not cleared";
      }
      runtime.run_pending();
      EXPECT_EQ(runtime.race_reports(), "");
      EXPECT_EQ(runtime.misuse_reports(), "");
    }
  }

  void begin() {
    runtime.begin();
    current_at_start_ = runtime.current();
  }

  simulated_runtime& runtime = simulated_runtime::of(GetParam());

 private:
  std::uintptr_t current_at_start_ = 0;
};

inline std::string runtime_name(::testing::TestParamInfo<dlbridge::runtime_kind> const& info) {
  return info.param == dlbridge::runtime_kind::cuda ? "cuda" : "hip";
}

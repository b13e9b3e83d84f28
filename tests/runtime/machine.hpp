// A machine with simulated devices, of CUDA or of ROCm: what the tests of both do by the same
// words.
#pragma once

#include <dlbridge/runtime.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulated.h"

/// The control functions of one driver, and those of its functions that only tests call.
struct simulated_library {
  void* handle;

  template <class Function>
  Function* find(char const* name) const {
    void* const found = handle != nullptr ? dlsym(handle, name) : nullptr;
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }
};

/// A runtime that is simulated: its driver is found as a real one would be.
class machine {
  // Another driver than a simulated one is none of these tests'.
  static void* open(char const* file) {
    void* const found = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return found != nullptr && dlsym(found, "simulated_reset") != nullptr ? found : nullptr;
  }

  dlbridge::runtime_kind kind_;
  simulated_library library_{
      open(kind_ == dlbridge::runtime_kind::cuda ? "libcuda.so.1" : "libamdhip64.so.6")};
  explicit machine(dlbridge::runtime_kind kind) : kind_(kind) {}

  template <class Function>
  Function* find(char const* control) const {
    return is_here() ? library_.find<Function>((std::string("simulated_") + control).c_str())
                     : nullptr;
  }
  void put_back(std::uintptr_t before) {
    if (is_cuda()) {
      EXPECT_EQ(call<int(void*)>("cuCtxSetCurrent", "")(reinterpret_cast<void*>(before)), 0);
    } else {
      use(static_cast<int>(before));
    }
  }

 public:
  static machine& of(dlbridge::runtime_kind kind) {
    static machine cuda(dlbridge::runtime_kind::cuda);
    static machine hip(dlbridge::runtime_kind::hip);
    return kind == dlbridge::runtime_kind::cuda ? cuda : hip;
  }

  bool is_here() const { return library_.handle != nullptr; }
  bool is_cuda() const { return kind_ == dlbridge::runtime_kind::cuda; }
  /// Its n-th device, and the type of its pinned memory.
  dlbridge::device device(int ordinal = 0) const {
    return dlbridge::device(is_cuda() ? kDLCUDA : kDLROCM, ordinal);
  }
  dlbridge::device pinned() const {
    return dlbridge::device(is_cuda() ? kDLCUDAHost : kDLROCMHost, 0);
  }
  /// A function's name in this driver.
  std::string name(char const* of_cuda, char const* of_hip) const {
    return is_cuda() ? of_cuda : of_hip;
  }

#define CONTROL(name) decltype(&simulated_##name) name = find<decltype(simulated_##name)>(#name)
  CONTROL(write);
  CONTROL(copy);
  CONTROL(read);
  CONTROL(peek);
  CONTROL(poke);
  CONTROL(pending);
  CONTROL(drain);
  CONTROL(race_count);
  CONTROL(race);
  CONTROL(forget_races);
  CONTROL(fail_call);
  CONTROL(fail_function);
  CONTROL(stop_failing);
  CONTROL(calls);
  CONTROL(forget_calls);
  CONTROL(function_name);
  CONTROL(counter);
  CONTROL(set_memory_limit);
  CONTROL(graph_works);
  CONTROL(reset);
#undef CONTROL

  /// As when a process has begun, and device 0 is what this thread works with.
  void begin() {
    reset();
    ASSERT_EQ(call<int(unsigned)>("cuInit", "hipInit")(0), 0);
    contexts_.clear();
    use(0);
  }
  /// Makes a device the current one.
  void use(int ordinal) {
    if (is_cuda()) {
      ASSERT_EQ(call<int(void*)>("cuCtxSetCurrent", "")(context(ordinal)), 0);
    } else {
      ASSERT_EQ(call<int(int)>("", "hipSetDevice")(ordinal), 0);
    }
  }
  /// The primary context of a device of CUDA.
  void* context(int ordinal) {
    for (; contexts_.size() <= static_cast<std::size_t>(ordinal); contexts_.push_back(nullptr)) {
    }
    void*& found = contexts_[static_cast<std::size_t>(ordinal)];
    if (found == nullptr) {
      EXPECT_EQ(call<int(void**, int)>("cuDevicePrimaryCtxRetain", "")(&found, ordinal), 0);
    }
    return found;
  }
  /// What is current on this thread: a context, or a device.
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

  /// Of flag 0 it is in order with the default stream.
  dlbridge::stream_ref new_stream(int ordinal = 0, unsigned flags = 1) {
    std::uintptr_t const before = current();
    use(ordinal);
    dlbridge::stream_ref const made = new_stream_here(ordinal, flags);
    put_back(before);
    return made;
  }
  /// In what is current, which is of this device.
  dlbridge::stream_ref new_stream_here(int ordinal = 0, unsigned flags = 1) {
    void* made = nullptr;
    auto* const create = call<int(void**, unsigned)>("cuStreamCreate", "hipStreamCreateWithFlags");
    EXPECT_EQ(create(&made, flags), 0);
    return dlbridge::stream_ref(device(ordinal), made);
  }
  void destroy(dlbridge::stream_ref stream) {
    EXPECT_EQ(call<int(void*)>("cuStreamDestroy_v2", "hipStreamDestroy")(stream.native_handle()),
              0);
  }
  unsigned char* new_memory(std::size_t bytes, int ordinal = 0) {
    std::uintptr_t const before = current();
    use(ordinal);
    void* made = nullptr;
    EXPECT_EQ((call<int(void**, std::size_t)>("cuMemAlloc_v2", "hipMalloc")(&made, bytes)), 0);
    put_back(before);
    return static_cast<unsigned char*>(made);
  }
  void synchronize(dlbridge::stream_ref stream) {
    EXPECT_EQ(
        call<int(void*)>("cuStreamSynchronize", "hipStreamSynchronize")(stream.native_handle()), 0);
  }
  /// Captures what is enqueued on a stream from here on. The mode says to whom unsafe calls are
  /// forbidden: 0 to everybody, 1 to this thread.
  void begin_capture(dlbridge::stream_ref stream, int mode = 1) {
    EXPECT_EQ((call<int(void*, int)>("cuStreamBeginCapture_v2", "hipStreamBeginCapture")(
                  stream.native_handle(), mode)),
              0);
  }
  /// How many works were captured; -1 when the capture was broken.
  long end_capture(dlbridge::stream_ref stream) {
    void* graph = nullptr;
    int const result = call<int(void*, void**)>("cuStreamEndCapture", "hipStreamEndCapture")(
        stream.native_handle(), &graph);
    return result == 0 ? graph_works(graph) : -1;
  }

  std::vector<unsigned char> bytes_at(void const* address, std::size_t count) {
    std::vector<unsigned char> found(count);
    EXPECT_EQ(peek(address, found.data(), count), 0);
    return found;
  }
  std::string races() {
    std::string all;
    for (std::size_t i = 0; i < race_count(); ++i) {
      char text[400];
      race(i, text, sizeof text);
      all += std::string(text) + "\n";
    }
    return all;
  }
  long called(char const* of_cuda, char const* of_hip) {
    return calls(name(of_cuda, of_hip).c_str());
  }
  int fail(char const* of_cuda, char const* of_hip, int code) {
    return fail_function(name(of_cuda, of_hip).c_str(), code);
  }

  template <class Function>
  Function* call(char const* of_cuda, char const* of_hip) const {
    return library_.find<Function>(is_cuda() ? of_cuda : of_hip);
  }

 private:
  std::vector<void*> contexts_;
};

/// A test that is run on each runtime. What is current, and whether anything raced, is looked at
/// after each of them.
class OnEachRuntime : public ::testing::TestWithParam<dlbridge::runtime_kind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(m.is_here()) << "LD_LIBRARY_PATH does not lead to the simulated driver";
    begin();
  }
  void TearDown() override {
    if (m.is_here()) {
      EXPECT_EQ(m.current(), before_) << "what was current is so no more";
      if (!m.is_cuda()) {
        EXPECT_EQ(m.call<int()>("", "hipGetLastError")(), 0) << "our failures are left to others";
      }
      m.drain();
      EXPECT_EQ(m.races(), "");
    }
  }

  void begin() {
    m.begin();
    before_ = m.current();
  }

  machine& m = machine::of(GetParam());

 private:
  std::uintptr_t before_ = 0;
};

inline std::string runtime_name(::testing::TestParamInfo<dlbridge::runtime_kind> const& info) {
  return info.param == dlbridge::runtime_kind::cuda ? "cuda" : "hip";
}

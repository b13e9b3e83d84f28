// SPDX-License-Identifier: BSD-3-Clause
// driver.hpp: a table is complete or reports the missing function; the report of a failed call has
// the name of the function, the error and advice.
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>

#include "simulated_runtime.hpp"

namespace {

using dlbridge::cuda_table;
using dlbridge::driver_function;
using dlbridge::driver_source;
using dlbridge::errc;
using dlbridge::hip_table;
using dlbridge::library_names;
using dlbridge::message;
using dlbridge::report;
using dlbridge::runtime_kind;
using dlbridge::detail::loaded_driver;

// Frees the memory that the simulated drivers hold until the process ends, which a leak checker
// would report.
class ResetAtExit : public ::testing::Environment {
  void TearDown() override {
    for (runtime_kind const kind : {runtime_kind::cuda, runtime_kind::hip}) {
      if (simulated_runtime::of(kind).is_loaded()) {
        simulated_runtime::of(kind).reset();
      }
    }
  }
};
::testing::Environment* const reset_at_exit = ::testing::AddGlobalTestEnvironment(new ResetAtExit);

static_assert(std::is_trivially_destructible_v<cuda_table>,
              "exit handlers of the process may use it");
static_assert(std::is_trivially_destructible_v<hip_table>);
static_assert(!std::is_copy_constructible_v<dlbridge::context_guard<cuda_table>>);
static_assert(!std::is_copy_constructible_v<dlbridge::context_guard<hip_table>>);

// Loads a driver. The simulated CUDA driver is loaded first: the older one has the same file name.
template <class Table>
loaded_driver<Table> load(char const* file) {
  EXPECT_TRUE(simulated_runtime::of(runtime_kind::cuda).is_loaded());
  char const* const files[] = {file};
  return loaded_driver<Table>(library_names{"libdlbridge_nowhere", files, 1, "Install it"});
}

std::string text_of(report const& status) { return message(status).c_str(); }

TEST(Driver, CudaIsFoundWithAllFunctions) {
  simulated_runtime::of(runtime_kind::cuda).begin();
  ASSERT_NE(dlbridge::cuda(), nullptr) << text_of(dlbridge::cuda_status());
  EXPECT_TRUE(dlbridge::cuda_status().ok());
  EXPECT_EQ(dlbridge::cuda(), dlbridge::cuda()) << "the driver is looked up once";
  EXPECT_EQ(dlbridge::cuda()->missing(), nullptr);
  int devices = 0;
  EXPECT_EQ(dlbridge::cuda()->device_get_count(&devices), 0);
  EXPECT_EQ(devices, 2);
}

TEST(Driver, HipIsFoundWithAllFunctions) {
  simulated_runtime::of(runtime_kind::hip).begin();
  ASSERT_NE(dlbridge::hip(), nullptr) << text_of(dlbridge::hip_status());
  EXPECT_TRUE(dlbridge::hip_status().ok());
  EXPECT_EQ(dlbridge::hip()->missing(), nullptr);
}

TEST(Driver, OlderDriverLacksOnlyOptionalFunctions) {
  auto const older = load<cuda_table>(OLDER_CUDA);
  EXPECT_TRUE(older.status.ok()) << text_of(older.status);
  EXPECT_FALSE(older.table.stream_is_capturing);
  EXPECT_FALSE(older.table.memory_allocate_async);
  EXPECT_TRUE(older.table.copy_async);
  void* memory = nullptr;
  void* const stream = nullptr;
  report const status =
      try_call(older.table, older.table.memory_allocate_async, &memory, std::size_t{8}, stream);
  EXPECT_EQ(text_of(status), std::string("device runtime not found: expected cuMemAllocAsync in ") +
                                 OLDER_CUDA + "; got " + OLDER_CUDA +
                                 " without it. Update the driver");
}

TEST(Driver, OlderDriverOrdersStreams) {
  auto const older = load<cuda_table>(OLDER_CUDA);
  cuda_table const& driver = older.table;
  void* context = nullptr;
  ASSERT_EQ(driver.primary_retain(&context, 0), 0);
  auto* const create =
      reinterpret_cast<int (*)(void**, unsigned)>(driver.library().try_find("cuStreamCreate"));
  void* streams[2] = {};
  ASSERT_EQ(driver.context_push(context), 0);
  ASSERT_EQ(create(&streams[0], 1) + create(&streams[1], 1), 0);
  dlbridge::device const where(kDLCUDA, 0);
  EXPECT_TRUE(try_order_after(driver, dlbridge::stream_ref(where, streams[0]),
                              dlbridge::stream_ref(where, streams[1]))
                  .ok());
  EXPECT_TRUE(try_host_wait(driver, dlbridge::stream_ref(where, streams[0])).ok());
  ASSERT_EQ(driver.context_pop(&context), 0);
  driver.library().try_find("simulated_reset")();
}

TEST(Driver, LibraryWithoutInitIsReportedAsMissing) {
  EXPECT_EQ(text_of(load<cuda_table>(PROBE).status),
            std::string("device runtime not found: expected cuInit in ") + PROBE + "; got " +
                PROBE + " without it. Update the driver");
  EXPECT_EQ(text_of(load<hip_table>(PROBE).status),
            std::string("device runtime not found: expected hipInit in ") + PROBE + "; got " +
                PROBE + " without it. Update the driver");
}

TEST(Driver, MissingDriverHasNoFunctions) {
  auto const missing = load<cuda_table>("libdlbridge_nowhere.so.1");
  EXPECT_TRUE(missing.status.has(errc::runtime_missing));
  EXPECT_FALSE(missing.table.init);
  EXPECT_EQ(missing.table.error_name(1), nullptr);
}

// Runs in a separate process: the other tests load the driver at the start.
TEST(Late, DriverIsFoundAfterOtherCodeHasLoadedIt) {
  if (std::getenv("DLBRIDGE_LATE") == nullptr || dlbridge::cuda() != nullptr) {
    GTEST_SKIP() << "the driver is already loaded";
  }
  EXPECT_TRUE(dlbridge::cuda_status().has(errc::runtime_missing));
  ASSERT_NE(dlopen(CUDA, RTLD_NOW | RTLD_LOCAL), nullptr);
  ASSERT_NE(dlbridge::cuda(), nullptr) << text_of(dlbridge::cuda_status());
  EXPECT_TRUE(dlbridge::cuda_status().ok());
  EXPECT_EQ(dlbridge::cuda(), dlbridge::cuda());
}

// Runs in a separate process, as the test above.
TEST(StartedLater, DriverIsStartedAgainAfterAFailure) {
  if (std::getenv("DLBRIDGE_LATE") == nullptr) {
    GTEST_SKIP() << "the driver is already started";
  }
  for (runtime_kind const kind : {runtime_kind::cuda, runtime_kind::hip}) {
    auto& runtime = simulated_runtime::of(kind);
    ASSERT_TRUE(runtime.is_loaded());
    auto const is_found = [&] {
      return runtime.is_cuda() ? dlbridge::cuda() != nullptr : dlbridge::hip() != nullptr;
    };
    auto const status = [&] {
      return runtime.is_cuda() ? dlbridge::cuda_status() : dlbridge::hip_status();
    };
    auto const starts = [&] { return runtime.calls_of("cuInit", "hipInit"); };
    runtime.fail("cuInit", "hipInit", 802);  // its services are starting
    EXPECT_FALSE(is_found());
    EXPECT_FALSE(is_found());
    EXPECT_NE(text_of(status()).find("(802)"), std::string::npos) << text_of(status());
    runtime.clear_failures();
    EXPECT_TRUE(is_found());
    EXPECT_TRUE(status().ok());
    long const calls = starts();
    EXPECT_TRUE(is_found());
    EXPECT_TRUE(dlbridge::try_host_wait(dlbridge::stream_ref::default_of(runtime.device())).ok());
    EXPECT_EQ(starts(), calls) << "the driver has started";
  }
}

TEST(Driver, DriverWithoutADeviceIsReported) {
  char const* const devices = std::getenv("SIMULATED_DEVICES");
  if (devices == nullptr || std::string(devices) != "0") {
    GTEST_SKIP() << "the simulated driver has devices";
  }
  EXPECT_EQ(dlbridge::cuda(), nullptr);
  EXPECT_EQ(dlbridge::hip(), nullptr);
  std::string const advice =
      ". The driver is installed but finds no device. Provide a device, or use memory that the CPU "
      "can access";
  for (std::string const& text :
       {text_of(dlbridge::cuda_status()), text_of(dlbridge::hip_status())}) {
    EXPECT_NE(text.find("Init to succeed; got "), std::string::npos) << text;
    EXPECT_NE(text.find(advice), std::string::npos) << text;
  }
  EXPECT_TRUE(dlbridge::try_host_wait(dlbridge::stream_ref::default_of({kDLCUDA, 0}))
                  .has(errc::runtime_failed));
}

TEST(Driver, ErrorCodesMapToReasonsAndAdvice) {
  simulated_runtime::of(runtime_kind::cuda).begin();
  struct expectation {
    int code;
    errc reason;
    char const* advice;
  };
  constexpr expectation expectations[] = {
      {2, errc::out_of_memory, "Free device memory, or transfer the tensor in smaller pieces"},
      {4, errc::runtime_failed,
       "A forked process, or one that is exiting, cannot use the runtime; start a new process"},
      {101, errc::runtime_failed, "Pass a device that the runtime has; ordinals start at 0"},
      {400, errc::runtime_failed,
       "A stream must belong to this runtime, and must exist until the call returns"},
      {34, errc::runtime_failed,
       "The library is a stub for linking: remove its folder from the search path of libraries"},
      {36, errc::runtime_failed, "Update the driver"},
      {46, errc::runtime_failed,
       "Another process has the device for itself, or its compute mode prohibits use: see "
       "nvidia-smi -q -d COMPUTE"},
      {802, errc::runtime_failed,
       "Start the services that the system needs, such as NVIDIA's fabric manager"},
      {803, errc::runtime_failed,
       "The library and the kernel module of the driver have different versions: restart the "
       "machine after an update, or use the library of the host in a container"},
      {808, errc::runtime_failed,
       "Check the daemon of the Multi-Process Service, nvidia-cuda-mps-control"},
      {719, errc::runtime_failed,
       "An earlier operation on the device may have failed: drivers report such errors late"},
      {901, errc::capturing,
       "Exchange tensors before the capture begins, or pass stream=-1 and order the streams "
       "yourself"},
  };
  for (expectation const& each : expectations) {
    static int code;
    code = each.code;
    driver_function<unsigned> const fails("cuInit", [](unsigned) { return code; });
    report const status = try_call(*dlbridge::cuda(), fails, 0U);
    EXPECT_EQ(status.code(), each.reason) << each.code;
    EXPECT_STREQ(status.advice, each.advice);
    EXPECT_STREQ(status.expected.c_str(), "cuInit to succeed");
    EXPECT_NE(std::string(status.got.c_str()).find("(" + std::to_string(each.code) + ")"),
              std::string::npos)
        << status.got.c_str();
  }
}

TEST(Driver, FailureOfInitializationIsNotBlamedOnEarlierWork) {
  simulated_runtime& runtime = simulated_runtime::of(runtime_kind::cuda);
  runtime.begin();
  for (int const code : {1, 46, 100, 101, 304, 719, 801, 802, 803, 804, 805, 999}) {
    SCOPED_TRACE(code);
    runtime.fail_function("cuInit", code);
    auto const driver = load<cuda_table>(CUDA);
    runtime.clear_failures();
    EXPECT_TRUE(driver.status.has(errc::runtime_failed));
    std::string const text = text_of(driver.status);
    EXPECT_EQ(text.find("An earlier operation"), std::string::npos) << text;
    EXPECT_NE(text.find("(" + std::to_string(code) + ")"), std::string::npos) << text;
    EXPECT_NE(driver.status.advice, nullptr);
  }
}

TEST(Driver, EventsAreCreatedWithoutTiming) {
  simulated_runtime& runtime = simulated_runtime::of(runtime_kind::cuda);
  runtime.begin();
  static unsigned flags;
  flags = 0;
  cuda_table recording = *dlbridge::cuda();  // records the flags of event_create
  recording.event_create =
      driver_function<void**, unsigned>("cuEventCreate", [](void** event, unsigned event_flags) {
        flags = event_flags;
        return dlbridge::cuda()->event_create(event, event_flags);
      });
  void* context = nullptr;  // not a primary context, so it has no pool of events
  auto* const create = runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "");
  ASSERT_EQ(create(&context, 0, 0), 0);
  dlbridge::stream_ref const consumer = runtime.new_stream();
  EXPECT_TRUE(
      try_order_after(recording, consumer, dlbridge::stream_ref::default_of(runtime.device()))
          .ok());
  EXPECT_EQ(flags, 2U);
  EXPECT_EQ(runtime.counter("events"), 0) << "without a pool the event is destroyed";
  runtime.begin();
}

// Runs in a separate process, because the copy stays loaded.
TEST(SecondCopy, OfTheRuntimeIsNamedInTheAdvice) {
  if (std::getenv("DLBRIDGE_LATE") == nullptr) {
    GTEST_SKIP() << "it would change the messages of other tests";
  }
  simulated_runtime& runtime = simulated_runtime::of(runtime_kind::hip);
  runtime.begin();
  ASSERT_NE(dlbridge::hip(), nullptr);
  dlbridge::stream_ref const foreign(runtime.device(), &runtime);  // no stream of the first copy
  auto const advice = [&] { return std::string(dlbridge::try_host_wait(foreign).advice); };
  EXPECT_EQ(advice().find("two copies"), std::string::npos) << advice();
  std::string const copy = ::testing::TempDir() + "libamdhip64-of-a-package.so";
  std::filesystem::copy_file(HIP, copy, std::filesystem::copy_options::overwrite_existing);
  ASSERT_NE(dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  std::filesystem::remove(copy);
  EXPECT_NE(advice().find("two copies of ROCm's runtime"), std::string::npos) << advice();
  runtime.fail("", "hipStreamIsCapturing", 719);
  EXPECT_EQ(advice().find("two copies"), std::string::npos) << "another reason";
}

// For a machine with the real ROCm runtime and without a device. The other tests do not run there.
TEST(RealHip, HasAllFunctionsAndReportsThatThereIsNoDevice) {
  auto const& driver = dlbridge::detail::hip_driver();
  hip_table const& table = driver.table;
  bool const is_real = table.library() && table.library().try_find("simulated_reset") == nullptr;
  if (std::getenv("DLBRIDGE_REQUIRE_HIP") == nullptr && !is_real) {
    GTEST_SKIP() << "the ROCm runtime is not installed";
  }
  ASSERT_TRUE(is_real) << text_of(driver.status);
  EXPECT_EQ(table.missing(), nullptr);
  EXPECT_TRUE(table.stream_is_capturing && table.stream_get_capture_info);
  EXPECT_TRUE(table.memory_allocate_async && table.memory_free_async && table.managed_allocate);
  EXPECT_TRUE(table.exchange_capture_mode && table.get_last_error);
  EXPECT_STREQ(table.error_name(1), "hipErrorInvalidValue");
  int version = 0;
  EXPECT_EQ(table.runtime_get_version(&version), 0);
  EXPECT_GT(version, 50000000);
  if (dlbridge::hip() != nullptr) {
    GTEST_SKIP() << "other tests cover machines with a device";
  }
  std::string const text = text_of(
      dlbridge::try_host_wait(dlbridge::stream_ref::default_of(dlbridge::device(kDLROCM, 0))));
  EXPECT_EQ(text.rfind("device runtime failed: expected hipInit to succeed; got ", 0), 0U) << text;
  EXPECT_NE(text.find("The driver is installed but finds no device"), std::string::npos) << text;
}

}  // namespace

// driver: a table is complete or says what it lacks, and a call that fails says what, why, and what
// to do.
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <type_traits>

#include "machine.hpp"

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

// What the machines still have is theirs until the process ends; here it would be taken for a leak.
class Ending : public ::testing::Environment {
  void TearDown() override {
    for (runtime_kind const kind : {runtime_kind::cuda, runtime_kind::hip}) {
      if (machine::of(kind).is_here()) {
        machine::of(kind).reset();
      }
    }
  }
};
::testing::Environment* const ending = ::testing::AddGlobalTestEnvironment(new Ending);

static_assert(std::is_trivially_destructible_v<cuda_table>, "it outlives every exit handler");
static_assert(std::is_trivially_destructible_v<hip_table>);
static_assert(!std::is_copy_constructible_v<dlbridge::context_guard<cuda_table>>);
static_assert(!std::is_copy_constructible_v<dlbridge::context_guard<hip_table>>);

// After the machine's, whose names the older one has too.
template <class Table>
loaded_driver<Table> load(char const* file) {
  EXPECT_TRUE(machine::of(runtime_kind::cuda).is_here());
  char const* const files[] = {file};
  return loaded_driver<Table>(library_names{"libdlbridge_nowhere", files, 1, "Install it"});
}

std::string text_of(report const& why) { return message(why).c_str(); }

TEST(Driver, OfCudaIsFoundWithAllItsFunctions) {
  machine::of(runtime_kind::cuda).begin();
  ASSERT_NE(dlbridge::cuda(), nullptr) << text_of(dlbridge::why_no_cuda());
  EXPECT_TRUE(dlbridge::why_no_cuda().ok());
  EXPECT_EQ(dlbridge::cuda(), dlbridge::cuda()) << "looked for once";
  EXPECT_EQ(dlbridge::cuda()->missing(), nullptr);
  int devices = 0;
  EXPECT_EQ(dlbridge::cuda()->device_get_count(&devices), 0);
  EXPECT_EQ(devices, 2);
}

TEST(Driver, OfHipIsFoundWithAllItsFunctions) {
  machine::of(runtime_kind::hip).begin();
  ASSERT_NE(dlbridge::hip(), nullptr) << text_of(dlbridge::why_no_hip());
  EXPECT_TRUE(dlbridge::why_no_hip().ok());
  EXPECT_EQ(dlbridge::hip()->missing(), nullptr);
}

TEST(Driver, ThatIsOlderLacksOnlyWhatIsOptional) {
  auto const older = load<cuda_table>(OLDER_CUDA);
  EXPECT_TRUE(older.why.ok()) << text_of(older.why);
  EXPECT_FALSE(older.table.stream_is_capturing);
  EXPECT_FALSE(older.table.memory_allocate_async);
  EXPECT_TRUE(older.table.copy_async);
  void* memory = nullptr;
  void* const stream = nullptr;
  report const why =
      try_call(older.table, older.table.memory_allocate_async, &memory, std::size_t{8}, stream);
  EXPECT_EQ(text_of(why), std::string("device runtime not found: expected cuMemAllocAsync in ") +
                              OLDER_CUDA + "; got " + OLDER_CUDA +
                              " without it. Update the driver");
}

TEST(Driver, ThatIsOlderMakesStreamsWaitToo) {
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

TEST(Driver, ThatIsAnotherLibraryIsNone) {
  EXPECT_EQ(text_of(load<cuda_table>(PROBE).why),
            std::string("device runtime not found: expected cuInit in ") + PROBE + "; got " +
                PROBE + " without it. Update the driver");
  EXPECT_EQ(text_of(load<hip_table>(PROBE).why),
            std::string("device runtime not found: expected hipInit in ") + PROBE + "; got " +
                PROBE + " without it. Update the driver");
}

TEST(Driver, ThatIsMissingHasNoFunctionToCall) {
  auto const none = load<cuda_table>("libdlbridge_nowhere.so.1");
  EXPECT_TRUE(none.why.broke(errc::runtime_missing));
  EXPECT_FALSE(none.table.init);
  EXPECT_EQ(none.table.error_name(1), nullptr);
}

// In a process of its own, as the others have the driver from the beginning.
TEST(Late, DriversAreFoundWhenSomebodyBringsThem) {
  if (std::getenv("DLBRIDGE_LATE") == nullptr || dlbridge::cuda() != nullptr) {
    GTEST_SKIP() << "the driver is here already";
  }
  EXPECT_TRUE(dlbridge::why_no_cuda().broke(errc::runtime_missing));
  ASSERT_NE(dlopen(CUDA, RTLD_NOW | RTLD_LOCAL), nullptr);
  ASSERT_NE(dlbridge::cuda(), nullptr) << text_of(dlbridge::why_no_cuda());
  EXPECT_TRUE(dlbridge::why_no_cuda().ok());
  EXPECT_EQ(dlbridge::cuda(), dlbridge::cuda());
}

TEST(Driver, WithoutADeviceSaysSo) {
  char const* const devices = std::getenv("SIMULATED_DEVICES");
  if (devices == nullptr || std::string(devices) != "0") {
    GTEST_SKIP() << "the simulated machine has devices";
  }
  EXPECT_EQ(dlbridge::cuda(), nullptr);
  EXPECT_EQ(dlbridge::hip(), nullptr);
  std::string const advice =
      ". The driver is here, but sees no device. Give it one, or keep to memory that the CPU can "
      "reach";
  for (std::string const& text :
       {text_of(dlbridge::why_no_cuda()), text_of(dlbridge::why_no_hip())}) {
    EXPECT_NE(text.find("Init to succeed; got "), std::string::npos) << text;
    EXPECT_NE(text.find(advice), std::string::npos) << text;
  }
  EXPECT_TRUE(dlbridge::try_host_wait(dlbridge::stream_ref::default_of({kDLCUDA, 0}))
                  .broke(errc::runtime_failed));
}

TEST(Driver, FailuresAreSortedByWhatCanBeDone) {
  machine::of(runtime_kind::cuda).begin();
  struct sorted {
    int code;
    errc reason;
    char const* advice;
  };
  constexpr sorted all[] = {
      {2, errc::out_of_memory, "Free memory of the device, or take the tensor in parts"},
      {4, errc::runtime_failed,
       "A process that was forked, or that is ending, cannot use the runtime; start it afresh"},
      {101, errc::runtime_failed, "Name a device that the runtime has; they count from 0"},
      {400, errc::runtime_failed,
       "A stream must be one of this runtime, and live until the call returns"},
      {719, errc::runtime_failed,
       "It may be the fault of earlier work on the device, which is reported late"},
      {901, errc::capturing,
       "Hand tensors over before the capture begins, or pass stream=-1 and order the streams "
       "yourself"},
  };
  for (sorted const& each : all) {
    static int code;
    code = each.code;
    driver_function<unsigned> const fails("cuInit", [](unsigned) { return code; });
    report const why = try_call(*dlbridge::cuda(), fails, 0U);
    EXPECT_EQ(why.code(), each.reason) << each.code;
    EXPECT_STREQ(why.advice, each.advice);
    EXPECT_STREQ(why.expected.c_str(), "cuInit to succeed");
    EXPECT_NE(std::string(why.got.c_str()).find("(" + std::to_string(each.code) + ")"),
              std::string::npos)
        << why.got.c_str();
  }
}

TEST(Driver, EventsAreMadeWithTheirTimingOff) {
  machine& m = machine::of(runtime_kind::cuda);
  m.begin();
  static unsigned flags;
  flags = 0;
  cuda_table spied = *dlbridge::cuda();
  spied.event_create =
      driver_function<void**, unsigned>("cuEventCreate", [](void** event, unsigned given) {
        flags = given;
        return dlbridge::cuda()->event_create(event, given);
      });
  void* context = nullptr;  // no device's primary one: nothing is kept for it
  auto* const create = m.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "");
  ASSERT_EQ(create(&context, 0, 0), 0);
  dlbridge::stream_ref const consumer = m.new_stream();
  EXPECT_TRUE(try_order_after(spied, consumer, dlbridge::stream_ref::default_of(m.device())).ok());
  EXPECT_EQ(flags, 2U);
  EXPECT_EQ(m.counter("events"), 0) << "such contexts come and go, and events with them";
  m.begin();
}

// On a machine with ROCm's own runtime, and no device. The ordinary tests do not run beside it.
TEST(RealHip, HasEveryFunctionAndSaysThatThereIsNoDevice) {
  auto const& driver = dlbridge::detail::hip_driver();
  hip_table const& table = driver.table;
  bool const is_real = table.library() && table.library().try_find("simulated_reset") == nullptr;
  if (std::getenv("DLBRIDGE_REQUIRE_HIP") == nullptr && !is_real) {
    GTEST_SKIP() << "ROCm's runtime is not here";
  }
  ASSERT_TRUE(is_real) << text_of(driver.why);
  EXPECT_EQ(table.missing(), nullptr);
  EXPECT_TRUE(table.stream_is_capturing && table.stream_get_capture_info);
  EXPECT_TRUE(table.memory_allocate_async && table.memory_free_async && table.managed_allocate);
  EXPECT_TRUE(table.exchange_capture_mode && table.get_last_error);
  EXPECT_STREQ(table.error_name(1), "hipErrorInvalidValue");
  int version = 0;
  EXPECT_EQ(table.runtime_get_version(&version), 0);
  EXPECT_GT(version, 50000000);
  if (dlbridge::hip() != nullptr) {
    GTEST_SKIP() << "there is a device, for which there are other tests";
  }
  std::string const text = text_of(
      dlbridge::try_host_wait(dlbridge::stream_ref::default_of(dlbridge::device(kDLROCM, 0))));
  EXPECT_EQ(text.rfind("device runtime failed: expected hipInit to succeed; got ", 0), 0U) << text;
  EXPECT_NE(text.find("The driver is here, but sees no device"), std::string::npos) << text;
}

}  // namespace

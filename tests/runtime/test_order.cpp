// SPDX-License-Identifier: BSD-3-Clause
// order.hpp: a consumer's stream waits for a producer's for every pair of streams, and no other
// stream waits.
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/runtime/order.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "../unit/refusal.hpp"
#include "simulated_runtime.hpp"

namespace {

using dlbridge::default_stream;
using dlbridge::device;
using dlbridge::errc;
using dlbridge::host_wait;
using dlbridge::in_current_context;
using dlbridge::message;
using dlbridge::order_after;
using dlbridge::report;
using dlbridge::runtime_kind;
using dlbridge::stream_ref;
using dlbridge::try_host_wait;
using dlbridge::try_order_after;

constexpr std::size_t size = 64;

class Order : public EachRuntimeTest {
 protected:
  /// Writes on producer, orders consumer after it, and copies on consumer. Returns the copy.
  std::vector<unsigned char> write_then_copy(stream_ref consumer, stream_ref producer) {
    auto* const source = runtime.new_memory(size, producer.device().id);
    auto* const target = runtime.new_memory(size, producer.device().id);
    EXPECT_EQ(runtime.write(producer.native_handle(), source, 7, size), 0);
    order_after(consumer, producer);
    EXPECT_EQ(runtime.copy(consumer.native_handle(), target, source, size), 0);
    runtime.run_pending();
    return runtime.bytes_at(target, size);
  }
  template <class Table>
  void order_with(Table const& driver) {
    stream_ref const producer = runtime.new_stream();
    long const waits = wait_calls();
    order_after(driver, runtime.new_stream(), producer);
    EXPECT_EQ(wait_calls(), waits + 1);
    host_wait(driver, producer);
    EXPECT_EQ(runtime.fail("cuStreamSynchronize", "hipStreamSynchronize", 1), 0);
    EXPECT_THROW(host_wait(driver, producer), dlbridge::error);
  }
  long wait_calls() { return runtime.calls_of("cuStreamWaitEvent", "hipStreamWaitEvent"); }
  long record_calls() { return runtime.calls_of("cuEventRecord", "hipEventRecord"); }

  std::vector<unsigned char> const sevens = std::vector<unsigned char>(size, 7);
};

TEST_P(Order, TheCallerMayPassTheDriver) {
  runtime.is_cuda() ? order_with(*dlbridge::cuda()) : order_with(*dlbridge::hip());
}

TEST_P(Order, UnorderedStreamsAreReportedAsARace) {
  auto* const memory = runtime.new_memory(size);
  stream_ref const producer = runtime.new_stream();
  EXPECT_EQ(runtime.write(producer.native_handle(), memory, 7, size), 0);
  EXPECT_EQ(runtime.read(runtime.new_stream().native_handle(), memory, size), 0);
  runtime.run_pending();
  EXPECT_EQ(runtime.race_count(), 1U);
  runtime.clear_races();
}

TEST_P(Order, ConsumerReadsWhatTheProducerWrote) {
  EXPECT_EQ(write_then_copy(runtime.new_stream(), runtime.new_stream()), sevens);
  EXPECT_EQ(runtime.counter("host_synchronizations"), 0);
}

TEST_P(Order, SameStreamNeedsNoEvent) {
  stream_ref const stream = runtime.new_stream();
  EXPECT_EQ(write_then_copy(stream, stream), sevens);
  EXPECT_EQ(record_calls(), 0);
  EXPECT_EQ(wait_calls(), 0);
}

TEST_P(Order, DefaultStreamsAreOrdered) {
  stream_ref const standard = stream_ref::default_of(runtime.device());
  EXPECT_EQ(write_then_copy(runtime.new_stream(), standard), sevens);
  EXPECT_EQ(write_then_copy(standard, runtime.new_stream()), sevens);
  EXPECT_EQ(wait_calls(), 2);
  if (runtime.is_cuda()) {
    stream_ref const per_thread =
        stream_ref::default_of(runtime.device(), default_stream::per_thread);
    EXPECT_EQ(write_then_copy(per_thread, standard), sevens);
    EXPECT_EQ(write_then_copy(runtime.new_stream(), per_thread), sevens);
    EXPECT_EQ(write_then_copy(per_thread, runtime.new_stream()), sevens);
    EXPECT_EQ(wait_calls(), 5);
    stream_ref const null(runtime.device(), static_cast<void*>(nullptr));
    EXPECT_EQ(write_then_copy(null, standard), sevens);
    EXPECT_EQ(wait_calls(), 5) << "null and 1 are handles of the same stream";
  }
  EXPECT_EQ(runtime.counter("host_synchronizations"), 0);
}

TEST_P(Order, StreamsOfTwoDevicesAreOrdered) {
  stream_ref const first = runtime.new_stream(0);
  stream_ref const second = runtime.new_stream(1);
  auto* const memory = runtime.new_memory(size, 1);
  runtime.use(1);
  EXPECT_EQ(runtime.write(second.native_handle(), memory, 7, size), 0);
  runtime.use(0);
  order_after(first, second);
  order_after(runtime.new_stream(1), first);
  stream_ref const third = runtime.new_stream(1);
  order_after(third, first);
  runtime.use(1);
  EXPECT_EQ(runtime.read(third.native_handle(), memory, size), 0);
  runtime.use(0);
  runtime.run_pending();
  EXPECT_EQ(runtime.race_count(), 0U);
  EXPECT_EQ(wait_calls(), 3);
}

TEST_P(Order, DefaultStreamsOfTwoDevicesAreDifferent) {
  order_after(stream_ref::default_of(runtime.device(1)), stream_ref::default_of(runtime.device(0)));
  order_after(stream_ref::default_of(runtime.device(0)), stream_ref::default_of(runtime.device(1)));
  EXPECT_EQ(wait_calls(), 2);
}

TEST_P(Order, DefaultStreamOfADeviceThatIsNotCurrentIsOrdered) {
  stream_ref const stream = runtime.new_stream(1);
  stream_ref const standard = stream_ref::default_of(runtime.device(1));
  auto* const memory = runtime.new_memory(size, 1);
  order_after(runtime.new_stream(1), stream);  // fills the pool of events
  order_after(runtime.new_stream(0), runtime.new_stream(0));
  runtime.use(1);
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 7, size), 0);
  runtime.use(0);
  order_after(standard, stream);
  runtime.use(1);
  EXPECT_EQ(runtime.write(standard.native_handle(), memory, 8, size), 0);
  runtime.use(0);
  stream_ref const consumer = runtime.new_stream(1);
  order_after(consumer, standard);
  runtime.use(1);
  EXPECT_EQ(runtime.read(consumer.native_handle(), memory, size), 0);
  runtime.use(0);
}

TEST_P(Order, CurrentContextOfANewThreadIsUnchanged) {
  stream_ref const consumer = runtime.new_stream(1);
  stream_ref const producer = runtime.new_stream(1);
  std::thread([&] {
    std::uintptr_t const current = runtime.current();
    order_after(consumer, producer);
    order_after(consumer, stream_ref::default_of(runtime.device(1)));
    host_wait(consumer);
    EXPECT_EQ(runtime.current(), current);
  }).join();
  EXPECT_EQ(wait_calls(), 2);
}

TEST_P(Order, EventsAreReused) {
  stream_ref const consumer = runtime.new_stream();
  stream_ref const producer = runtime.new_stream();
  for (int i = 0; i < 100; ++i) {
    order_after(consumer, producer);
  }
  EXPECT_EQ(runtime.counter("events"), 1);
  EXPECT_EQ(runtime.calls_of("cuEventCreate", "hipEventCreateWithFlags"), 1);
}

TEST_P(Order, ManyThreadsShareAFewEvents) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      runtime.use(0);
      stream_ref const consumer = runtime.new_stream();
      stream_ref const producer = runtime.new_stream();
      auto* const memory = runtime.new_memory(size);
      for (int turn = 0; turn < 50; ++turn) {
        runtime.write(producer.native_handle(), memory, static_cast<unsigned char>(turn), size);
        order_after(consumer, producer);
        runtime.read(consumer.native_handle(), memory, size);
        order_after(producer, consumer);
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  runtime.run_pending();
  EXPECT_EQ(runtime.race_count(), 0U);
  EXPECT_LE(runtime.counter("events"), 8);
}

TEST_P(Order, HostWaitWaitsForOneStream) {
  stream_ref const awaited = runtime.new_stream();
  stream_ref const other = runtime.new_stream();
  auto* const memory = runtime.new_memory(2);
  EXPECT_EQ(runtime.write(awaited.native_handle(), memory, 7, 1), 0);
  EXPECT_EQ(runtime.write(other.native_handle(), memory + 1, 7, 1), 0);
  host_wait(awaited);
  EXPECT_EQ(runtime.bytes_at(memory, 1)[0], 7);
  EXPECT_NE(runtime.bytes_at(memory + 1, 1)[0], 7);
  EXPECT_EQ(runtime.counter("device_synchronizations"), 0);
}

TEST_P(Order, HostWaitsIfTheConsumerIsTheCpu) {
  stream_ref const producer = runtime.new_stream();
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  auto* const memory = runtime.new_memory(1);
  EXPECT_EQ(runtime.write(producer.native_handle(), memory, 7, 1), 0);
  order_after(cpu_stream, producer);
  EXPECT_EQ(runtime.bytes_at(memory, 1)[0], 7);
  long const calls = runtime.call_count(nullptr);
  order_after(producer, cpu_stream);
  host_wait(cpu_stream);
  EXPECT_EQ(runtime.call_count(nullptr), calls) << "writes of the CPU need no wait";
}

// Captures ---------------------------------------------------------------------------------------

constexpr char const* expectation =
    "capturing: stream is capturing: expected two streams of one "
    "capture, or of none; got ";
constexpr char const* advice =
    ". Exchange tensors before the capture begins, or pass stream=-1 and order the streams "
    "yourself";

TEST_P(Order, WaitWithinACaptureIsAnEdgeOfTheGraph) {
  stream_ref const origin = runtime.new_stream();
  stream_ref const branch = runtime.new_stream();
  auto* const memory = runtime.new_memory(size);
  runtime.begin_capture(origin);
  EXPECT_EQ(runtime.write(origin.native_handle(), memory, 7, size), 0);
  void* event = nullptr;
  ASSERT_EQ(
      (runtime.call<int(void**, unsigned)>("cuEventCreate", "hipEventCreateWithFlags")(&event, 2)),
      0);
  auto* const record = runtime.call<int(void*, void*)>("cuEventRecord", "hipEventRecord");
  auto* const wait =
      runtime.call<int(void*, void*, unsigned)>("cuStreamWaitEvent", "hipStreamWaitEvent");
  ASSERT_EQ(record(event, origin.native_handle()), 0);
  ASSERT_EQ(wait(branch.native_handle(), event, 0), 0) << "the branch is now part of the capture";
  EXPECT_EQ(runtime.write(branch.native_handle(), memory, 8, size), 0);
  order_after(origin, branch);
  EXPECT_EQ(runtime.write(origin.native_handle(), memory, 9, size), 0);
  EXPECT_EQ(runtime.end_capture(origin), 3) << "the branch has joined the origin again";
  EXPECT_EQ(runtime.counter("host_synchronizations"), 0);
  runtime.launch_captured(origin);
  runtime.synchronize(origin);
  EXPECT_EQ(runtime.bytes_at(memory, 1)[0], 9);
}

TEST_P(Order, OrderBetweenCapturedAndUncapturedStreamsIsRefused) {
  stream_ref const captured = runtime.new_stream();
  stream_ref const other = runtime.new_stream();
  runtime.begin_capture(captured);
  EXPECT_EQ(refusal_of([&] { return order_after(captured, other), 0; }),
            std::string(expectation) +
                "a consumer's stream, one that is being captured, and a producer's, one that is "
                "not" +
                advice);
  EXPECT_EQ(refusal_of([&] { return order_after(other, captured), 0; }),
            std::string(expectation) +
                "a consumer's stream, one that is not, and a producer's, one that is being "
                "captured" +
                advice);
  EXPECT_EQ(record_calls(), 0);
  EXPECT_EQ(wait_calls(), 0);
  EXPECT_EQ(runtime.end_capture(captured), 0) << "the capture is still valid";
}

TEST_P(Order, DefaultStreamIsRefusedDuringTheCaptureOfABlockingStream) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP allows queries of its default stream";
  }
  stream_ref const captured = runtime.new_stream(0, 0);
  stream_ref const other = runtime.new_stream();
  runtime.begin_capture(captured, 0);
  report const status = try_order_after(other, stream_ref::default_of(runtime.device()));
  EXPECT_TRUE(status.has(errc::capturing)) << message(status).c_str();
  EXPECT_TRUE(try_host_wait(stream_ref::default_of(runtime.device())).has(errc::capturing));
  order_after(other, runtime.new_stream());
  EXPECT_EQ(runtime.end_capture(captured), 0);
}

TEST_P(Order, OrderBetweenTwoCapturesIsRefused) {
  stream_ref const one = runtime.new_stream();
  stream_ref const other = runtime.new_stream();
  runtime.begin_capture(one);
  runtime.begin_capture(other);
  EXPECT_EQ(refusal_of([&] { return order_after(one, other), 0; }),
            std::string(expectation) + "two captures" + advice);
  EXPECT_EQ(runtime.end_capture(one), 0);
  EXPECT_EQ(runtime.end_capture(other), 0);
}

TEST_P(Order, HostWaitRefusesACapturedStream) {
  stream_ref const captured = runtime.new_stream();
  runtime.begin_capture(captured);
  EXPECT_EQ(refusal_of([&] { return host_wait(captured), 0; }),
            "capturing: stream is capturing: expected a stream that the host may wait for; got one "
            "that is captured. Captured operations have not run yet: wait after launching the "
            "graph");
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  EXPECT_TRUE(try_order_after(cpu_stream, captured).has(errc::capturing));
  EXPECT_EQ(runtime.calls_of("cuStreamSynchronize", "hipStreamSynchronize"), 0);
  EXPECT_EQ(runtime.end_capture(captured), 0);
}

// Failures ---------------------------------------------------------------------------------------

TEST_P(Order, DestroyedStreamIsReported) {
  stream_ref const alive = runtime.new_stream();
  stream_ref const destroyed = runtime.new_stream();
  runtime.destroy(destroyed);
  for (report const& status : {try_order_after(alive, destroyed), try_order_after(destroyed, alive),
                               try_host_wait(destroyed)}) {
    ASSERT_TRUE(status.has(errc::runtime_failed));
    std::string const text = message(status).c_str();
    EXPECT_NE(text.find(runtime.is_cuda() ? "(400)" : "(709)"), std::string::npos) << text;
    EXPECT_NE(text.find("exist until the call returns"), std::string::npos) << text;
  }
  EXPECT_EQ(runtime.counter("events"), 0);
  EXPECT_GT(runtime.misuse_count(), 0U);
  runtime.clear_misuses();
}

TEST_P(Order, InvalidDeviceIsReported) {
  report const status = try_host_wait(stream_ref::default_of(runtime.device(9)));
  ASSERT_TRUE(status.has(errc::runtime_failed));
  EXPECT_NE(std::string(message(status).c_str()).find("(101)"), std::string::npos);
}

TEST_P(Order, FailureOfAnyCallLeaksNothingAndKeepsTheCurrentContext) {
  constexpr int launch_failed = 719;
  stream_ref const consumer = runtime.new_stream(1);
  stream_ref const producers[] = {runtime.new_stream(0), stream_ref::default_of(runtime.device(0)),
                                  runtime.new_stream(1), stream_ref::default_of(runtime.device(1))};
  std::uintptr_t const current = runtime.current();
  for (stream_ref const producer : producers) {
    for (long n = 1; n < 40; ++n) {
      SCOPED_TRACE(n);
      runtime.reset_call_counts();
      runtime.fail_call(n, launch_failed);
      report const status = try_order_after(consumer, producer);
      long const calls = runtime.call_count(nullptr);
      runtime.clear_failures();
      ASSERT_EQ(runtime.current(), current);
      ASSERT_LE(runtime.counter("events"), 2) << "one in the pool of each device";
      if (!status.ok()) {
        ASSERT_TRUE(status.has(errc::runtime_failed));
        ASSERT_NE(std::string(message(status).c_str()).find("(719)"), std::string::npos);
      }
      if (calls < n) {
        ASSERT_TRUE(status.ok());
        break;
      }
    }
    order_after(consumer, producer);
  }
}

/// The number of driver calls of `work`, after a first run that creates an event and a context.
template <class Work>
long calls_of(simulated_runtime& runtime, Work work) {
  work();
  runtime.reset_call_counts();
  work();
  return runtime.call_count(nullptr);
}

// A query of each stream, a record and a wait, and for CUDA a query of the event's context; for a
// default stream also a query of what is current. docs/howto/move_to_devices.md has these numbers.
TEST_P(Order, HandOverNeedsFewDriverCalls) {
  stream_ref const one = runtime.new_stream();
  stream_ref const other = runtime.new_stream();
  stream_ref const far = runtime.new_stream(1);
  stream_ref const standard = stream_ref::default_of(runtime.device());
  long const needed = runtime.is_cuda() ? 5 : 4;
  EXPECT_EQ(calls_of(runtime, [&] { order_after(one, other); }), needed);
  EXPECT_EQ(calls_of(runtime, [&] { order_after(standard, other); }), needed + 1);
  EXPECT_EQ(calls_of(runtime, [&] { order_after(one, standard); }), needed + 1);
  order_after(one, far);  // the first use of the other device
  EXPECT_EQ(calls_of(runtime, [&] { order_after(one, far); }), needed);
  EXPECT_EQ(calls_of(runtime, [&] { order_after(far, one); }), needed);
  EXPECT_EQ(calls_of(runtime, [&] { host_wait(one); }), 2);
  if (runtime.is_cuda()) {
    // Without a current context, six more calls enter the primary one and leave it.
    std::thread([&] { EXPECT_EQ(calls_of(runtime, [&] { order_after(one, other); }), 11); }).join();
  }
}

TEST_P(Order, StreamsOfOtherContextsAreOrdered) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no contexts";
  }
  order_after(runtime.new_stream(), runtime.new_stream());  // fills the pool of events
  void* context = nullptr;
  void* popped = nullptr;
  ASSERT_EQ((runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "")(&context, 0, 0)), 0);
  stream_ref const other = runtime.new_stream_in_current_context();
  stream_ref const another = runtime.new_stream_in_current_context();
  ASSERT_EQ(runtime.call<int(void**)>("cuCtxPopCurrent_v2", "")(&popped), 0);
  auto* const memory = runtime.new_memory(size);
  stream_ref const stream = runtime.new_stream();
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 7, size), 0);
  long long const events = runtime.counter("events");
  order_after(other, stream);
  order_after(another, other);
  order_after(stream_ref::default_of(runtime.device()), another);
  EXPECT_EQ(runtime.read(nullptr, memory, size), 0);
  EXPECT_EQ(runtime.counter("events"), events) << "an event of this context is not kept";
}

// The default streams of contexts that are not primary ones, which other threads use.
TEST_P(Order, StoredDefaultStreamsKeepTheirContext) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no contexts";
  }
  for (auto const which : {default_stream::legacy, default_stream::per_thread}) {
    void* context = nullptr;
    ASSERT_EQ((runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "")(&context, 0, 0)), 0);
    stream_ref const producer = stream_ref::default_of(runtime.device(), which);
    dlbridge::kept_stream const kept(in_current_context(producer));
    auto* const memory = runtime.new_memory(2 * size);
    EXPECT_EQ(runtime.write(producer.native_handle(), memory, 7, size), 0);
    for (bool const has_context : {false, true}) {
      SCOPED_TRACE(has_context);
      std::thread([&] {
        if (has_context) {
          runtime.use(0);
        }
        host_wait(kept.get(runtime.device()));
        EXPECT_EQ(runtime.bytes_at(memory, size), sevens);
      }).join();
    }
    EXPECT_EQ(runtime.write(producer.native_handle(), memory, 8, size), 0);
    std::thread([&] {
      runtime.use(0);
      stream_ref const consumer = stream_ref::default_of(runtime.device());
      order_after(consumer, kept.get(runtime.device()));
      EXPECT_EQ(runtime.copy(consumer.native_handle(), memory + size, memory, size), 0);
      order_after(kept.get(runtime.device()), consumer);
    }).join();
    EXPECT_EQ(
        runtime.write(stream_ref::default_of(runtime.device()).native_handle(), memory, 9, size),
        0);
    void* popped = nullptr;
    ASSERT_EQ(runtime.call<int(void**)>("cuCtxPopCurrent_v2", "")(&popped), 0);
  }
}

TEST_P(Order, StoredDefaultStreamIsTheSameStream) {
  stream_ref const standard = stream_ref::default_of(runtime.device());
  stream_ref const stored = in_current_context(standard);
  order_after(standard, stored);
  order_after(stored, standard);
  order_after(stored, stored);
  EXPECT_EQ(wait_calls(), 0);
}

TEST_P(Order, StreamsOfGreenContextsAreOrdered) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no green contexts";
  }
  void* green = nullptr;
  void* handle = nullptr;
  ASSERT_EQ((runtime.call<int(void**, void*, int, unsigned)>("cuGreenCtxCreate", "")(
                &green, nullptr, 0, 1)),
            0);
  ASSERT_EQ((runtime.call<int(void**, void*, unsigned, int)>("cuGreenCtxStreamCreate", "")(
                &handle, green, 1, 0)),
            0);
  stream_ref const stream(runtime.device(), handle);
  EXPECT_EQ(write_then_copy(stream, runtime.new_stream()), sevens);
  EXPECT_EQ(write_then_copy(runtime.new_stream(), stream), sevens);
  EXPECT_EQ(calls_of(runtime, [&] { order_after(stream, runtime.new_stream()); }) -
                calls_of(runtime, [&] { runtime.new_stream(); }),
            5);
  host_wait(stream);
}

TEST_P(Order, ThreadWhoseContextWasDestroyedUsesThePrimaryOne) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no contexts";
  }
  stream_ref const stream = runtime.new_stream();
  stream_ref const standard = stream_ref::default_of(runtime.device());
  auto* const memory = runtime.new_memory(size);
  EXPECT_EQ(runtime.write(nullptr, memory, 7, size), 0);
  std::thread([&] {
    void* destroyed = nullptr;
    ASSERT_EQ((runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "")(&destroyed, 0, 0)),
              0);
    std::thread([&] {
      EXPECT_EQ(runtime.call<int(void*)>("cuCtxDestroy_v2", "")(destroyed), 0);
    }).join();
    order_after(stream, standard);
    order_after(standard, stream);
    host_wait(stream);
    host_wait(standard);
    EXPECT_EQ(runtime.current(), reinterpret_cast<std::uintptr_t>(destroyed));
  }).join();
  EXPECT_EQ(runtime.read(stream.native_handle(), memory, size), 0);
}

TEST_P(Order, ForkedChildReportsThatItCannotUseTheRuntime) {
  stream_ref const consumer = runtime.new_stream();
  stream_ref const producer = runtime.new_stream();
  order_after(consumer, producer);
  pid_t const child = fork();
  if (child == 0) {
    bool is_reported = true;
    for (report const& status :
         {try_order_after(consumer, producer), try_host_wait(consumer),
          try_order_after(consumer, stream_ref::default_of(runtime.device()))}) {
      std::string const text = message(status).c_str();
      is_reported = is_reported && status.has(errc::runtime_failed) &&
                    text.find("(3)") != std::string::npos &&
                    text.find("A forked process") != std::string::npos;
    }
    _exit(is_reported ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
}

TEST_P(Order, WorksAfterADeviceReset) {
  order_after(runtime.new_stream(1), stream_ref::default_of(runtime.device(1)));
  begin();  // invalidates all handles
  order_after(runtime.new_stream(1), stream_ref::default_of(runtime.device(1)));
  order_after(runtime.new_stream(0), runtime.new_stream(0));
  EXPECT_EQ(wait_calls(), 2);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Order, ::testing::Values(runtime_kind::cuda, runtime_kind::hip),
                         runtime_name);

// Pairs of devices -------------------------------------------------------------------------------

TEST(OrderAcrossRuntimes, HostWaitsForTheProducer) {
  simulated_runtime& cuda = simulated_runtime::of(runtime_kind::cuda);
  simulated_runtime& hip = simulated_runtime::of(runtime_kind::hip);
  ASSERT_TRUE(cuda.is_loaded() && hip.is_loaded());
  cuda.begin();
  hip.begin();
  stream_ref const producer = cuda.new_stream();
  auto* const memory = cuda.new_memory(1);
  EXPECT_EQ(cuda.write(producer.native_handle(), memory, 7, 1), 0);
  order_after(hip.new_stream(), producer);
  EXPECT_EQ(cuda.bytes_at(memory, 1)[0], 7);
}

TEST(OrderAcrossRuntimes, HandleOfAnUnknownRuntimeIsRefused) {
  int queue = 0;
  stream_ref const sycl(device(kDLOneAPI, 0), &queue);
  EXPECT_EQ(refusal_of([&] { return host_wait(sycl), 0; }),
            "bad_stream: bad stream: expected a stream of CUDA or ROCm; got a stream on oneapi:0. "
            "Order the streams yourself, and pass stream=-1");
  EXPECT_EQ(refusal_of([&] { return order_after(stream_ref::default_of(dlbridge::cpu), sycl), 0; }),
            refusal_of([&] { return host_wait(sycl), 0; }));
  dlbridge::stream_request request;
  EXPECT_TRUE(dlbridge::try_read_stream(sycl.device(), -1, request).ok());
  EXPECT_FALSE(request.ordered);
  host_wait(stream_ref::default_of(device(kDLOneAPI, 0)));
}

}  // namespace

// order: a consumer's stream waits for a producer's, on every pair of streams that there may be,
// and nothing else waits for anything.
#include <dlbridge/runtime/order.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "../unit/refusal.hpp"
#include "machine.hpp"

namespace {

using dlbridge::default_stream;
using dlbridge::device;
using dlbridge::errc;
using dlbridge::host_wait;
using dlbridge::message;
using dlbridge::order_after;
using dlbridge::report;
using dlbridge::runtime_kind;
using dlbridge::stream_ref;
using dlbridge::try_host_wait;
using dlbridge::try_order_after;

constexpr std::size_t size = 64;

class Order : public OnEachRuntime {
 protected:
  /// Writes on one stream, lets another follow, and reads there: the bytes that come.
  std::vector<unsigned char> hand_over(stream_ref consumer, stream_ref producer) {
    auto* const made = m.new_memory(size, producer.device().id);
    auto* const taken = m.new_memory(size, producer.device().id);
    EXPECT_EQ(m.write(producer.native_handle(), made, 7, size), 0);
    order_after(consumer, producer);
    EXPECT_EQ(m.copy(consumer.native_handle(), taken, made, size), 0);
    m.drain();
    return m.bytes_at(taken, size);
  }
  long waits() { return m.called("cuStreamWaitEvent", "hipStreamWaitEvent"); }
  long records() { return m.called("cuEventRecord", "hipEventRecord"); }

  std::vector<unsigned char> const sevens = std::vector<unsigned char>(size, 7);
};

TEST_P(Order, WithoutItTheTestWouldSeeARace) {
  auto* const made = m.new_memory(size);
  stream_ref const producer = m.new_stream();
  EXPECT_EQ(m.write(producer.native_handle(), made, 7, size), 0);
  EXPECT_EQ(m.read(m.new_stream().native_handle(), made, size), 0);
  m.drain();
  EXPECT_EQ(m.race_count(), 1U);
  m.forget_races();
}

TEST_P(Order, TheConsumerSeesWhatTheProducerWrote) {
  EXPECT_EQ(hand_over(m.new_stream(), m.new_stream()), sevens);
  EXPECT_EQ(m.counter("host_synchronizations"), 0);
}

TEST_P(Order, OneStreamNeedsNone) {
  stream_ref const both = m.new_stream();
  EXPECT_EQ(hand_over(both, both), sevens);
  EXPECT_EQ(records(), 0);
  EXPECT_EQ(waits(), 0);
}

TEST_P(Order, TheDefaultStreamIsAStreamLikeAnyOther) {
  stream_ref const standard = stream_ref::default_of(m.device());
  EXPECT_EQ(hand_over(m.new_stream(), standard), sevens);
  EXPECT_EQ(hand_over(standard, m.new_stream()), sevens);
  EXPECT_EQ(waits(), 2);
  if (m.is_cuda()) {
    stream_ref const per_thread = stream_ref::default_of(m.device(), default_stream::per_thread);
    EXPECT_EQ(hand_over(per_thread, standard), sevens);
    EXPECT_EQ(hand_over(m.new_stream(), per_thread), sevens);
    EXPECT_EQ(hand_over(per_thread, m.new_stream()), sevens);
    EXPECT_EQ(waits(), 5);
    stream_ref const null(m.device(), static_cast<void*>(nullptr));
    EXPECT_EQ(hand_over(null, standard), sevens);
    EXPECT_EQ(waits(), 5) << "they are two names of one stream";
  }
  EXPECT_EQ(m.counter("host_synchronizations"), 0);
}

TEST_P(Order, StreamsOfTwoDevicesFollowEachOther) {
  stream_ref const first = m.new_stream(0);
  stream_ref const second = m.new_stream(1);
  auto* const memory = m.new_memory(size, 1);
  m.use(1);
  EXPECT_EQ(m.write(second.native_handle(), memory, 7, size), 0);
  m.use(0);
  order_after(first, second);
  order_after(m.new_stream(1), first);
  stream_ref const third = m.new_stream(1);
  order_after(third, first);
  m.use(1);
  EXPECT_EQ(m.read(third.native_handle(), memory, size), 0);
  m.use(0);
  m.drain();
  EXPECT_EQ(m.race_count(), 0U);
  EXPECT_EQ(waits(), 3);
}

TEST_P(Order, TheDefaultStreamsOfTwoDevicesAreTwo) {
  order_after(stream_ref::default_of(m.device(1)), stream_ref::default_of(m.device(0)));
  order_after(stream_ref::default_of(m.device(0)), stream_ref::default_of(m.device(1)));
  EXPECT_EQ(waits(), 2);
}

TEST_P(Order, AThreadThatHasNothingCurrentKeepsItSo) {
  stream_ref const consumer = m.new_stream(1);
  stream_ref const producer = m.new_stream(1);
  std::thread([&] {
    std::uintptr_t const before = m.current();
    order_after(consumer, producer);
    order_after(consumer, stream_ref::default_of(m.device(1)));
    host_wait(consumer);
    EXPECT_EQ(m.current(), before);
  }).join();
  EXPECT_EQ(waits(), 2);
}

TEST_P(Order, EventsAreKeptForTheNextTime) {
  stream_ref const consumer = m.new_stream();
  stream_ref const producer = m.new_stream();
  for (int i = 0; i < 100; ++i) {
    order_after(consumer, producer);
  }
  EXPECT_EQ(m.counter("events"), 1);
  EXPECT_EQ(m.called("cuEventCreate", "hipEventCreateWithFlags"), 1);
}

TEST_P(Order, ManyThreadsKeepFewEvents) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      m.use(0);
      stream_ref const consumer = m.new_stream();
      stream_ref const producer = m.new_stream();
      auto* const memory = m.new_memory(size);
      for (int turn = 0; turn < 50; ++turn) {
        m.write(producer.native_handle(), memory, static_cast<unsigned char>(turn), size);
        order_after(consumer, producer);
        m.read(consumer.native_handle(), memory, size);
        order_after(producer, consumer);
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  m.drain();
  EXPECT_EQ(m.race_count(), 0U);
  EXPECT_LE(m.counter("events"), 8);
}

TEST_P(Order, TheHostWaitsForOneStreamOnly) {
  stream_ref const waited = m.new_stream();
  stream_ref const other = m.new_stream();
  auto* const memory = m.new_memory(2);
  EXPECT_EQ(m.write(waited.native_handle(), memory, 7, 1), 0);
  EXPECT_EQ(m.write(other.native_handle(), memory + 1, 7, 1), 0);
  host_wait(waited);
  EXPECT_EQ(m.bytes_at(memory, 1)[0], 7);
  EXPECT_NE(m.bytes_at(memory + 1, 1)[0], 7);
  EXPECT_EQ(m.counter("device_synchronizations"), 0);
}

TEST_P(Order, TheCpuWaitsAsItHasNoStreams) {
  stream_ref const producer = m.new_stream();
  stream_ref const none(dlbridge::cpu, static_cast<void*>(nullptr));
  auto* const memory = m.new_memory(1);
  EXPECT_EQ(m.write(producer.native_handle(), memory, 7, 1), 0);
  order_after(none, producer);
  EXPECT_EQ(m.bytes_at(memory, 1)[0], 7);
  long const calls = m.calls(nullptr);
  order_after(producer, none);
  host_wait(none);
  EXPECT_EQ(m.calls(nullptr), calls) << "what the CPU wrote is written";
}

// Captures ---------------------------------------------------------------------------------------

constexpr char const* wanted =
    "capturing: stream is capturing: expected two streams of one "
    "capture, or of none; got ";
constexpr char const* advised =
    ". Hand tensors over before the capture begins, or pass stream=-1 and order the streams "
    "yourself";

TEST_P(Order, InOneCaptureItIsAnEdgeOfTheGraph) {
  stream_ref const origin = m.new_stream();
  stream_ref const branch = m.new_stream();
  auto* const memory = m.new_memory(size);
  m.begin_capture(origin);
  EXPECT_EQ(m.write(origin.native_handle(), memory, 7, size), 0);
  void* event = nullptr;
  ASSERT_EQ((m.call<int(void**, unsigned)>("cuEventCreate", "hipEventCreateWithFlags")(&event, 2)),
            0);
  auto* const record = m.call<int(void*, void*)>("cuEventRecord", "hipEventRecord");
  auto* const wait = m.call<int(void*, void*, unsigned)>("cuStreamWaitEvent", "hipStreamWaitEvent");
  ASSERT_EQ(record(event, origin.native_handle()), 0);
  ASSERT_EQ(wait(branch.native_handle(), event, 0), 0) << "the branch belongs to the capture now";
  EXPECT_EQ(m.write(branch.native_handle(), memory, 8, size), 0);
  order_after(origin, branch);
  EXPECT_EQ(m.write(origin.native_handle(), memory, 9, size), 0);
  EXPECT_EQ(m.end_capture(origin), 3) << "and it has joined again";
  EXPECT_EQ(m.counter("host_synchronizations"), 0);
}

TEST_P(Order, OneSideInACaptureIsRefusedWithNothingEnqueued) {
  stream_ref const captured = m.new_stream();
  stream_ref const other = m.new_stream();
  m.begin_capture(captured);
  EXPECT_EQ(refusal_of([&] { return order_after(captured, other), 0; }),
            std::string(wanted) +
                "a consumer's stream, one that is being captured, and a producer's, one that is "
                "not" +
                advised);
  EXPECT_EQ(refusal_of([&] { return order_after(other, captured), 0; }),
            std::string(wanted) +
                "a consumer's stream, one that is not, and a producer's, one that is being "
                "captured" +
                advised);
  EXPECT_EQ(records(), 0);
  EXPECT_EQ(waits(), 0);
  EXPECT_EQ(m.end_capture(captured), 0) << "the capture is as it was";
}

TEST_P(Order, TheDefaultStreamIsLeftAloneWhileABlockingStreamIsCaptured) {
  if (!m.is_cuda()) {
    GTEST_SKIP() << "HIP answers for its default stream";
  }
  stream_ref const captured = m.new_stream(0, 0);
  stream_ref const other = m.new_stream();
  m.begin_capture(captured, 0);
  report const why = try_order_after(other, stream_ref::default_of(m.device()));
  EXPECT_TRUE(why.broke(errc::capturing)) << message(why).c_str();
  EXPECT_TRUE(try_host_wait(stream_ref::default_of(m.device())).broke(errc::capturing));
  order_after(other, m.new_stream());
  EXPECT_EQ(m.end_capture(captured), 0);
}

TEST_P(Order, TwoCapturesAreRefused) {
  stream_ref const one = m.new_stream();
  stream_ref const other = m.new_stream();
  m.begin_capture(one);
  m.begin_capture(other);
  EXPECT_EQ(refusal_of([&] { return order_after(one, other), 0; }),
            std::string(wanted) + "two captures" + advised);
  EXPECT_EQ(m.end_capture(one), 0);
  EXPECT_EQ(m.end_capture(other), 0);
}

TEST_P(Order, TheHostNeverWaitsForACapture) {
  stream_ref const captured = m.new_stream();
  m.begin_capture(captured);
  EXPECT_EQ(refusal_of([&] { return host_wait(captured), 0; }),
            "capturing: stream is capturing: expected a stream that the host may wait for; got one "
            "that is captured. What is captured has not happened yet: wait after the graph was "
            "launched");
  stream_ref const none(dlbridge::cpu, static_cast<void*>(nullptr));
  EXPECT_TRUE(try_order_after(none, captured).broke(errc::capturing));
  EXPECT_EQ(m.called("cuStreamSynchronize", "hipStreamSynchronize"), 0);
  EXPECT_EQ(m.end_capture(captured), 0);
}

// Faults -----------------------------------------------------------------------------------------

TEST_P(Order, AStreamThatIsDestroyedIsSaidToBe) {
  stream_ref const alive = m.new_stream();
  stream_ref const gone = m.new_stream();
  m.destroy(gone);
  for (report const& why :
       {try_order_after(alive, gone), try_order_after(gone, alive), try_host_wait(gone)}) {
    ASSERT_TRUE(why.broke(errc::runtime_failed));
    std::string const text = message(why).c_str();
    EXPECT_NE(text.find(m.is_cuda() ? "(400)" : "(709)"), std::string::npos) << text;
    EXPECT_NE(text.find("live until the call returns"), std::string::npos) << text;
  }
  EXPECT_EQ(m.counter("events"), 0);
}

TEST_P(Order, ADeviceThatThereIsNotIsSaidToBe) {
  report const why = try_host_wait(stream_ref::default_of(m.device(9)));
  ASSERT_TRUE(why.broke(errc::runtime_failed));
  EXPECT_NE(std::string(message(why).c_str()).find("(101)"), std::string::npos);
}

TEST_P(Order, WhicheverCallFailsNothingLeaksAndWhatIsCurrentStaysSo) {
  constexpr int sticky = 719;
  stream_ref const consumer = m.new_stream(1);
  stream_ref const producers[] = {m.new_stream(0), stream_ref::default_of(m.device(0)),
                                  m.new_stream(1), stream_ref::default_of(m.device(1))};
  std::uintptr_t const current = m.current();
  for (stream_ref const producer : producers) {
    for (long n = 1; n < 40; ++n) {
      SCOPED_TRACE(n);
      m.forget_calls();
      m.fail_call(n, sticky);
      report const ordered = try_order_after(consumer, producer);
      long const made = m.calls(nullptr);
      m.stop_failing();
      ASSERT_EQ(m.current(), current);
      ASSERT_LE(m.counter("events"), 2) << "one kept for each device";
      if (!ordered.ok()) {
        ASSERT_TRUE(ordered.broke(errc::runtime_failed));
        ASSERT_NE(std::string(message(ordered).c_str()).find("(719)"), std::string::npos);
      }
      if (made < n) {
        ASSERT_TRUE(ordered.ok());
        break;
      }
    }
    order_after(consumer, producer);
  }
}

TEST_P(Order, AfterADeviceWasResetItWorksOn) {
  order_after(m.new_stream(1), stream_ref::default_of(m.device(1)));
  begin();  // handles from before mean nothing any more
  order_after(m.new_stream(1), stream_ref::default_of(m.device(1)));
  order_after(m.new_stream(0), m.new_stream(0));
  EXPECT_EQ(waits(), 2);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Order, ::testing::Values(runtime_kind::cuda, runtime_kind::hip),
                         runtime_name);

// Pairs of devices -------------------------------------------------------------------------------

TEST(OrderAcross, RuntimesTheHostWaits) {
  machine& cuda = machine::of(runtime_kind::cuda);
  machine& hip = machine::of(runtime_kind::hip);
  ASSERT_TRUE(cuda.is_here() && hip.is_here());
  cuda.begin();
  hip.begin();
  stream_ref const producer = cuda.new_stream();
  auto* const memory = cuda.new_memory(1);
  EXPECT_EQ(cuda.write(producer.native_handle(), memory, 7, 1), 0);
  order_after(hip.new_stream(), producer);
  EXPECT_EQ(cuda.bytes_at(memory, 1)[0], 7);
}

TEST(OrderAcross, AHandleOfAnUnknownRuntimeIsRefused) {
  int queue = 0;
  stream_ref const sycl(device(kDLOneAPI, 0), &queue);
  EXPECT_EQ(refusal_of([&] { return host_wait(sycl), 0; }),
            "bad_stream: bad stream: expected a stream of CUDA or ROCm; got a stream on oneapi:0. "
            "Order it yourself, and pass stream=-1");
  EXPECT_EQ(refusal_of([&] { return order_after(stream_ref::default_of(dlbridge::cpu), sycl), 0; }),
            refusal_of([&] { return host_wait(sycl), 0; }));
  host_wait(stream_ref::default_of(device(kDLOneAPI, 0)));
}

}  // namespace

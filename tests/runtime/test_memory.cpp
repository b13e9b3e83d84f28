// SPDX-License-Identifier: BSD-3-Clause
// memory.hpp: memory is freed after its last use that is known, and a capture defers the free; the
// simulated driver reports a free under queued work.
#include <dlbridge/runtime/transfer_async.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "simulated_runtime.hpp"

namespace {

using dlbridge::device;
using dlbridge::managed_tensor;
using dlbridge::release_completed;
using dlbridge::runtime_kind;
using dlbridge::stream_ref;
using dlbridge::tensor_view;
using dlbridge::transfer;
using dlbridge::transfer_options;
using dlbridge::try_record_stream;

constexpr std::int64_t size = 64;

class Free : public EachRuntimeTest {
 protected:
  /// A tensor of bytes on a device. Its memory is stream-ordered if is_ordered.
  managed_tensor new_tensor(stream_ref stream, bool is_ordered, device where) {
    DLTensor t{};
    t.data = data_.data();
    t.device = dlbridge::cpu.abi();
    t.ndim = 1;
    t.dtype = {kDLUInt, 8, 1};
    t.shape = const_cast<std::int64_t*>(&size);
    transfer_options options;
    options.stream_outlives_tensor = is_ordered;
    return transfer(dlbridge::view_of(t), where, stream, options);
  }
  managed_tensor new_tensor(stream_ref stream, bool is_ordered = true) {
    return new_tensor(stream, is_ordered, runtime.device());
  }
  void read_on(stream_ref stream, managed_tensor const& tensor) {
    EXPECT_EQ(runtime.read(stream.native_handle(), tensor.view().data(), size), 0);
  }
  long free_calls() { return runtime.calls_of("cuMemFree_v2", "hipFree"); }
  long ordered_free_calls() { return runtime.calls_of("cuMemFreeAsync", "hipFreeAsync"); }
  long long bytes_in_use() { return runtime.counter("device_bytes"); }

 private:
  std::vector<unsigned char> data_ = std::vector<unsigned char>(size, 7);
};

TEST_P(Free, WithoutARecordTheDriverReportsOtherStreams) {  // the control of the tests below
  for (bool const is_ordered : {false, true}) {
    managed_tensor tensor = new_tensor(runtime.new_stream(), is_ordered);
    read_on(runtime.new_stream(), tensor);
    tensor.reset();
    EXPECT_EQ(runtime.race_count(), 1U);
    runtime.clear_races();
  }
}

TEST_P(Free, WaitsForRecordedStreams) {
  for (bool const is_ordered : {false, true}) {
    stream_ref const stream = runtime.new_stream();
    managed_tensor tensor = new_tensor(stream, is_ordered);
    long long const waits = runtime.counter("host_synchronizations");
    for (stream_ref const reader : {runtime.new_stream(), runtime.new_stream(), stream}) {
      read_on(reader, tensor);
      EXPECT_TRUE(try_record_stream(tensor, reader));
      EXPECT_TRUE(try_record_stream(tensor, reader)) << "twice is as once";
    }
    tensor.reset();
    EXPECT_EQ(runtime.counter("host_synchronizations") - waits, is_ordered ? 0 : 4)
        << "stream-ordered memory is freed without a wait of the host";
    runtime.run_pending();
    EXPECT_EQ(bytes_in_use(), 0);
  }
  EXPECT_EQ(ordered_free_calls(), 1);
  EXPECT_EQ(free_calls(), 1);
}

TEST_P(Free, ThreadsMayRecordStreamsAtTheSameTime) {
  managed_tensor tensor = new_tensor(runtime.new_stream());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      runtime.use(0);
      for (int turn = 0; turn < 8; ++turn) {
        stream_ref const reader = runtime.new_stream();
        read_on(reader, tensor);
        EXPECT_TRUE(try_record_stream(tensor, reader));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  tensor.reset();
}

TEST_P(Free, PerThreadStreamsOfOtherThreadsAreAwaited) {
  stream_ref const per_thread(runtime.device(), reinterpret_cast<void*>(std::uintptr_t{2}));
  for (bool const is_ordered : {false, true}) {
    managed_tensor of_stream;
    managed_tensor recorded = new_tensor(runtime.new_stream(), is_ordered);
    std::thread([&] {
      runtime.use(0);
      of_stream = new_tensor(per_thread, is_ordered);
      read_on(per_thread, of_stream);
      read_on(per_thread, recorded);
      EXPECT_TRUE(try_record_stream(of_stream, per_thread));
      EXPECT_TRUE(try_record_stream(recorded, per_thread));
    }).join();
    of_stream.reset();
    recorded.reset();
  }
  managed_tensor ordered;
  std::thread([&] {
    runtime.use(0);
    ordered = new_tensor(per_thread);
    read_on(per_thread, ordered);
  }).join();
  ordered.reset();
}

TEST_P(Free, OnlyOwnTensorsRecordStreams) {
  std::vector<unsigned char> data(size);
  dlbridge::description d;
  d.data = data.data();
  d.type = dlbridge::dtype{kDLUInt, 8, 1};
  d.shape = dlbridge::dims::from(&size, 1);
  managed_tensor const foreign = build_on(dlbridge::no_owner{}, d);
  EXPECT_FALSE(try_record_stream(foreign, runtime.new_stream()));
  managed_tensor const own = transfer(foreign, runtime.device(), runtime.new_stream());
  int handle = 0;
  for (std::int32_t const type : {runtime.is_cuda() ? kDLROCM : kDLCUDA, kDLOneAPI, kDLCPU}) {
    stream_ref const stream(dlbridge::device(type, 0), static_cast<void*>(&handle));
    EXPECT_FALSE(try_record_stream(own, stream)) << "the stream of another runtime";
  }
  EXPECT_FALSE(try_record_stream(managed_tensor(), runtime.new_stream()));
}

TEST_P(Free, WaitsForTheStreamIfStreamOrderedFreeingFails) {
  stream_ref const stream = runtime.new_stream();
  stream_ref const reader = runtime.new_stream();
  managed_tensor tensor = new_tensor(stream);
  read_on(stream, tensor);
  read_on(reader, tensor);
  EXPECT_TRUE(try_record_stream(tensor, reader));
  runtime.fail("cuMemFreeAsync", "hipFreeAsync", 1);
  tensor.reset();
  EXPECT_EQ(free_calls(), 1);
  EXPECT_EQ(bytes_in_use(), 0);
}

TEST_P(Free, WaitsForRecordedStreamsThatCannotBeOrdered) {
  stream_ref const stream = runtime.new_stream();
  stream_ref const reader = runtime.new_stream();
  managed_tensor tensor = new_tensor(stream);
  read_on(stream, tensor);
  read_on(reader, tensor);
  EXPECT_TRUE(try_record_stream(tensor, reader));
  runtime.fail("cuStreamWaitEvent", "hipStreamWaitEvent", 1);
  tensor.reset();
  EXPECT_EQ(free_calls(), 1);
  EXPECT_EQ(ordered_free_calls(), 0);
}

TEST_P(Free, WaitsAlthoughACallFails) {
  stream_ref const stream = runtime.new_stream();
  for (stream_ref const reader : {runtime.new_stream(), stream_ref::default_of(runtime.device())}) {
    for (long n = 1; n < 20; ++n) {
      managed_tensor recorded = new_tensor(stream, false);
      read_on(reader, recorded);
      EXPECT_TRUE(try_record_stream(recorded, reader));
      transfer_options options;
      options.source_outlives_copy = true;
      managed_tensor copied = transfer(recorded, runtime.device(), stream, options);
      std::thread([&] {  // without a current context
        runtime.fail_call(n, 1);
        copied.reset();
        recorded.reset();
        runtime.clear_failures();
      })
          .join();
      EXPECT_EQ(runtime.race_reports(), "") << "call " << n;
      runtime.clear_races();
    }
  }
}

TEST_P(Free, HappensAlthoughACallFails) {
  for (device const where : {runtime.device(), runtime.pinned(), runtime.device(1)}) {
    for (int const code : {1, 600, 700, 999}) {
      for (long n = 1; n < 8; ++n) {
        managed_tensor tensor =
            new_tensor(runtime.new_stream(where == runtime.device(1) ? 1 : 0), false, where);
        runtime.fail_call(n, code);
        tensor.reset();
        runtime.clear_failures();
        EXPECT_EQ(bytes_in_use() + runtime.counter("pinned_bytes"), 0) << "call " << n;
        int mode = 0;  // that of a thread at its start, global
        ASSERT_EQ(runtime.call<int(int*)>("cuThreadExchangeStreamCaptureMode",
                                          "hipThreadExchangeStreamCaptureMode")(&mode),
                  0);
        EXPECT_EQ(mode, 0) << "call " << n;
      }
    }
  }
}

// A failed call may report the error of an earlier operation although it has freed the memory. Its
// address may then belong to another allocation.
TEST_P(Free, IsNotRepeatedForMemoryThatTheDriverDoesNotKnow) {
  managed_tensor tensor = new_tensor(runtime.new_stream(), false);
  void* const address = const_cast<void*>(tensor.view().data());
  ASSERT_EQ(runtime.call<int(void*)>("cuMemFree_v2", "hipFree")(address), 0);
  runtime.reset_call_counts();
  tensor.reset();
  EXPECT_EQ(free_calls(), 1);
}

TEST_P(Free, IsDeferredWhileTheStreamIsCaptured) {
  for (int const mode : {0, 1, 2}) {
    stream_ref const stream = runtime.new_stream();
    managed_tensor tensor = new_tensor(stream);
    read_on(stream, tensor);
    long const frees = ordered_free_calls();
    runtime.begin_capture(stream, mode);
    tensor.reset();
    release_completed();
    EXPECT_EQ(bytes_in_use(), size);
    EXPECT_EQ(runtime.end_capture(stream), 0) << "the capture is valid, and has no node";
    release_completed();
    EXPECT_EQ(ordered_free_calls(), frees + 1);
    runtime.synchronize(stream);
    EXPECT_EQ(bytes_in_use(), 0);
  }
  EXPECT_EQ(free_calls(), 0);
}

TEST_P(Free, IsDeferredWhileARecordedStreamIsCaptured) {
  for (bool const is_ordered : {false, true}) {
    stream_ref const reader = runtime.new_stream();
    managed_tensor tensor = new_tensor(runtime.new_stream(), is_ordered);
    read_on(reader, tensor);
    EXPECT_TRUE(try_record_stream(tensor, reader));
    runtime.begin_capture(reader);
    tensor.reset();
    EXPECT_EQ(bytes_in_use(), size);
    EXPECT_EQ(runtime.end_capture(reader), 0);
    new_tensor(runtime.new_stream(), false).reset();  // a transfer collects what waits
    runtime.run_pending();
    EXPECT_EQ(bytes_in_use(), 0);
  }
}

TEST_P(Free, ADeferredFreeWaitsForNothing) {
  managed_tensor const bystander = new_tensor(runtime.new_stream(), false);
  for (bool const is_ordered : {false, true}) {
    stream_ref const captured = runtime.new_stream();
    managed_tensor tensor = new_tensor(runtime.new_stream(), is_ordered);
    for (stream_ref const reader : {runtime.new_stream(), captured}) {
      read_on(reader, tensor);
      EXPECT_TRUE(try_record_stream(tensor, reader));
    }
    runtime.begin_capture(captured);
    tensor.reset();
    EXPECT_EQ(runtime.end_capture(captured), 0);
    read_on(captured, bystander);
    long long const waits = runtime.counter("host_synchronizations");
    release_completed();
    EXPECT_EQ(runtime.counter("host_synchronizations"), waits);
    EXPECT_EQ(bytes_in_use(), 2 * size) << "the work on the streams has not completed";
    runtime.begin_capture(captured);
    release_completed();
    EXPECT_EQ(runtime.end_capture(captured), 0) << "the stream may be captured again";
    for (int turn = 0; turn < 4; ++turn) {
      release_completed();  // queries the event of one stream, and then that of the other
    }
    runtime.run_pending();
    EXPECT_EQ(bytes_in_use(), size);
    runtime.synchronize(captured);
  }
}

TEST_P(Free, ADeferredFreeKeepsTheEventOfACopy) {
  stream_ref const captured = runtime.new_stream();
  stream_ref const stream = runtime.new_stream();
  managed_tensor const source = new_tensor(stream, false);
  transfer_options options;
  options.source_outlives_copy = true;
  managed_tensor tensor = transfer(source, runtime.device(), stream, options);
  EXPECT_TRUE(try_record_stream(tensor, captured));
  runtime.begin_capture(captured);
  tensor.reset();
  EXPECT_EQ(runtime.end_capture(captured), 0);
  release_completed();
  EXPECT_EQ(bytes_in_use(), 2 * size) << "the copy has not completed";
  release_completed();
  release_completed();
  EXPECT_EQ(bytes_in_use(), size);
  runtime.synchronize(stream);
}

// The driver may give the address of freed memory to other code.
TEST_P(Free, NothingFromBeforeAResetIsUsed) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no contexts";
  }
  std::vector<managed_tensor> tensors;
  stream_ref const captured = runtime.new_stream();
  for (device const where : {runtime.device(), runtime.pinned(), device(kDLCUDAManaged, 0)}) {
    for (bool const is_deferred : {false, true}) {
      managed_tensor tensor = new_tensor(runtime.new_stream(), false, where);
      EXPECT_TRUE(try_record_stream(tensor, captured));
      if (is_deferred) {
        runtime.begin_capture(captured);
        tensor.reset();
        EXPECT_EQ(runtime.end_capture(captured), 0);
      }
      tensors.push_back(std::move(tensor));
    }
  }
  transfer_options options;
  options.source_outlives_copy = true;  // an event of the copy is kept
  tensors.push_back(transfer(tensors[0].view(), runtime.device(), runtime.new_stream(), options));
  managed_tensor ordered = new_tensor(runtime.new_stream(), true);
  EXPECT_TRUE(try_record_stream(ordered, captured));
  ASSERT_EQ(runtime.call<int(int)>("cuDevicePrimaryCtxReset_v2", "")(0), 0);
  EXPECT_EQ(bytes_in_use(), size) << "memory of the device's pool exists without a context";
  void* retained = nullptr;
  ASSERT_EQ((runtime.call<int(void**, int)>("cuDevicePrimaryCtxRetain", "")(&retained, 0)), 0);
  runtime.reset_call_counts();
  release_completed();
  tensors.clear();
  EXPECT_EQ(free_calls() + runtime.calls_of("cuMemFreeHost", ""), 0);
  ordered.reset();
  EXPECT_EQ(free_calls(), 1);
  EXPECT_EQ(ordered_free_calls(), 0) << "its stream does not exist";
  EXPECT_EQ(bytes_in_use(), 0);
}

TEST_P(Free, IsDeferredWhileACaptureBlocksTheDefaultStream) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP allows queries of its default stream";
  }
  managed_tensor tensor = new_tensor(stream_ref::default_of(runtime.device()));
  stream_ref const blocking = runtime.new_stream(0, 0);
  runtime.begin_capture(blocking);
  tensor.reset();
  EXPECT_EQ(bytes_in_use(), size);
  EXPECT_EQ(runtime.end_capture(blocking), 0);
  release_completed();
  runtime.run_pending();
  EXPECT_EQ(bytes_in_use(), 0);
}

TEST_P(Free, KeepsTheCapturesOfOtherStreamsValid) {
  stream_ref const captured = runtime.new_stream();
  for (int const mode : {0, 1}) {
    managed_tensor plain = new_tensor(runtime.new_stream(), false);
    managed_tensor ordered = new_tensor(runtime.new_stream());
    runtime.begin_capture(captured, mode);
    plain.reset();
    ordered.reset();
    EXPECT_EQ(runtime.end_capture(captured), 0);
    runtime.run_pending();
    EXPECT_EQ(bytes_in_use(), 0);
  }
}

TEST_P(Free, IsDeferredInAHostFunction) {
  auto* const launch =
      runtime.call<int(void*, void (*)(void*), void*)>("cuLaunchHostFunc", "hipLaunchHostFunc");
  auto const drop = [](void* tensor) { static_cast<managed_tensor*>(tensor)->reset(); };
  for (bool const is_ordered : {false, true}) {
    for (device const where : {runtime.device(), runtime.pinned()}) {
      for (bool const is_recorded : {false, true}) {
        stream_ref const stream = runtime.new_stream();
        stream_ref const reader = runtime.new_stream();
        managed_tensor tensor = new_tensor(stream, is_ordered, where);
        if (is_recorded) {
          read_on(reader, tensor);
          EXPECT_TRUE(try_record_stream(tensor, reader));
        }
        ASSERT_EQ(launch(stream.native_handle(), drop, &tensor), 0);
        runtime.synchronize(stream);
        EXPECT_FALSE(tensor);
        EXPECT_EQ(bytes_in_use() + runtime.counter("pinned_bytes"), size)
            << "the function may not call the driver";
        for (int turn = 0; turn < 3; ++turn) {
          release_completed();
        }
        runtime.run_pending();
        EXPECT_EQ(bytes_in_use() + runtime.counter("pinned_bytes"), 0);
        EXPECT_EQ(runtime.race_reports(), "");
      }
    }
  }
}

TEST_P(Free, KeepsTheEventOfACopyInAHostFunction) {
  auto* const launch =
      runtime.call<int(void*, void (*)(void*), void*)>("cuLaunchHostFunc", "hipLaunchHostFunc");
  stream_ref const stream = runtime.new_stream();
  stream_ref const other = runtime.new_stream();
  managed_tensor const source = new_tensor(stream, false);
  transfer_options options;
  options.source_outlives_copy = true;
  managed_tensor tensor = transfer(source, runtime.device(), stream, options);
  auto const drop = [](void* pending) { static_cast<managed_tensor*>(pending)->reset(); };
  ASSERT_EQ(launch(other.native_handle(), drop, &tensor), 0);
  runtime.synchronize(other);
  release_completed();
  EXPECT_EQ(bytes_in_use(), 2 * size) << "the copy has not completed";
  release_completed();
  EXPECT_EQ(bytes_in_use(), size);
}

TEST_P(Free, HappensOnAThreadWithoutAContext) {
  for (bool const is_ordered : {false, true}) {
    managed_tensor tensor = new_tensor(runtime.new_stream(1), is_ordered, runtime.device(1));
    std::thread([&] {
      std::uintptr_t const current = runtime.current();
      tensor.reset();
      EXPECT_EQ(runtime.current(), current);
    }).join();
    runtime.run_pending();
    EXPECT_EQ(bytes_in_use(), 0);
  }
}

TEST_P(Free, MemoryOfADestroyedContextIsLeftToTheDriver) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no contexts";
  }
  void* context = nullptr;
  ASSERT_EQ((runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "")(&context, 0, 0)), 0);
  stream_ref const stream = runtime.new_stream_in_current_context();
  managed_tensor plain = new_tensor(stream, false);
  managed_tensor pinned = new_tensor(stream, false, runtime.pinned());
  managed_tensor ordered = new_tensor(stream, true);
  ASSERT_EQ(runtime.call<int(void*)>("cuCtxDestroy_v2", "")(context), 0);
  EXPECT_EQ(bytes_in_use(), size) << "stream-ordered memory outlives its context";
  managed_tensor const bystander = new_tensor(runtime.new_stream(), false);
  plain.reset();
  pinned.reset();
  EXPECT_EQ(free_calls(), 0) << "the driver has freed the memory with the context";
  EXPECT_EQ(runtime.calls_of("cuMemFreeHost", ""), 0);
  ordered.reset();
  EXPECT_EQ(free_calls(), 1);
  EXPECT_EQ(bytes_in_use(), size) << "only that of the bystander remains";
  runtime.clear_misuses();  // the handles of the context and the stream were looked up
}

TEST_P(Free, WaitsForDefaultStreamsOfTheContextInWhichTheyWereRecorded) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP has no contexts";
  }
  stream_ref const standard = stream_ref::default_of(runtime.device());
  for (bool const is_ordered : {false, true}) {
    for (stream_ref const stream : {standard, runtime.new_stream()}) {
      void* context = nullptr;
      ASSERT_EQ((runtime.call<int(void**, unsigned, int)>("cuCtxCreate_v2", "")(&context, 0, 0)),
                0);
      managed_tensor tensor = new_tensor(stream, is_ordered);
      read_on(standard, tensor);
      EXPECT_TRUE(try_record_stream(tensor, standard));
      std::thread([&] { tensor.reset(); }).join();
      void* popped = nullptr;
      ASSERT_EQ(runtime.call<int(void**)>("cuCtxPopCurrent_v2", "")(&popped), 0);
      runtime.run_pending();
      EXPECT_EQ(bytes_in_use(), 0);
    }
  }
}

TEST_P(Free, FreesNeedFewDriverCalls) {
  auto const calls_of_free = [&](bool is_ordered, device where) {
    managed_tensor tensor = new_tensor(runtime.new_stream(), is_ordered, where);
    runtime.reset_call_counts();
    tensor.reset();
    return runtime.call_count(nullptr);
  };
  // CUDA is also asked whether the context of the memory exists, and again before it is entered.
  long const asked = runtime.is_cuda() ? 1 : 0;
  EXPECT_EQ(calls_of_free(true, runtime.device()), 2 + asked)
      << "a query of the stream, and the free";
  EXPECT_EQ(calls_of_free(false, runtime.device()), 4 + 2 * asked)
      << "a query of what is current, two changes of the capture mode, and the free";
  EXPECT_EQ(calls_of_free(false, runtime.pinned()), 4 + 2 * asked);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Free, ::testing::Values(runtime_kind::cuda, runtime_kind::hip),
                         runtime_name);

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// transfer_async.hpp: the copy runs after the function has returned, and its source is kept until
// then; managed_memory.hpp: hints reach the driver.
#include <dlbridge/runtime/managed_memory.hpp>
#include <dlbridge/runtime/transfer_async.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../unit/refusal.hpp"
#include "simulated_runtime.hpp"
#include "transfer_fixture.hpp"

namespace {

using namespace transfer_tests;

using dlbridge::errc;
using dlbridge::host_wait;
using dlbridge::order_after;
using dlbridge::release_completed;
using dlbridge::runtime_kind;
using dlbridge::shared_tensor;
using dlbridge::transfer;
using dlbridge::transfer_async;
using dlbridge::transfer_options;

/// Counts how often its memory is freed.
struct counted_owner {
  int* frees;
  explicit counted_owner(int* count) : frees(count) {}
  counted_owner(counted_owner&& other) noexcept : frees(std::exchange(other.frees, nullptr)) {}
  counted_owner& operator=(counted_owner&&) = delete;
  ~counted_owner() {
    if (frees != nullptr) {
      ++*frees;
    }
  }
};

class TransferAsync : public TransferTest {
 protected:
  /// An owner of memory that the test itself frees later.
  shared_tensor owned(DLTensor const& t, int* frees) {
    return shared_tensor(build_on(counted_owner(frees), describe_view(dlbridge::view_of(t))));
  }
  long waits() { return runtime.calls_of("cuStreamSynchronize", "hipStreamSynchronize"); }

  elements const sixteen = row_major({16});
};

TEST_P(TransferAsync, CopiesEveryElementOfEveryLayout) {
  for (auto const& direction : directions()) {
    for (bool const is_pinned : {false, true}) {
      if (is_pinned && direction.first.type != kDLCPU && direction.second.type != kDLCPU) {
        continue;
      }
      device const to =
          is_pinned && direction.second.type == kDLCPU ? runtime.pinned() : direction.second;
      stream_ref const stream = stream_for(direction);
      for (elements const& each : layouts()) {
        SCOPED_TRACE(std::string(name_of(direction.first).c_str()) + " " + name_of(to).c_str());
        block const from = new_block(direction.first);
        DLTensor const t = each.at(from.middle(), direction.first);
        managed_tensor const result = transfer_async(shared_tensor(), each.view(t), to, stream);
        bytes const expected = flat_of(each.view(t));
        if (direction.first.type == kDLCPU) {
          std::memset(from.first, 0, block::size);  // pageable memory has been read
        }
        host_wait(stream);
        EXPECT_EQ(result.view().device(), to);
        EXPECT_TRUE(result.view().is_copied());
        ASSERT_EQ(flat_of(result.view()), expected);
      }
    }
  }
}

TEST_P(TransferAsync, ReturnsBeforeTheCopyHasRun) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  DLTensor const pageable = sixteen.at(data.data(), dlbridge::cpu);
  managed_tensor const pinned = transfer(sixteen.view(pageable), runtime.pinned(), stream);
  managed_tensor const there = transfer(sixteen.view(pageable), runtime.device(), stream);
  struct {
    tensor_view source;
    device where;
  } const moves[] = {{sixteen.view(pageable), runtime.device()},
                     {pinned.view(), runtime.device()},
                     {there.view(), runtime.pinned()},
                     {there.view(), runtime.device()},
                     {there.view(), runtime.device(1)}};
  for (auto const& each : moves) {
    runtime.reset_call_counts();
    managed_tensor const result = transfer_async(shared_tensor(), each.source, each.where, stream);
    EXPECT_GT(runtime.pending_count(), 0U);
    EXPECT_NE(flat_of(result.view()), data) << "it has not been copied yet";
    EXPECT_EQ(waits(), 0);
    host_wait(stream);
    EXPECT_EQ(flat_of(result.view()), data);
  }
}

TEST_P(TransferAsync, SourceIsKeptUntilTheCopyHasCompleted) {
  stream_ref const stream = runtime.new_stream();
  for (device const where : {runtime.device(), runtime.device(1), runtime.pinned()}) {
    int frees = 0;
    DLTensor const t = sixteen.at(runtime.new_memory(64), runtime.device());
    shared_tensor owner = owned(t, &frees);
    managed_tensor const result = transfer_async(owner, owner.get().view(), where, stream);
    owner = shared_tensor();
    release_completed();
    EXPECT_EQ(frees, 0);
    runtime.synchronize(stream);
    release_completed();
    EXPECT_EQ(frees, 1);
  }
}

// Allocates memory, and returns the number of frees before that of the memory.
template <class Table>
int frees_after_allocation(Table const& driver, stream_ref stream, bool is_ordered,
                           int const& frees) {
  dlbridge::context_guard<Table> guard(driver);
  dlbridge::driver_memory<Table> memory;
  EXPECT_TRUE(guard.try_enter(stream).ok());
  EXPECT_TRUE((is_ordered ? memory.try_allocate_on(driver, guard, stream, 64)
                          : memory.try_allocate(driver, guard, stream.device(), 64))
                  .ok());
  return frees;
}

TEST_P(TransferAsync, EveryAllocationAndTransferReleasesTheSource) {
  stream_ref const stream = runtime.new_stream();
  stream_ref const no_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  bytes data(64, 7);
  bytes other(64);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  DLTensor const u = sixteen.at(other.data(), dlbridge::cpu);
  DLTensor const v = sixteen.at(runtime.new_memory(64), runtime.device());
  tensor_view const host = sixteen.view(t);
  managed_tensor const pinned = transfer(host, runtime.pinned(), stream);
  int frees = 0;
  auto const allocate = [&](bool is_ordered) {
    EXPECT_EQ(runtime.is_cuda()
                  ? frees_after_allocation(*dlbridge::cuda(), stream, is_ordered, frees)
                  : frees_after_allocation(*dlbridge::hip(), stream, is_ordered, frees),
              1);
  };
  std::function<void()> const calls[] = {
      [&] { allocate(false); },
      [&] { allocate(true); },
      [&] { return transfer(host, runtime.device(), stream); },
      [&] { return transfer(host, dlbridge::cpu, no_stream); },
      [&] { return transfer(pinned.view(), dlbridge::cpu, stream); },
      [&] { transfer_into(host, sixteen.view(v), stream); },
      [&] { transfer_into(host, sixteen.view(u), no_stream); },
      [&] { return transfer_async(shared_tensor(), host, runtime.device(), stream); },
  };
  for (auto const& call : calls) {
    frees = 0;
    DLTensor const w = sixteen.at(runtime.new_memory(64), runtime.device());
    shared_tensor owner = owned(w, &frees);
    managed_tensor const result =
        transfer_async(owner, owner.get().view(), runtime.device(), stream);
    owner = shared_tensor();
    runtime.synchronize(stream);
    EXPECT_EQ(frees, 0);
    call();
    EXPECT_EQ(frees, 1) << "call " << (&call - calls);
  }
}

TEST_P(TransferAsync, SourceIsKeptAfterAFailedCall) {
  stream_ref const stream = runtime.new_stream();
  for (int const code : {1, 201, 400, 719}) {
    for (long n = 1; n < 5; ++n) {
      int frees = 0;
      DLTensor const t = sixteen.at(runtime.new_memory(64), runtime.device());
      shared_tensor owner = owned(t, &frees);
      managed_tensor const result =
          transfer_async(owner, owner.get().view(), runtime.device(), stream);
      owner = shared_tensor();
      runtime.fail_call(n, code);
      release_completed();
      EXPECT_EQ(frees, 0) << "call " << n << " returned " << code;
      runtime.clear_failures();
      runtime.synchronize(stream);
      release_completed();
      EXPECT_EQ(frees, 1);
    }
  }
}

TEST_P(TransferAsync, PinnedSourceIsKeptAndPageableSourceIsNot) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  int frees = 0;
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  shared_tensor owner = owned(t, &frees);
  managed_tensor const result = transfer_async(owner, owner.get().view(), runtime.device(), stream);
  owner = shared_tensor();
  EXPECT_EQ(frees, 1) << "its elements are in staging memory";
  shared_tensor pinned(transfer(sixteen.view(t), runtime.pinned(), stream));
  long long const bytes_of_pool = runtime.counter("pinned_bytes") - 64;
  managed_tensor const other =
      transfer_async(pinned, pinned.get().view(), runtime.device(), stream);
  pinned = shared_tensor();
  EXPECT_EQ(runtime.counter("pinned_bytes"), bytes_of_pool + 64);
  runtime.synchronize(stream);
  release_completed();
  EXPECT_EQ(runtime.counter("pinned_bytes"), bytes_of_pool);
  EXPECT_EQ(flat_of(result.view()), data);
  EXPECT_EQ(flat_of(other.view()), data);
}

TEST_P(TransferAsync, RegisteredMemoryIsReadInStreamOrder) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 1);
  ASSERT_EQ((runtime.call<int(void*, std::size_t, unsigned)>(
                "cuMemHostRegister_v2", "hipHostRegister")(data.data(), 64, 0)),
            0);
  EXPECT_EQ(runtime.write(stream.native_handle(), data.data(), 7, 64), 0);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  managed_tensor const result =
      transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream);
  runtime.synchronize(stream);
  EXPECT_EQ(flat_of(result.view()), bytes(64, 7));
  ASSERT_EQ(runtime.call<int(void*)>("cuMemHostUnregister", "hipHostUnregister")(data.data()), 0);
}

TEST_P(TransferAsync, StagingMemoryIsReused) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  auto const allocations = [&] { return runtime.calls_of("cuMemHostAlloc", "hipHostMalloc"); };
  for (int turn = 0; turn < 20; ++turn) {
    data.assign(64, static_cast<unsigned char>(turn));
    managed_tensor const one =
        transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream);
    data.assign(64, 200);
    managed_tensor const other =
        transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream);
    runtime.synchronize(stream);
    ASSERT_EQ(flat_of(one.view()), bytes(64, static_cast<unsigned char>(turn)));
    ASSERT_EQ(flat_of(other.view()), bytes(64, 200)) << "two copies in flight have two blocks";
  }
  EXPECT_LE(allocations(), 3);
}

TEST_P(TransferAsync, LargePageableSourceIsCopied) {
  stream_ref const stream = runtime.new_stream();
  elements const many = row_major({5 << 20});  // 20 MiB
  bytes data(std::size_t{20} << 20, 7);
  int frees = 0;
  DLTensor const t = many.at(data.data(), dlbridge::cpu);
  shared_tensor owner = owned(t, &frees);
  managed_tensor const result = transfer_async(owner, owner.get().view(), runtime.device(), stream);
  owner = shared_tensor();
  EXPECT_EQ(frees, 0);
  runtime.synchronize(stream);
  release_completed();
  EXPECT_EQ(frees, 1);
  EXPECT_EQ(
      runtime.bytes_at(static_cast<unsigned char const*>(result.view().data()) + (19 << 20), 1),
      bytes(1, 7));
}

TEST_P(TransferAsync, CpuTensorIsReadyOnReturn) {
  stream_ref const stream = runtime.new_stream();
  auto* const memory = runtime.new_memory(64);
  DLTensor const t = sixteen.at(memory, runtime.device());
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 7, 64), 0);
  managed_tensor const result =
      transfer_async(shared_tensor(), sixteen.view(t), dlbridge::cpu, stream);
  EXPECT_EQ(flat(result.view()), bytes(64, 7));
}

TEST_P(TransferAsync, ResultMayBeFreedAtOnce) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  managed_tensor const there = transfer(sixteen.view(t), runtime.device(), stream);
  for (bool const is_ordered : {false, true}) {
    transfer_options options;
    options.stream_outlives_tensor = is_ordered;
    for (device const where : {runtime.device(), runtime.pinned()}) {
      transfer_async(shared_tensor(), there.view(), where, stream, options).reset();
    }
  }
}

TEST_P(TransferAsync, StreamMayBeDestroyedBeforeTheTensor) {
  bytes data(64, 7);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const stream = runtime.new_stream();
  managed_tensor result =
      transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream);
  runtime.destroy(stream);
  result.reset();
  release_completed();
}

TEST_P(TransferAsync, NeverWaitsWithStreamOrderedMemory) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  transfer_options options;
  options.stream_outlives_tensor = true;
  for (int turn = 0; turn < 10; ++turn) {
    shared_tensor first(
        transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream, options));
    managed_tensor second =
        transfer_async(first, first.get().view(), runtime.device(), stream, options);
    first = shared_tensor();
    EXPECT_EQ(runtime.read(stream.native_handle(), second.view().data(), 64), 0);
  }
  EXPECT_EQ(runtime.counter("host_synchronizations"), 0);
  runtime.run_pending();
  release_completed();
  runtime.run_pending();
  EXPECT_EQ(runtime.counter("device_bytes"), 0);
}

TEST_P(TransferAsync, LayoutsThatNeedTheHostAreCopiedWithAWait) {
  elements const pieces{float32, {8, 8, 8}, {1, 16, 150}, false};
  block const from = new_block(runtime.device(0));
  DLTensor const t = pieces.at(from.middle(), runtime.device(0));
  stream_ref const stream = runtime.new_stream();
  managed_tensor const result =
      transfer_async(shared_tensor(), pieces.view(t), runtime.device(), stream);
  EXPECT_EQ(runtime.pending_count(), 0U);
  EXPECT_EQ(flat_of(result.view()), flat_of(pieces.view(t)));
}

TEST_P(TransferAsync, CaptureIsRefusedAndOtherCapturesStayValid) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  runtime.begin_capture(stream, 0);
  EXPECT_EQ(refusal_of([&] {
              return transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream);
            }).substr(0, 9),
            "capturing");
  stream_ref const other = runtime.new_stream();
  managed_tensor result = transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), other);
  release_completed();
  result.reset();
  EXPECT_EQ(runtime.end_capture(stream), 0);
}

TEST_P(TransferAsync, FailureOfAnyCallLeaksNothing) {
  std::uintptr_t const current = runtime.current();
  for (auto const& direction : directions()) {
    block const from = new_block(direction.first);
    DLTensor const t = sixteen.at(from.middle(), direction.first);
    stream_ref const stream = runtime.new_stream(1);
    long long const before = runtime.counter("device_bytes");
    for (long n = 1; n < 200; ++n) {
      SCOPED_TRACE(n);
      int frees = 0;
      runtime.reset_call_counts();
      runtime.fail_call(n, 719);
      shared_tensor owner = owned(t, &frees);
      long calls = 0;
      static_cast<void>(refusal_of([&] {
        managed_tensor const tensor =
            transfer_async(owner, owner.get().view(), direction.second, stream);
        calls = runtime.call_count(nullptr);
        runtime.clear_failures();
        return 0;
      }));
      runtime.clear_failures();
      owner = shared_tensor();
      ASSERT_EQ(runtime.current(), current);
      runtime.synchronize(stream);
      release_completed();
      ASSERT_EQ(frees, 1);
      ASSERT_EQ(runtime.counter("device_bytes"), before);
      if (calls != 0 && calls < n) {
        break;
      }
    }
  }
}

TEST_P(TransferAsync, SourceOfAResetDeviceIsReleased) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "the simulated HIP has no reset of a device";
  }
  stream_ref const stream = runtime.new_stream();
  int frees = 0;
  DLTensor const t = sixteen.at(runtime.new_memory(64), runtime.device());
  shared_tensor owner = owned(t, &frees);
  managed_tensor result = transfer_async(owner, owner.get().view(), runtime.device(), stream);
  owner = shared_tensor();
  ASSERT_EQ(runtime.call<int(int)>("cuDevicePrimaryCtxReset_v2", "")(0), 0);
  release_completed();
  EXPECT_EQ(frees, 1);
  result.reset();
  runtime.clear_misuses();  // the events of the device were looked up
  void* context = nullptr;
  ASSERT_EQ((runtime.call<int(void**, int)>("cuDevicePrimaryCtxRetain", "")(&context, 0)), 0);
  order_after(runtime.new_stream(), runtime.new_stream());
  EXPECT_EQ(runtime.misuse_count(), 0U) << "no event of the past is used";
}

TEST_P(TransferAsync, StagingMemoryOfAResetDeviceIsNotUsed) {
  bytes data(64, 7);
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  for (int turn = 0; turn < 2; ++turn) {
    stream_ref const stream = runtime.new_stream();
    managed_tensor result =
        transfer_async(shared_tensor(), sixteen.view(t), runtime.device(), stream);
    runtime.synchronize(stream);
    EXPECT_EQ(flat_of(result.view()), data);
    release_completed();
    result.reset();
    begin();
  }
}

INSTANTIATE_TEST_SUITE_P(Runtimes, TransferAsync,
                         ::testing::Values(runtime_kind::cuda, runtime_kind::hip), runtime_name);

TEST(TransferAsyncOnTheHost, NeedsNoDriver) {
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  managed_tensor const result =
      transfer_async(shared_tensor(), sixteen.view(t), dlbridge::cpu, cpu_stream);
  EXPECT_EQ(flat(result.view()), data);
}

class Managed : public EachRuntimeTest {};

TEST_P(Managed, HintsReachTheDriver) {
  void* memory = nullptr;
  ASSERT_EQ((runtime.call<int(void**, std::size_t, unsigned)>("cuMemAllocManaged",
                                                              "hipMallocManaged")(&memory, 64, 1)),
            0);
  device const where = runtime.is_cuda() ? device(kDLCUDAManaged, 0) : runtime.pinned();
  elements const reversed{float32, {16}, {-1}, false};
  DLTensor const t = reversed.at(static_cast<char*>(memory) + 60, where);
  stream_ref const stream = runtime.new_stream(1);
  prefetch(reversed.view(t), runtime.device(1), stream);
  prefetch(reversed.view(t), dlbridge::cpu, stream);
  EXPECT_EQ(runtime.pending_count(), 2U) << "they run in stream order";
  EXPECT_EQ(runtime.calls_of("cuMemPrefetchAsync_v2", "hipMemPrefetchAsync"), 2);
  using dlbridge::memory_advice;
  for (bool const is_set : {true, false}) {
    advise(reversed.view(t), memory_advice::read_mostly, dlbridge::cpu, is_set);
    advise(reversed.view(t), memory_advice::preferred_location, runtime.device(1), is_set);
    advise(reversed.view(t), memory_advice::accessed_by, runtime.device(0), is_set);
  }
  EXPECT_EQ(runtime.calls_of("cuMemAdvise_v2", "hipMemAdvise"), 6);
}

TEST_P(Managed, OtherMemoryIsRefused) {
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(runtime.new_memory(64), runtime.device());
  stream_ref const stream = runtime.new_stream();
  EXPECT_EQ(refusal_of([&] {
              return prefetch(sixteen.view(t), runtime.device(), stream), 0;
            }).substr(0, 14),
            "runtime_failed");
  EXPECT_EQ(refusal_of([&] {
              return advise(sixteen.view(t), dlbridge::memory_advice::read_mostly, dlbridge::cpu),
                     0;
            }).substr(0, 14),
            "runtime_failed");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Managed,
                         ::testing::Values(runtime_kind::cuda, runtime_kind::hip), runtime_name);

}  // namespace

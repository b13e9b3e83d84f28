// SPDX-License-Identifier: BSD-3-Clause
// transfer.hpp: copies every element, with as few calls as the layout allows, in the order of the
// stream; a failure leaks nothing.
#include <dlbridge/runtime/transfer.hpp>
#include <dlbridge/runtime/transfer_async.hpp>
#include <dlbridge/shared_tensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../unit/refusal.hpp"
#include "simulated_runtime.hpp"
#include "transfer_fixture.hpp"

namespace {

using namespace transfer_tests;
using dlbridge::errc;
using dlbridge::runtime_kind;
using dlbridge::struct_kind;
using dlbridge::transfer;
using dlbridge::transfer_async;
using dlbridge::transfer_into;
using dlbridge::transfer_options;

class Transfer : public TransferTest {};

sizes strides_of(managed_tensor const& tensor) {
  std::int64_t strides[dlbridge::max_rank];
  tensor.view().copy_strides(strides);
  return sizes(strides, strides + tensor.view().rank());
}

TEST_P(Transfer, CopiesEveryElementOfEveryLayout) {
  for (auto const& direction : directions()) {
    stream_ref const stream = stream_for(direction);
    for (elements const& each : layouts()) {
      SCOPED_TRACE(std::string(name_of(direction.first).c_str()) + " " +
                   name_of(each.type).c_str());
      block const from = new_block(direction.first);
      DLTensor const t = each.at(from.middle(), direction.first);
      tensor_view const source = each.view(t);
      managed_tensor const result = transfer(source, direction.second, stream);
      tensor_view const got = result.view();
      EXPECT_EQ(got.device(), direction.second);
      EXPECT_EQ(got.dtype(), each.type);
      EXPECT_EQ(sizes(got.shape(), got.shape() + got.rank()), each.shape);
      EXPECT_TRUE(got.is_compact() || got.empty());
      EXPECT_TRUE(got.is_copied());
      EXPECT_FALSE(got.read_only());
      EXPECT_EQ(got.is_padded(), each.padded);
      ASSERT_EQ(flat_of(got), flat_of(source));
      ASSERT_EQ(bytes_of(from, direction.first), from.host) << "the source is unchanged";
    }
  }
  EXPECT_EQ(runtime.counter("device_synchronizations"), runtime.calls_of("cuMemFree_v2", "hipFree"))
      << "only freeing waits for the device";
}

TEST_P(Transfer, IntoExistingMemoryChangesOnlyTheElements) {
  std::mt19937 random(9);
  for (auto const& direction : directions()) {
    stream_ref const stream = stream_for(direction);
    for (elements const& each : layouts()) {
      elements target = row_major(each.shape, each.type);
      target.padded = each.padded;
      std::int64_t step = 1 + static_cast<std::int64_t>(random() % 3);
      for (std::size_t k = each.shape.size(); k-- > 0;) {  // with gaps, some strides negative
        target.strides[k] = random() % 3 == 0 ? -step : step;
        step = step * each.shape[k] + static_cast<std::int64_t>(random() % 2);
      }
      SCOPED_TRACE(std::string(name_of(direction.first).c_str()) + " " +
                   name_of(each.type).c_str());
      block const from = new_block(direction.first);
      block const to = new_block(direction.second, 2);
      DLTensor const t = each.at(from.middle(), direction.first);
      DLTensor const u = target.at(to.middle(), direction.second);
      transfer_into(each.view(t), target.view(u), stream);
      bytes expected = to.host;  // the host's copy function applied to the same bytes
      DLTensor const model = target.at(expected.data() + block::size / 2, dlbridge::cpu);
      bytes host_source = from.host;
      DLTensor const model_source = each.at(host_source.data() + block::size / 2, dlbridge::cpu);
      copy(each.view(model_source), target.view(model));
      ASSERT_EQ(bytes_of(to, direction.second), expected);
    }
  }
}

// Another stream writes bytes between the elements at the same time. The driver reports a copy that
// writes them too as a race.
TEST_P(Transfer, IntoExistingMemoryLeavesTheBytesBetweenTheElementsToOthers) {
  elements const layouts_with_gaps[] = {
      {float32, {64}, {-3}, false},
      {float32, {5, 4}, {-20, 3}, false},
      {float32, {5, 4}, {3, -20}, false},
      {float32, {3, 4, 2}, {-40, -8, -2}, false},
      {three_bytes, {6, 3}, {-2, 20}, false},
      {int4, {5, 3}, {-7, 2}, true},
      {float32, {8, 8, 8}, {3, 30, 250}, false},  // many pieces
  };
  for (auto const& direction : directions()) {
    if (direction.second.type == kDLCPU) {
      continue;
    }
    stream_ref const stream = stream_for(direction);
    stream_ref const other = runtime.new_stream(direction.second.id);
    for (elements const& target : layouts_with_gaps) {
      SCOPED_TRACE(std::string(name_of(direction.first).c_str()) + " " +
                   name_of(target.type).c_str());
      elements each = row_major(target.shape, target.type);
      each.padded = target.padded;
      block const from = new_block(direction.first);
      block const to = new_block(direction.second, 2);
      DLTensor const t = each.at(from.middle(), direction.first);
      DLTensor const u = target.at(to.middle(), direction.second);
      bytes is_element(block::size);  // the copy of elements whose bits are all set
      bytes ones(block::size, 0xff);
      DLTensor const ones_tensor = each.at(ones.data(), dlbridge::cpu);
      DLTensor const model = target.at(is_element.data() + block::size / 2, dlbridge::cpu);
      copy(each.view(ones_tensor), target.view(model));
      auto const range = dlbridge::detail::range_of(target.view(u));
      std::vector<std::size_t> gaps;
      for (std::int64_t i = range.first; i < range.first + range.size && gaps.size() < 8; ++i) {
        auto const position = block::size / 2 + static_cast<std::size_t>(i);
        if (is_element[position] == 0) {
          gaps.push_back(position);
        }
      }
      ASSERT_EQ(gaps.size(), 8U);
      runtime.use(direction.second.id);
      for (std::size_t const position : gaps) {
        EXPECT_EQ(runtime.write(other.native_handle(), to.first + position, 9, 1), 0);
      }
      runtime.use(0);
      transfer_into(each.view(t), target.view(u), stream);
      runtime.run_pending();
      EXPECT_EQ(runtime.race_reports(), "");
      runtime.clear_races();
      for (std::size_t const position : gaps) {
        EXPECT_EQ(runtime.bytes_at(to.first + position, 1)[0], 9);
      }
      EXPECT_EQ(flat_of(target.view(u)), flat_of(each.view(t)));
    }
  }
}

TEST_P(Transfer, TensorWithoutGapsIsOneCopy) {
  for (auto const& direction : directions()) {
    for (elements const& each :
         {row_major({3, 4, 5}), elements{float32, {5, 3}, {1, 5}, false},
          elements{float32, {2, 3, 4}, {4, 8, 1}, false}, row_major({7}, int4)}) {
      block const from = new_block(direction.first);
      DLTensor const t = each.at(from.middle(), direction.first);
      stream_ref const stream = stream_for(direction);
      runtime.reset_call_counts();
      managed_tensor const result = transfer(each.view(t), direction.second, stream);
      EXPECT_EQ(copy_calls(), 1);
      EXPECT_EQ(peer_copy_calls(), direction.second == runtime.device(1) ? 1 : 0)
          << "even without peer access";
      EXPECT_EQ(sizes(result.view().strides(), result.view().strides() + result.view().rank()),
                each.strides)
          << "the order of dimensions is that of the source";
    }
  }
}

TEST_P(Transfer, TheOrderOfDimensionsDependsOnTheSourceAlone) {
  elements const columns{float32, {2, 3}, {1, 2}, false};
  bytes data = random_bytes(24);
  DLTensor const t = columns.at(data.data(), dlbridge::cpu);
  stream_ref const stream = runtime.new_stream();
  stream_ref const no_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  managed_tensor const pinned = transfer(columns.view(t), runtime.pinned(), no_stream);
  managed_tensor const there = transfer(columns.view(t), runtime.device(), stream);
  managed_tensor const on_cpu = transfer(columns.view(t), dlbridge::cpu, no_stream);
  managed_tensor const of_pinned = transfer(pinned.view(), dlbridge::cpu, stream);
  managed_tensor const by_driver =
      runtime.is_cuda() ? transfer(*dlbridge::cuda(), pinned.view(), dlbridge::cpu, stream)
                        : transfer(*dlbridge::hip(), pinned.view(), dlbridge::cpu, stream);
  for (managed_tensor const* each : {&pinned, &there, &on_cpu, &of_pinned, &by_driver}) {
    EXPECT_EQ(strides_of(*each), columns.strides);
    EXPECT_EQ(flat_of(each->view()), flat(columns.view(t)));
  }
}

TEST_P(Transfer, BitsAfterTheLastElementAreNotThoseOfOtherElements) {
  bytes data(64, 0xff);
  stream_ref const stream = runtime.new_stream();
  auto const last_byte = [&](managed_tensor const& tensor) {
    host_wait(stream);
    auto const* const first = static_cast<unsigned char const*>(tensor.view().data());
    return int{tensor.view().device() == runtime.device() ? runtime.bytes_at(first + 1, 1)[0]
                                                          : first[1]};
  };
  for (elements const& each : {row_major({3}, int4), elements{int4, {3}, {2}, false}}) {
    DLTensor const t = each.at(data.data(), dlbridge::cpu);
    tensor_view const host = each.view(t);
    managed_tensor const there = transfer(host, runtime.device(), stream);
    managed_tensor const staged = transfer_async({}, host, runtime.device(), stream);
    EXPECT_EQ(last_byte(staged), 0x0f);
    if (!host.is_compact()) {
      EXPECT_EQ(last_byte(there), 0x0f) << "the CPU has packed the elements";
    }
    EXPECT_EQ(last_byte(transfer(host, runtime.pinned(), stream)), 0x0f);
    for (device const where : {runtime.pinned(), dlbridge::cpu}) {
      EXPECT_EQ(last_byte(transfer(there.view(), where, stream)), 0x0f);
      EXPECT_EQ(last_byte(transfer_async({}, there.view(), where, stream)), 0x0f);
    }
  }
}

TEST_P(Transfer, RowsWithGapsAreOneBlockCopy) {
  elements const columns{float32, {4, 3}, {8, 1}, false};
  elements const column{float32, {7}, {3}, false};
  elements const planes{float32, {3, 4, 2}, {50, 10, 1}, false};
  for (auto const& direction : directions()) {
    bool const is_peer = direction.second == runtime.device(1);
    block const from = new_block(direction.first);
    for (elements const& each : {columns, column, planes}) {
      DLTensor const t = each.at(from.middle(), direction.first);
      stream_ref const stream = stream_for(direction);
      runtime.reset_call_counts();
      managed_tensor const result = transfer(each.view(t), direction.second, stream);
      long const blocks = each.shape.size() == 3 ? 3 : 1;
      if (is_peer && !runtime.is_cuda()) {
        EXPECT_GE(peer_copy_calls(), 4) << "one copy for each row";
        EXPECT_LE(peer_copy_calls(), 12);
      } else {
        EXPECT_EQ(copy_calls(), blocks);
      }
      EXPECT_EQ(block_copy_calls(), is_peer ? 0 : blocks);
      EXPECT_EQ(runtime.calls_of("cuStreamSynchronize", "hipStreamSynchronize"), 1)
          << "for the end of the copy";
    }
  }
}

// CUDA: "cuMemcpy2D() may fail for pitches not computed by cuMemAllocPitch()" within a device.
TEST_P(Transfer, RowsAreCopiedOneByOneIfTheDriverRefusesTheirPitch) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "HIP states no such rule";
  }
  elements const rows{float32, {6, 5}, {9, 1}, false};
  block const from = new_block(runtime.device());
  DLTensor const t = rows.at(from.middle(), runtime.device());
  stream_ref const stream = runtime.new_stream();
  runtime.fail("cuMemcpy2DAsync_v2", "", dlbridge::driver_invalid_value);
  runtime.reset_call_counts();
  managed_tensor const result = transfer(rows.view(t), runtime.device(), stream);
  EXPECT_EQ(flat_of(result.view()), flat_of(rows.view(t)));
  EXPECT_EQ(runtime.call_count("cuMemcpyAsync"), 6);
  auto const is_refused = [&](device where) {
    return refusal_of([&] {
             return transfer(rows.view(t), where, stream);
           }).rfind("runtime_failed", 0) == 0;
  };
  EXPECT_TRUE(is_refused(dlbridge::cpu)) << "the rule is about copies within a device";
  runtime.fail("cuMemcpy2DAsync_v2", "", 700);
  EXPECT_TRUE(is_refused(runtime.device())) << "the work on the device has failed";
  runtime.clear_failures();
}

TEST_P(Transfer, ManySmallPiecesAreCopiedThroughTheHost) {
  elements const pieces{float32, {8, 8, 8}, {1, 16, 150}, false};
  elements const target{float32, {8, 8, 8}, {64, 8, 1}, false};
  block const from = new_block(runtime.device(0));
  DLTensor const t = pieces.at(from.middle(), runtime.device(0));
  stream_ref const stream = runtime.new_stream();
  runtime.reset_call_counts();
  managed_tensor const result = transfer(pieces.view(t), dlbridge::cpu, stream);
  EXPECT_LE(copy_calls(), 16);
  EXPECT_EQ(flat_of(result.view()), flat_of(pieces.view(t)));
}

TEST_P(Transfer, RunsAfterEarlierOperationsOnTheStream) {
  stream_ref const stream = runtime.new_stream();
  auto* const memory = runtime.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, runtime.device());
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 7, 64), 0);
  managed_tensor const read = transfer(sixteen.view(t), dlbridge::cpu, stream);
  EXPECT_EQ(flat(read.view()), bytes(64, 7));
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 8, 64), 0);
  managed_tensor const result = transfer(sixteen.view(t), runtime.device(), stream);
  EXPECT_EQ(flat_of(result.view()), bytes(64, 8));
}

TEST_P(Transfer, AcceptsAStreamOfEitherDevice) {
  elements const sixteen = row_major({16});
  block const from = new_block(runtime.device(0));
  DLTensor const t = sixteen.at(from.middle(), runtime.device(0));
  transfer_options options;
  options.stream_outlives_tensor = true;
  for (int const ordinal : {0, 1}) {
    managed_tensor const result =
        transfer(sixteen.view(t), runtime.device(1), runtime.new_stream(ordinal), options);
    EXPECT_EQ(located(result.view()), runtime.device(1));
    EXPECT_EQ(flat_of(result.view()), flat_of(sixteen.view(t)));
  }
  EXPECT_EQ(runtime.calls_of("cuMemAllocAsync", "hipMallocAsync"), 1)
      << "only on a stream of the tensor's device";
}

TEST_P(Transfer, SourceThatOutlivesTheCopyAvoidsWaiting) {
  stream_ref const stream = runtime.new_stream();
  auto* const memory = runtime.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, runtime.device());
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 7, 64), 0);
  transfer_options options;
  options.source_outlives_copy = true;
  managed_tensor const result = transfer(sixteen.view(t), runtime.device(), stream, options);
  EXPECT_GT(runtime.pending_count(), 0U);
  EXPECT_EQ(runtime.read(stream.native_handle(), const_cast<void*>(result.view().data()), 64), 0);
  EXPECT_TRUE(try_record_stream(result, stream)) << "so that the free waits for the read";
  runtime.run_pending();
  EXPECT_EQ(flat_of(result.view()), bytes(64, 7));
  EXPECT_EQ(runtime.calls_of("cuStreamSynchronize", "hipStreamSynchronize"), 0);
}

TEST_P(Transfer, HostTensorIsReadyOnReturn) {
  stream_ref const stream = runtime.new_stream();
  auto* const memory = runtime.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, runtime.device());
  EXPECT_EQ(runtime.write(stream.native_handle(), memory, 7, 64), 0);
  transfer_options options;
  options.source_outlives_copy = true;
  for (device const where : {runtime.pinned(), dlbridge::cpu}) {
    managed_tensor const result = transfer(sixteen.view(t), where, stream, options);
    EXPECT_EQ(runtime.pending_count(), 0U);
    EXPECT_EQ(flat_of(result.view()), bytes(64, 7));
  }
}

TEST_P(Transfer, StreamThatOutlivesTheTensorOrdersItsMemory) {
  stream_ref const stream = runtime.new_stream();
  auto* const memory = runtime.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, runtime.device());
  transfer_options options;
  options.source_outlives_copy = true;
  options.stream_outlives_tensor = true;
  {
    managed_tensor const result = transfer(sixteen.view(t), runtime.device(), stream, options);
    EXPECT_EQ(runtime.read(stream.native_handle(), const_cast<void*>(result.view().data()), 64), 0);
  }
  EXPECT_EQ(runtime.calls_of("cuMemAllocAsync", "hipMallocAsync"), 1);
  EXPECT_EQ(runtime.calls_of("cuMemFreeAsync", "hipFreeAsync"), 1);
  EXPECT_EQ(runtime.counter("host_synchronizations"), 0);
}

TEST_P(Transfer, WithoutStreamOrderedAllocationMemoryIsAllocatedImmediately) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 7);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  transfer_options options;
  options.stream_outlives_tensor = true;
  runtime.fail("cuMemAllocAsync", "hipMallocAsync", dlbridge::driver_not_supported);
  managed_tensor result = transfer(sixteen.view(t), runtime.device(), stream, options);
  EXPECT_EQ(flat_of(result.view()), data);
  result.reset();
  EXPECT_EQ(runtime.calls_of("cuMemFree_v2", "hipFree"), 1);
}

TEST_P(Transfer, MemoryIsFreedOnceFromAnyThread) {
  bytes data(64, 7);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  long long const before = runtime.counter("device_bytes");
  for (struct_kind const kind : {struct_kind::versioned, struct_kind::legacy}) {
    transfer_options options;
    options.kind = kind;
    managed_tensor result =
        transfer(sixteen.view(t), runtime.device(1), runtime.new_stream(1), options);
    EXPECT_EQ(result.kind(), kind);
    EXPECT_GT(runtime.counter("device_bytes"), before);
    std::thread([&] {
      std::uintptr_t const current = runtime.current();
      result.reset();
      EXPECT_EQ(runtime.current(), current);
    }).join();
    EXPECT_EQ(runtime.counter("device_bytes"), before);
  }
  EXPECT_EQ(runtime.calls_of("cuMemFree_v2", "hipFree"), 2);
}

TEST_P(Transfer, TensorsThatOutliveTheDriverAreNotFreed) {
  static std::vector<managed_tensor> until_exit;  // destroyed after the driver has ended
  bytes data(64, 7);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  transfer_options options;
  options.stream_outlives_tensor = true;
  until_exit.push_back(transfer(sixteen.view(t), runtime.device(), runtime.new_stream(), options));
  until_exit.push_back(transfer(sixteen.view(t), runtime.pinned(), runtime.new_stream()));
  until_exit.push_back(transfer(sixteen.view(t), runtime.device(), runtime.new_stream()));
}

TEST_P(Transfer, CopiesToAndFromPinnedMemory) {
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  for (stream_ref const stream : {runtime.new_stream(), cpu_stream}) {
    managed_tensor result = transfer(sixteen.view(t), runtime.pinned(), stream);
    EXPECT_EQ(result.view().device(), runtime.pinned());
    EXPECT_EQ(runtime.counter("pinned_bytes"), 64);
    managed_tensor const there = transfer(result.view(), runtime.device(), runtime.new_stream());
    EXPECT_EQ(flat_of(there.view()), data);
    managed_tensor const back = transfer(result.view(), dlbridge::cpu, cpu_stream);
    EXPECT_EQ(flat(back.view()), data);
    result.reset();
    EXPECT_EQ(runtime.counter("pinned_bytes"), 0);
  }
}

TEST_P(Transfer, PinnedMemoryIsReadAfterEarlierOperationsOnTheStream) {
  stream_ref const stream = runtime.new_stream();
  bytes data(64, 1);
  elements const plain = row_major({16});
  elements const backwards{float32, {16}, {-1}, false};
  DLTensor const t = plain.at(data.data(), dlbridge::cpu);
  managed_tensor const pinned = transfer(plain.view(t), runtime.pinned(), stream);
  auto* const first = static_cast<unsigned char*>(const_cast<void*>(pinned.view().data()));
  DLTensor const u = backwards.at(first + 60, runtime.pinned());
  unsigned char value = 7;
  for (device const where : {runtime.device(), runtime.pinned(), dlbridge::cpu}) {
    EXPECT_EQ(runtime.write(stream.native_handle(), first, ++value, 64), 0);
    managed_tensor const result = transfer(backwards.view(u), where, stream);
    EXPECT_EQ(flat_of(result.view()), bytes(64, value)) << name_of(where).c_str();
  }
  EXPECT_EQ(runtime.write(stream.native_handle(), first, ++value, 64), 0);
  transfer_into(backwards.view(u), plain.view(t), stream);
  EXPECT_EQ(data, bytes(64, value));
}

TEST_P(Transfer, CopiesToAndFromManagedMemory) {
  if (!runtime.is_cuda()) {
    GTEST_SKIP() << "DLPack has no device type for managed memory of ROCm";
  }
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const stream = runtime.new_stream();
  managed_tensor result = transfer(sixteen.view(t), device(kDLCUDAManaged, 0), stream);
  EXPECT_EQ(runtime.counter("managed_bytes"), 64);
  EXPECT_EQ(located(result.view()), device(kDLCUDAManaged, 0));
  managed_tensor const back = transfer(result.view(), dlbridge::cpu, stream);
  EXPECT_EQ(flat(back.view()), data);
  result.reset();
  EXPECT_EQ(runtime.counter("managed_bytes"), 0);
}

TEST_P(Transfer, LocatedReturnsTheDeviceThatTheDriverReports) {
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(runtime.new_memory(64, 1), runtime.device(0));
  EXPECT_EQ(located(sixteen.view(t)), runtime.device(1))
      << "the producer may number devices differently";
  bytes data(64);
  DLTensor const u = sixteen.at(data.data(), runtime.device(0));
  EXPECT_EQ(located(sixteen.view(u)), runtime.device(0))
      << "the driver did not allocate this memory";
  DLTensor const v = sixteen.at(data.data(), dlbridge::cpu);
  EXPECT_EQ(located(sixteen.view(v)), dlbridge::cpu);
}

// Captures ---------------------------------------------------------------------------------------

TEST_P(Transfer, IntoExistingMemoryCanBeCaptured) {
  stream_ref const stream = runtime.new_stream();
  elements const sixteen = row_major({16});
  auto* const memory = runtime.new_memory(64);
  DLTensor const t = sixteen.at(memory, runtime.device());
  DLTensor const u = sixteen.at(runtime.new_memory(64), runtime.device());
  runtime.begin_capture(stream);
  transfer_into(sixteen.view(t), sixteen.view(u), stream, true);
  EXPECT_EQ(runtime.end_capture(stream), 1);
  for (unsigned char value = 7; value < 9; ++value) {
    EXPECT_EQ(runtime.write(stream.native_handle(), memory, value, 64), 0);
    runtime.launch_captured(stream);
    runtime.synchronize(stream);
    EXPECT_EQ(flat_of(sixteen.view(u)), bytes(64, value)) << "each launch copies again";
  }
}

TEST_P(Transfer, WaitingIsRefusedDuringACapture) {
  stream_ref const stream = runtime.new_stream();
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(runtime.new_memory(64), runtime.device());
  DLTensor const u = sixteen.at(runtime.new_memory(64), runtime.device());
  bytes data(64);
  DLTensor const host = sixteen.at(data.data(), dlbridge::cpu);
  long long const memory = runtime.counter("device_bytes");
  runtime.begin_capture(stream);
  std::string const refusal =
      "capturing: stream is capturing: expected a stream that the host may wait for; got one that "
      "is captured. Captured operations have not run yet: wait after launching the graph";
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(t), dlbridge::cpu, stream); }), refusal);
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(t), runtime.device(), stream); }),
            refusal);
  EXPECT_EQ(refusal_of([&] { return transfer_into(sixteen.view(t), sixteen.view(u), stream), 0; }),
            refusal);
  EXPECT_EQ(refusal_of([&] {
              return transfer_into(sixteen.view(t), sixteen.view(host), stream, true), 0;
            }),
            refusal);
  EXPECT_EQ(runtime.end_capture(stream), 0);
  EXPECT_EQ(runtime.counter("device_bytes"), memory);
}

TEST_P(Transfer, AllocationKeepsTheCaptureOfAnotherStreamValid) {
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const captured = runtime.new_stream();
  stream_ref const stream = runtime.new_stream();
  for (device const where : {runtime.device(), runtime.pinned()}) {
    for (int const mode : {0, 1}) {  // global, and thread-local
      runtime.begin_capture(captured, mode);
      managed_tensor result = transfer(sixteen.view(t), where, stream);
      result.reset();
      std::thread([&] {
        runtime.use(0);
        transfer(sixteen.view(t), where, stream).reset();
      }).join();
      EXPECT_EQ(runtime.end_capture(captured), 0) << "the capture is still valid";
    }
  }
}

// Failures ---------------------------------------------------------------------------------------

TEST_P(Transfer, OutOfMemoryIsReportedAndLeaksNothing) {
  bytes data(4096);
  elements const many = row_major({1024});
  DLTensor const t = many.at(data.data(), dlbridge::cpu);
  stream_ref const stream = runtime.new_stream();
  runtime.set_memory_limit(2048);
  for (bool const is_stream_ordered : {false, true}) {
    transfer_options options;
    options.stream_outlives_tensor = is_stream_ordered;
    std::string const text =
        refusal_of([&] { return transfer(many.view(t), runtime.device(), stream, options); });
    EXPECT_EQ(text.rfind("out_of_memory: out of memory: expected ", 0), 0U) << text;
    EXPECT_NE(text.find(" to succeed with 4096 bytes; got "), std::string::npos) << text;
  }
  EXPECT_EQ(runtime.counter("device_bytes"), 0);
}

TEST_P(Transfer, FailureOfAnyCallLeaksNothingAndKeepsTheCurrentContext) {
  elements const gaps{float32, {8, 8, 8}, {1, 16, 150}, false};
  elements const plain = row_major({16});
  std::uintptr_t const current = runtime.current();
  for (auto const& direction : directions()) {
    for (elements const& each : {plain, gaps}) {
      block const from = new_block(direction.first);
      DLTensor const t = each.at(from.middle(), direction.first);
      stream_ref const stream = runtime.new_stream(1);
      long long const before = runtime.counter("device_bytes");
      for (long n = 1; n < 200; ++n) {
        SCOPED_TRACE(n);
        bool failed = false;
        runtime.reset_call_counts();
        runtime.fail_call(n, 719);
        long calls = 0;
        std::string const text = refusal_of([&] {
          managed_tensor const tensor = transfer(each.view(t), direction.second, stream);
          calls = runtime.call_count(nullptr);
          runtime.clear_failures();  // the failure of freeing is not tested here
          return 0;
        });
        runtime.clear_failures();
        failed = text != "accepted";
        ASSERT_EQ(runtime.current(), current);
        ASSERT_EQ(runtime.counter("device_bytes"), before);
        ASSERT_EQ(runtime.counter("pending"), 0) << "no operation is pending on freed memory";
        if (failed) {
          ASSERT_EQ(text.rfind("runtime_failed: ", 0), 0U) << text;
        } else if (calls < n) {
          break;
        }
      }
    }
  }
}

// docs/howto/move_to_devices.md has these numbers.
TEST_P(Transfer, MovesNeedFewDriverCalls) {
  elements const sixteen = row_major({16});
  stream_ref const stream = runtime.new_stream();
  auto const calls_of_move = [&](device from, device to) {
    block const memory = new_block(from);
    DLTensor const t = sixteen.at(memory.middle(), from);
    static_cast<void>(transfer(sixteen.view(t), to, stream));
    runtime.reset_call_counts();
    managed_tensor const result = transfer(sixteen.view(t), to, stream);
    return runtime.call_count(nullptr);
  };
  long const entered = runtime.is_cuda() ? 2 : 1;  // the context of the stream, and what is current
  long const attributes = runtime.is_cuda() ? 3 : 4;  // of an address in device memory
  long const stored = runtime.is_cuda() ? 1 : 0;      // the ID of the context of new memory
  EXPECT_EQ(calls_of_move(dlbridge::cpu, runtime.device()), entered + 6 + attributes + stored);
  EXPECT_EQ(calls_of_move(runtime.device(), dlbridge::cpu), entered + 3 + attributes);
  EXPECT_EQ(calls_of_move(runtime.device(), runtime.device()),
            entered + 6 + 2 * attributes + stored);
}

TEST_P(Transfer, ADriverOfTheCallerCopiesOnlyItsOwnDevicesOnItsOwnStreams) {
  bytes data(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  tensor_view const host = sixteen.view(t);
  stream_ref const no_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  device const other(runtime.is_cuda() ? kDLROCM : kDLCUDA, 0);
  long const copies_before = copy_calls();
  auto const reason_of = [](auto call) {
    std::string const text = refusal_of(call);
    return text.substr(0, text.find(':'));
  };
  auto const check = [&](auto const& driver) {
    stream_ref const stream = runtime.new_stream();
    auto const reason = [&](tensor_view const& source, device where, stream_ref on) {
      return reason_of([&] { return transfer(driver, source, where, on); });
    };
    EXPECT_EQ(reason(host, runtime.device(), no_stream), "bad_stream");
    EXPECT_EQ(reason(host, runtime.device(), stream_ref::default_of(other)), "bad_stream");
    EXPECT_EQ(reason(host, other, stream_ref::default_of(other)), "device_mismatch");
    EXPECT_EQ(reason(host, dlbridge::cpu, no_stream), "device_mismatch");
    EXPECT_EQ(reason(host, device(kDLOneAPI, 0), stream), "device_mismatch");
    EXPECT_EQ(reason_of([&] {
                return transfer_async(driver, {}, host, runtime.device(),
                                      stream_ref::default_of(other));
              }),
              "bad_stream");
    EXPECT_EQ(reason_of([&] { return transfer_async(driver, {}, host, other, stream); }),
              "bad_stream");
    DLTensor const u = sixteen.at(runtime.new_memory(64), runtime.device());
    EXPECT_EQ(reason_of([&] { transfer_into(driver, host, sixteen.view(u), no_stream); }),
              "bad_stream");
    DLTensor const v = sixteen.at(data.data(), other);
    EXPECT_EQ(reason_of([&] {
                transfer_into(driver, host, sixteen.view(v), stream_ref::default_of(other));
              }),
              "device_mismatch");
  };
  runtime.is_cuda() ? check(*dlbridge::cuda()) : check(*dlbridge::hip());
  EXPECT_EQ(copy_calls(), copies_before);
}

TEST_P(Transfer, NewMemoryIsThatOfTheCpuOrOfARuntime) {
  device const tpu_host(20, 0);  // which the CPU can access, and no runtime of dlbridge allocates
  bytes data(64, 5);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  DLTensor const u = sixteen.at(runtime.new_memory(64), runtime.device());
  stream_ref const stream = runtime.new_stream();
  for (tensor_view const& source : {sixteen.view(t), sixteen.view(u)}) {
    EXPECT_EQ(refusal_of([&] { return transfer(source, tpu_host, stream); }).substr(0, 15),
              "device_mismatch");
    EXPECT_EQ(refusal_of([&] {
                return transfer_async(dlbridge::shared_tensor(), source, tpu_host, stream);
              }).substr(0, 15),
              "device_mismatch");
  }
  bytes existing(64);
  DLTensor const v = sixteen.at(existing.data(), tpu_host);
  ASSERT_EQ(runtime.poke(u.data, data.data(), 64), 0);
  transfer_into(sixteen.view(u), sixteen.view(v), stream);  // existing memory may be any
  EXPECT_EQ(existing, data);
}

TEST_P(Transfer, AQueueThatNoRuntimeOrdersIsRefused) {
  bytes data(64, 5);
  bytes existing(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  DLTensor const u = sixteen.at(existing.data(), dlbridge::cpu);
  int queue = 0;
  stream_ref const sycl(device(kDLOneAPI, 0), static_cast<void*>(&queue));
  EXPECT_EQ(
      refusal_of([&] { return transfer(sixteen.view(t), dlbridge::cpu, sycl); }).substr(0, 10),
      "bad_stream");
  EXPECT_EQ(
      refusal_of([&] { return transfer(sixteen.view(t), runtime.pinned(), sycl); }).substr(0, 10),
      "bad_stream");
  EXPECT_EQ(refusal_of([&] {
              return transfer_into(sixteen.view(t), sixteen.view(u), sycl), 0;
            }).substr(0, 10),
            "bad_stream");
  EXPECT_EQ(existing, bytes(64));
}

TEST_P(Transfer, UnsupportedDevicesAndStreamsAreRefused) {
  bytes data(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), device(kDLOneAPI, 0));
  EXPECT_EQ(
      refusal_of([&] { return transfer(sixteen.view(t), dlbridge::cpu, runtime.new_stream()); }),
      "device_mismatch: expected memory of the CPU, and of CUDA or of ROCm, to copy; got "
      "oneapi:0 and cpu: device differs. Copy through the CPU, or request a copy from the "
      "producer");
  DLTensor const u = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  std::string const name = name_of(runtime.device()).c_str();
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(u), runtime.device(), cpu_stream); }),
            "bad_stream: bad stream: expected a stream of one of the two devices, cpu and " + name +
                "; got a stream on cpu");
  DLTensor const v = sixteen.at(runtime.new_memory(64), runtime.device());
  EXPECT_EQ(refusal_of([&] {
              return transfer_into(sixteen.view(v), row_major({15}).view(t), runtime.new_stream()),
                     0;
            }).substr(0, 15),
            "device_mismatch");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Transfer,
                         ::testing::Values(runtime_kind::cuda, runtime_kind::hip), runtime_name);

TEST_P(Transfer, TheDriverOfAnotherRuntimeIsRefused) {
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  auto const with = [&](auto const* driver) {
    return transfer(*driver, sixteen.view(t), runtime.device(), runtime.new_stream());
  };
  std::string const text = runtime.device().type == kDLCUDA
                               ? refusal_of([&] { return with(dlbridge::hip()); })
                               : refusal_of([&] { return with(dlbridge::cuda()); });
  EXPECT_NE(text.find("Leave the driver out, and dlbridge selects it"), std::string::npos) << text;
  managed_tensor const there = transfer(sixteen.view(t), runtime.device(), runtime.new_stream());
  EXPECT_EQ(there.view().device(), runtime.device());
}

TEST(TransferAcrossRuntimes, CopiesThroughTheCpu) {
  simulated_runtime& cuda = simulated_runtime::of(runtime_kind::cuda);
  simulated_runtime& hip = simulated_runtime::of(runtime_kind::hip);
  cuda.begin();
  hip.begin();
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const stream = cuda.new_stream();
  managed_tensor const on_cuda = transfer(sixteen.view(t), cuda.device(), stream);
  std::string const text = refusal_of([&] { return transfer(on_cuda, hip.device(), stream); });
  EXPECT_NE(text.find("Copy through the CPU, or request a copy from the producer"),
            std::string::npos)
      << text;
  managed_tensor const on_host = transfer(on_cuda, dlbridge::cpu, stream);
  managed_tensor const on_hip = transfer(on_host, hip.device(), hip.new_stream());
  managed_tensor const back = transfer(on_hip, dlbridge::cpu, hip.new_stream());
  EXPECT_EQ(flat(back.view()), data);
}

TEST(TransferOnTheHost, NeedsNoDriver) {
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  managed_tensor const result = transfer(sixteen.view(t), dlbridge::cpu, cpu_stream);
  EXPECT_EQ(flat(result.view()), data);
  EXPECT_TRUE(result.view().is_copied());
  device const second(kDLCPU, 1);
  managed_tensor const on_second = transfer(sixteen.view(t), second, cpu_stream);
  EXPECT_EQ(on_second.view().device(), second);
  elements const columns{float32, {2, 3}, {1, 2}, false};
  managed_tensor const same_order =
      transfer(columns.view(columns.at(data.data(), dlbridge::cpu)), dlbridge::cpu, cpu_stream);
  EXPECT_EQ(strides_of(same_order), columns.strides);
  bytes target(64);
  DLTensor const u = sixteen.at(target.data(), dlbridge::cpu);
  transfer_into(sixteen.view(t), sixteen.view(u), cpu_stream);
  EXPECT_EQ(target, data);
}

}  // namespace

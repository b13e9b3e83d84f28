// transfer.hpp: copies every element, with as few calls as the layout allows, in the order of the
// stream; a failure leaks nothing.
#include <dlbridge/runtime/transfer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../unit/refusal.hpp"
#include "simulated_runtime.hpp"

namespace {

using dlbridge::copy_of;
using dlbridge::device;
using dlbridge::dtype;
using dlbridge::errc;
using dlbridge::managed_tensor;
using dlbridge::runtime_kind;
using dlbridge::stream_ref;
using dlbridge::struct_kind;
using dlbridge::tensor_view;
using dlbridge::transfer;
using dlbridge::transfer_into;
using dlbridge::transfer_options;

using sizes = std::vector<std::int64_t>;
using bytes = std::vector<unsigned char>;

constexpr dtype float32{kDLFloat, 32, 1};
constexpr dtype int4{kDLInt, 4, 1};
constexpr dtype complex128{kDLComplex, 128, 1};
constexpr dtype three_bytes{kDLUInt, 8, 3};

/// The dtype, shape and strides of a tensor.
struct elements {
  dtype type = float32;
  sizes shape;
  sizes strides;
  bool padded = false;

  DLTensor at(void* first, device where) const {
    DLTensor t{};
    t.data = first;
    t.device = where.abi();
    t.ndim = static_cast<std::int32_t>(shape.size());
    t.dtype = type.abi();
    t.shape = const_cast<std::int64_t*>(shape.data());
    t.strides = const_cast<std::int64_t*>(strides.data());
    return t;
  }
  tensor_view view(DLTensor const& t) const {
    return dlbridge::view_of(t, padded ? dlbridge::flag_padded : 0);
  }
};

elements row_major(sizes shape, dtype type = float32) {
  elements result{type, shape, sizes(shape.size()), false};
  dlbridge::fill_row_major(static_cast<int>(shape.size()), result.shape.data(),
                           result.strides.data());
  return result;
}

bytes random_bytes(std::size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  bytes result(count);
  std::generate(result.begin(), result.end(),
                [&] { return static_cast<unsigned char>(engine() & 0xff); });
  return result;
}

/// The elements in row-major order. Uses copy_of, which has its own tests.
bytes flat(tensor_view const& view) {
  if (view.empty()) {
    return {};
  }
  managed_tensor const compact = copy_of(view);
  auto const count =
      static_cast<std::size_t>(dlbridge::bytes_for(view.count(), view.dtype(), view.is_padded()));
  auto const* const first = static_cast<unsigned char const*>(compact.view().data());
  return bytes(first, first + count);
}

class Transfer : public EachRuntimeTest {
 protected:
  /// Memory on a device or on the host, with random bytes. host has a copy of the bytes.
  struct block {
    bytes host;
    unsigned char* first = nullptr;
    static constexpr std::size_t size = 1 << 14;
    unsigned char* middle(std::size_t offset = 0) const { return first + size / 2 + offset; }
  };
  block new_block(device where, unsigned seed = 1) {
    block result{random_bytes(block::size, seed), nullptr};
    if (where.type == kDLCPU) {
      host_blocks_.push_back(result.host);
      result.first = host_blocks_.back().data();
    } else {
      result.first = runtime.new_memory(block::size, where.id);
      EXPECT_EQ(runtime.poke(result.first, result.host.data(), block::size), 0);
    }
    return result;
  }
  /// The present bytes of a block.
  bytes bytes_of(block const& memory, device where) {
    return where.type == kDLCPU ? bytes(memory.first, memory.first + block::size)
                                : runtime.bytes_at(memory.first, block::size);
  }
  /// The elements of a tensor on any device, in row-major order.
  bytes flat_of(tensor_view const& view) {
    if (view.device().type == kDLCPU || view.empty()) {
      return flat(view);
    }
    auto const range = dlbridge::detail::range_of(view);
    bytes copy = runtime.bytes_at(static_cast<unsigned char const*>(view.data()) + range.first,
                                  static_cast<std::size_t>(range.size));
    DLTensor t = view.to_dltensor();
    t.data = copy.data() - range.first;
    t.device = dlbridge::cpu.abi();
    return flat(tensor_view(t, view.flags()));
  }
  long copy_calls() {
    return runtime.calls_of("cuMemcpyAsync", "hipMemcpyAsync") + block_copy_calls() +
           peer_copy_calls();
  }
  long peer_copy_calls() { return runtime.calls_of("cuMemcpyPeerAsync", "hipMemcpyPeerAsync"); }
  long block_copy_calls() { return runtime.calls_of("cuMemcpy2DAsync_v2", "hipMemcpy2DAsync"); }
  /// Pairs of a source device and a destination device.
  std::vector<std::pair<device, device>> directions() const {
    return {{dlbridge::cpu, runtime.device(0)},
            {runtime.device(0), dlbridge::cpu},
            {runtime.device(0), runtime.device(0)},
            {runtime.device(0), runtime.device(1)}};
  }
  stream_ref stream_for(std::pair<device, device> direction) {
    return runtime.new_stream(direction.second.type == kDLCPU ? direction.first.id
                                                              : direction.second.id);
  }

 private:
  std::vector<bytes> host_blocks_ = [] {
    std::vector<bytes> blocks;
    blocks.reserve(10000);  // so that push_back does not move blocks that are in use
    return blocks;
  }();
};

std::vector<elements> layouts() {
  std::vector<elements> all = {
      row_major({6}),
      row_major({}),
      row_major({3, 4, 5}),
      row_major({0, 3}),
      {float32, {5, 3}, {1, 5}, false},          // column-major
      {float32, {4, 3}, {8, 1}, false},          // the first elements of each row
      {float32, {7}, {3}, false},                // one column
      {float32, {3, 4, 2}, {40, 10, 1}, false},  // planes of rows with gaps
      {float32, {6}, {-1}, false},               // reversed
      {float32, {3, 4}, {-4, 1}, false},         // rows in reverse order
      {float32, {3, 5}, {0, 1}, false},          // one row, broadcast
      {float32, {2, 3, 2, 3}, {1, 2, 70, 6}, false},
      {complex128, {4, 3}, {5, 1}, false},
      {three_bytes, {4, 3}, {5, 1}, false},
      row_major({7}, int4),
      row_major({3, 5}, int4),
      {int4, {4, 2}, {3, 1}, false},
      {int4, {5}, {-1}, false},
      {int4, {5, 3}, {1, 5}, true},
      {int4, {3, 2}, {4, 2}, true},
  };
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) {
    elements layout;
    std::size_t const rank = 1 + random() % 4;
    for (std::size_t k = 0; k < rank; ++k) {
      layout.shape.push_back(1 + static_cast<std::int64_t>(random() % 5));
      layout.strides.push_back(static_cast<std::int64_t>(random() % 161) - 80);
    }
    layout.type = i % 4 == 0 ? int4 : i % 4 == 1 ? three_bytes : float32;
    all.push_back(layout);
  }
  return all;
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

TEST_P(Transfer, RowsWithGapsAreOneBlockCopy) {
  elements const columns{float32, {4, 3}, {8, 1}, false};
  elements const column{float32, {7}, {3}, false};
  elements const planes{float32, {3, 4, 2}, {50, 10, 1}, false};
  for (auto const& direction : directions()) {
    if (direction.second == runtime.device(1)) {
      continue;
    }
    block const from = new_block(direction.first);
    for (elements const& each : {columns, column, planes}) {
      DLTensor const t = each.at(from.middle(), direction.first);
      stream_ref const stream = stream_for(direction);
      runtime.reset_call_counts();
      managed_tensor const result = transfer(each.view(t), direction.second, stream);
      EXPECT_EQ(copy_calls(), each.shape.size() == 3 ? 3 : 1);
      EXPECT_EQ(block_copy_calls(), copy_calls());
    }
  }
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
  DLTensor const t = sixteen.at(runtime.new_memory(64), runtime.device());
  DLTensor const u = sixteen.at(runtime.new_memory(64), runtime.device());
  runtime.begin_capture(stream);
  transfer_into(sixteen.view(t), sixteen.view(u), stream, true);
  EXPECT_EQ(runtime.end_capture(stream), 1);
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

TEST(TransferOnTheHost, NeedsNoDriver) {
  bytes data = random_bytes(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const cpu_stream(dlbridge::cpu, static_cast<void*>(nullptr));
  managed_tensor const result = transfer(sixteen.view(t), dlbridge::cpu, cpu_stream);
  EXPECT_EQ(flat(result.view()), data);
  EXPECT_TRUE(result.view().is_copied());
  bytes target(64);
  DLTensor const u = sixteen.at(target.data(), dlbridge::cpu);
  transfer_into(sixteen.view(t), sixteen.view(u), cpu_stream);
  EXPECT_EQ(target, data);
}

}  // namespace

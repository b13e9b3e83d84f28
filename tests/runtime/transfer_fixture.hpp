// transfer_fixture: tensors of every layout on the simulated devices, for the tests of transfers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/copy.hpp>
#include <dlbridge/runtime/transfer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "simulated_runtime.hpp"

namespace transfer_tests {

using dlbridge::copy_of;
using dlbridge::device;
using dlbridge::dtype;
using dlbridge::managed_tensor;
using dlbridge::stream_ref;
using dlbridge::tensor_view;

using sizes = std::vector<std::int64_t>;
using bytes = std::vector<unsigned char>;

inline constexpr dtype float32{kDLFloat, 32, 1};
inline constexpr dtype int4{kDLInt, 4, 1};
inline constexpr dtype complex128{kDLComplex, 128, 1};
inline constexpr dtype three_bytes{kDLUInt, 8, 3};

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

inline elements row_major(sizes shape, dtype type = float32) {
  elements result{type, shape, sizes(shape.size()), false};
  dlbridge::fill_row_major(static_cast<int>(shape.size()), result.shape.data(),
                           result.strides.data());
  return result;
}

inline bytes random_bytes(std::size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  bytes result(count);
  std::generate(result.begin(), result.end(),
                [&] { return static_cast<unsigned char>(engine() & 0xff); });
  return result;
}

/// The elements in row-major order. Uses copy_of, which has its own tests.
inline bytes flat(tensor_view const& view) {
  if (view.empty()) {
    return {};
  }
  managed_tensor const compact = copy_of(view);
  auto const count =
      static_cast<std::size_t>(dlbridge::bytes_for(view.count(), view.dtype(), view.is_padded()));
  auto const* const first = static_cast<unsigned char const*>(compact.view().data());
  return bytes(first, first + count);
}

/// A test that transfers tensors.
class TransferTest : public EachRuntimeTest {
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
  long peer_copy_calls() {
    return runtime.calls_of("cuMemcpyPeerAsync", "hipMemcpyPeerAsync") +
           (runtime.is_cuda() ? runtime.call_count("cuMemcpy3DPeerAsync") : 0);
  }
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

/// Layouts of up to 6 elements in each dimension, which fit into half a block.
inline std::vector<elements> layouts() {
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

}  // namespace transfer_tests

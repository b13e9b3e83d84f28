// transfer: every element reaches its place, by as few calls as its layout allows, in the order of
// the stream, and whatever fails leaves nothing behind.
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
#include "machine.hpp"

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
constexpr dtype odd{kDLUInt, 8, 3};  // of three bytes

/// Elements in memory of their own, at steps of their own; the first of them some way in.
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
  elements made{type, shape, sizes(shape.size()), false};
  dlbridge::fill_row_major(static_cast<int>(shape.size()), made.shape.data(), made.strides.data());
  return made;
}

bytes noise(std::size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  bytes made(count);
  std::generate(made.begin(), made.end(),
                [&] { return static_cast<unsigned char>(engine() & 0xff); });
  return made;
}

/// The elements one after the other, as the host's own copy puts them, which is held against the
/// specification elsewhere.
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

class Transfer : public OnEachRuntime {
 protected:
  /// A block of memory on a device, or on the host, with the same noise, and a place in its middle.
  struct block {
    bytes host;
    unsigned char* first = nullptr;
    static constexpr std::size_t size = 1 << 14;
    unsigned char* middle(std::size_t offset = 0) const { return first + size / 2 + offset; }
  };
  block new_block(device where, unsigned seed = 1) {
    block made{noise(block::size, seed), nullptr};
    if (where.type == kDLCPU) {
      kept_.push_back(made.host);
      made.first = kept_.back().data();
    } else {
      made.first = m.new_memory(block::size, where.id);
      EXPECT_EQ(m.poke(made.first, made.host.data(), block::size), 0);
    }
    return made;
  }
  /// The bytes of a block as they are now.
  bytes now(block const& one, device where) {
    return where.type == kDLCPU ? bytes(one.first, one.first + block::size)
                                : m.bytes_at(one.first, block::size);
  }
  /// What a tensor holds, wherever it is.
  bytes flat_of(tensor_view const& view) {
    if (view.device().type == kDLCPU || view.empty()) {
      return flat(view);
    }
    auto const range = dlbridge::detail::range_of(view);
    bytes copy = m.bytes_at(static_cast<unsigned char const*>(view.data()) + range.first,
                            static_cast<std::size_t>(range.size));
    DLTensor t = view.to_dltensor();
    t.data = copy.data() - range.first;
    t.device = dlbridge::cpu.abi();
    return flat(tensor_view(t, view.flags()));
  }
  long copies() { return m.called("cuMemcpyAsync", "hipMemcpyAsync") + blocks() + peer_copies(); }
  long peer_copies() { return m.called("cuMemcpyPeerAsync", "hipMemcpyPeerAsync"); }
  long blocks() { return m.called("cuMemcpy2DAsync_v2", "hipMemcpy2DAsync"); }
  std::vector<std::pair<device, device>> roads() const {
    return {{dlbridge::cpu, m.device(0)},
            {m.device(0), dlbridge::cpu},
            {m.device(0), m.device(0)},
            {m.device(0), m.device(1)}};
  }
  stream_ref stream_for(std::pair<device, device> road) {
    return m.new_stream(road.second.type == kDLCPU ? road.first.id : road.second.id);
  }

 private:
  std::vector<bytes> kept_ = [] {
    std::vector<bytes> room;
    room.reserve(10000);  // what was given out stays where it is
    return room;
  }();
};

std::vector<elements> layouts() {
  std::vector<elements> all = {
      row_major({6}),
      row_major({}),
      row_major({3, 4, 5}),
      row_major({0, 3}),
      {float32, {5, 3}, {1, 5}, false},          // column-major
      {float32, {4, 3}, {8, 1}, false},          // part of each row
      {float32, {7}, {3}, false},                // one column
      {float32, {3, 4, 2}, {40, 10, 1}, false},  // rows in planes
      {float32, {6}, {-1}, false},               // backwards
      {float32, {3, 4}, {-4, 1}, false},         // rows backwards
      {float32, {3, 5}, {0, 1}, false},          // one row three times
      {float32, {2, 3, 2, 3}, {1, 2, 70, 6}, false},
      {complex128, {4, 3}, {5, 1}, false},
      {odd, {4, 3}, {5, 1}, false},
      row_major({7}, int4),
      row_major({3, 5}, int4),
      {int4, {4, 2}, {3, 1}, false},
      {int4, {5}, {-1}, false},
      {int4, {5, 3}, {1, 5}, true},
      {int4, {3, 2}, {4, 2}, true},
  };
  std::mt19937 dice(5);
  for (int i = 0; i < 40; ++i) {
    elements one;
    std::size_t const rank = 1 + dice() % 4;
    for (std::size_t k = 0; k < rank; ++k) {
      one.shape.push_back(1 + static_cast<std::int64_t>(dice() % 5));
      one.strides.push_back(static_cast<std::int64_t>(dice() % 161) - 80);
    }
    one.type = i % 4 == 0 ? int4 : i % 4 == 1 ? odd : float32;
    all.push_back(one);
  }
  return all;
}

TEST_P(Transfer, EveryElementArrivesWhateverTheLayout) {
  for (auto const& road : roads()) {
    stream_ref const on = stream_for(road);
    for (elements const& each : layouts()) {
      SCOPED_TRACE(std::string(name_of(road.first).c_str()) + " " + name_of(each.type).c_str());
      block const from = new_block(road.first);
      DLTensor const t = each.at(from.middle(), road.first);
      tensor_view const source = each.view(t);
      managed_tensor const made = transfer(source, road.second, on);
      tensor_view const got = made.view();
      EXPECT_EQ(got.device(), road.second);
      EXPECT_EQ(got.dtype(), each.type);
      EXPECT_EQ(sizes(got.shape(), got.shape() + got.rank()), each.shape);
      EXPECT_TRUE(got.is_compact() || got.empty());
      EXPECT_TRUE(got.is_copied());
      EXPECT_FALSE(got.read_only());
      EXPECT_EQ(got.is_padded(), each.padded);
      ASSERT_EQ(flat_of(got), flat_of(source));
      ASSERT_EQ(now(from, road.first), from.host) << "the source is as it was";
    }
  }
  EXPECT_EQ(m.counter("device_synchronizations"), m.called("cuMemFree_v2", "hipFree"))
      << "freeing waits, and nothing else does";
}

TEST_P(Transfer, IntoMemoryThatIsThereNothingElseChanges) {
  std::mt19937 dice(9);
  for (auto const& road : roads()) {
    stream_ref const on = stream_for(road);
    for (elements const& each : layouts()) {
      elements target = row_major(each.shape, each.type);
      target.padded = each.padded;
      std::int64_t step = 1 + static_cast<std::int64_t>(dice() % 3);
      for (std::size_t k = each.shape.size(); k-- > 0;) {  // apart, and some backwards
        target.strides[k] = dice() % 3 == 0 ? -step : step;
        step = step * each.shape[k] + static_cast<std::int64_t>(dice() % 2);
      }
      SCOPED_TRACE(std::string(name_of(road.first).c_str()) + " " + name_of(each.type).c_str());
      block const from = new_block(road.first);
      block const to = new_block(road.second, 2);
      DLTensor const t = each.at(from.middle(), road.first);
      DLTensor const u = target.at(to.middle(), road.second);
      transfer_into(each.view(t), target.view(u), on);
      bytes expected = to.host;  // the host's own copy does the same to the same bytes
      DLTensor const model = target.at(expected.data() + block::size / 2, dlbridge::cpu);
      bytes twin = from.host;
      DLTensor const twin_t = each.at(twin.data() + block::size / 2, dlbridge::cpu);
      copy(each.view(twin_t), target.view(model));
      ASSERT_EQ(now(to, road.second), expected);
    }
  }
}

TEST_P(Transfer, OneBlockIsOneCopy) {
  for (auto const& road : roads()) {
    for (elements const& each :
         {row_major({3, 4, 5}), elements{float32, {5, 3}, {1, 5}, false},
          elements{float32, {2, 3, 4}, {4, 8, 1}, false}, row_major({7}, int4)}) {
      block const from = new_block(road.first);
      DLTensor const t = each.at(from.middle(), road.first);
      stream_ref const on = stream_for(road);
      m.forget_calls();
      managed_tensor const made = transfer(each.view(t), road.second, on);
      EXPECT_EQ(copies(), 1);
      EXPECT_EQ(peer_copies(), road.second == m.device(1) ? 1 : 0) << "also without peer access";
      EXPECT_EQ(sizes(made.view().strides(), made.view().strides() + made.view().rank()),
                each.strides)
          << "its order is kept";
    }
  }
}

TEST_P(Transfer, RowsApartAreOneCopyOfABlock) {
  elements const part{float32, {4, 3}, {8, 1}, false};
  elements const column{float32, {7}, {3}, false};
  elements const planes{float32, {3, 4, 2}, {50, 10, 1}, false};
  for (auto const& road : roads()) {
    if (road.second == m.device(1)) {
      continue;
    }
    block const from = new_block(road.first);
    for (elements const& each : {part, column, planes}) {
      DLTensor const t = each.at(from.middle(), road.first);
      stream_ref const on = stream_for(road);
      m.forget_calls();
      managed_tensor const made = transfer(each.view(t), road.second, on);
      EXPECT_EQ(copies(), each.shape.size() == 3 ? 3 : 1);
      EXPECT_EQ(blocks(), copies());
    }
  }
}

TEST_P(Transfer, ManySmallPiecesGoByTheHost) {
  elements const pieces{float32, {8, 8, 8}, {1, 16, 150}, false};
  elements const target{float32, {8, 8, 8}, {64, 8, 1}, false};
  block const from = new_block(m.device(0));
  DLTensor const t = pieces.at(from.middle(), m.device(0));
  stream_ref const on = m.new_stream();
  m.forget_calls();
  managed_tensor const made = transfer(pieces.view(t), dlbridge::cpu, on);
  EXPECT_LE(copies(), 16);
  EXPECT_EQ(flat_of(made.view()), flat_of(pieces.view(t)));
}

TEST_P(Transfer, ItComesAfterWhatIsOnTheStream) {
  stream_ref const on = m.new_stream();
  auto* const memory = m.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, m.device());
  EXPECT_EQ(m.write(on.native_handle(), memory, 7, 64), 0);
  managed_tensor const read = transfer(sixteen.view(t), dlbridge::cpu, on);
  EXPECT_EQ(flat(read.view()), bytes(64, 7));
  EXPECT_EQ(m.write(on.native_handle(), memory, 8, 64), 0);
  managed_tensor const made = transfer(sixteen.view(t), m.device(), on);
  EXPECT_EQ(flat_of(made.view()), bytes(64, 8));
}

TEST_P(Transfer, TheStreamMayBeEitherDevices) {
  elements const sixteen = row_major({16});
  block const from = new_block(m.device(0));
  DLTensor const t = sixteen.at(from.middle(), m.device(0));
  transfer_options how;
  how.stream_lives = true;
  for (int const ordinal : {0, 1}) {
    managed_tensor const made = transfer(sixteen.view(t), m.device(1), m.new_stream(ordinal), how);
    EXPECT_EQ(located(made.view()), m.device(1));
    EXPECT_EQ(flat_of(made.view()), flat_of(sixteen.view(t)));
  }
  EXPECT_EQ(m.called("cuMemAllocAsync", "hipMallocAsync"), 1) << "in the order of its own device";
}

TEST_P(Transfer, WithASourceThatLivesNobodyWaits) {
  stream_ref const on = m.new_stream();
  auto* const memory = m.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, m.device());
  EXPECT_EQ(m.write(on.native_handle(), memory, 7, 64), 0);
  transfer_options how;
  how.source_lives = true;
  managed_tensor const made = transfer(sixteen.view(t), m.device(), on, how);
  EXPECT_GT(m.pending(), 0U);
  EXPECT_EQ(m.read(on.native_handle(), const_cast<void*>(made.view().data()), 64), 0);
  m.drain();
  EXPECT_EQ(flat_of(made.view()), bytes(64, 7));
  EXPECT_EQ(m.called("cuStreamSynchronize", "hipStreamSynchronize"), 0);
}

TEST_P(Transfer, OnTheHostItIsReadyWhateverLives) {
  stream_ref const on = m.new_stream();
  auto* const memory = m.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, m.device());
  EXPECT_EQ(m.write(on.native_handle(), memory, 7, 64), 0);
  transfer_options how;
  how.source_lives = true;
  for (device const where : {m.pinned(), dlbridge::cpu}) {
    managed_tensor const made = transfer(sixteen.view(t), where, on, how);
    EXPECT_EQ(m.pending(), 0U);
    EXPECT_EQ(flat_of(made.view()), bytes(64, 7));
  }
}

TEST_P(Transfer, MemoryComesAndGoesInTheOrderOfALentStream) {
  stream_ref const on = m.new_stream();
  auto* const memory = m.new_memory(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(memory, m.device());
  transfer_options how;
  how.source_lives = true;
  how.stream_lives = true;
  {
    managed_tensor const made = transfer(sixteen.view(t), m.device(), on, how);
    EXPECT_EQ(m.read(on.native_handle(), const_cast<void*>(made.view().data()), 64), 0);
  }
  EXPECT_EQ(m.called("cuMemAllocAsync", "hipMallocAsync"), 1);
  EXPECT_EQ(m.called("cuMemFreeAsync", "hipFreeAsync"), 1);
  EXPECT_EQ(m.counter("host_synchronizations"), 0);
}

TEST_P(Transfer, WithoutAPoolMemoryIsTakenAtOnce) {
  stream_ref const on = m.new_stream();
  bytes data(64, 7);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  transfer_options how;
  how.stream_lives = true;
  m.fail("cuMemAllocAsync", "hipMallocAsync", dlbridge::driver_not_supported);
  managed_tensor made = transfer(sixteen.view(t), m.device(), on, how);
  EXPECT_EQ(flat_of(made.view()), data);
  made.reset();
  EXPECT_EQ(m.called("cuMemFree_v2", "hipFree"), 1);
}

TEST_P(Transfer, MemoryIsFreedOnceFromAnyThread) {
  bytes data(64, 7);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  long long const before = m.counter("device_bytes");
  for (struct_kind const kind : {struct_kind::versioned, struct_kind::legacy}) {
    transfer_options how;
    how.kind = kind;
    managed_tensor made = transfer(sixteen.view(t), m.device(1), m.new_stream(1), how);
    EXPECT_EQ(made.kind(), kind);
    EXPECT_GT(m.counter("device_bytes"), before);
    std::thread([&] {
      std::uintptr_t const current = m.current();
      made.reset();
      EXPECT_EQ(m.current(), current);
    }).join();
    EXPECT_EQ(m.counter("device_bytes"), before);
  }
  EXPECT_EQ(m.called("cuMemFree_v2", "hipFree"), 2);
}

TEST_P(Transfer, WhatOutlivesTheDriverIsLetGo) {
  static std::vector<managed_tensor> until_exit;  // where the driver has ended before
  bytes data(64, 7);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  transfer_options how;
  how.stream_lives = true;
  until_exit.push_back(transfer(sixteen.view(t), m.device(), m.new_stream(), how));
  until_exit.push_back(transfer(sixteen.view(t), m.pinned(), m.new_stream()));
  until_exit.push_back(transfer(sixteen.view(t), m.device(), m.new_stream()));
}

TEST_P(Transfer, PinnedMemoryIsHostMemoryOfTheDriver) {
  bytes data = noise(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const none(dlbridge::cpu, static_cast<void*>(nullptr));
  for (stream_ref const on : {m.new_stream(), none}) {
    managed_tensor made = transfer(sixteen.view(t), m.pinned(), on);
    EXPECT_EQ(made.view().device(), m.pinned());
    EXPECT_EQ(m.counter("pinned_bytes"), 64);
    managed_tensor const there = transfer(made.view(), m.device(), m.new_stream());
    EXPECT_EQ(flat_of(there.view()), data);
    managed_tensor const back = transfer(made.view(), dlbridge::cpu, none);
    EXPECT_EQ(flat(back.view()), data);
    made.reset();
    EXPECT_EQ(m.counter("pinned_bytes"), 0);
  }
}

TEST_P(Transfer, TheHostReadsPinnedMemoryAfterWhatIsOnTheStream) {
  stream_ref const on = m.new_stream();
  bytes data(64, 1);
  elements const plain = row_major({16});
  elements const backwards{float32, {16}, {-1}, false};
  DLTensor const t = plain.at(data.data(), dlbridge::cpu);
  managed_tensor const pinned = transfer(plain.view(t), m.pinned(), on);
  auto* const first = static_cast<unsigned char*>(const_cast<void*>(pinned.view().data()));
  DLTensor const u = backwards.at(first + 60, m.pinned());
  unsigned char value = 7;
  for (device const where : {m.device(), m.pinned(), dlbridge::cpu}) {
    EXPECT_EQ(m.write(on.native_handle(), first, ++value, 64), 0);
    managed_tensor const made = transfer(backwards.view(u), where, on);
    EXPECT_EQ(flat_of(made.view()), bytes(64, value)) << name_of(where).c_str();
  }
  EXPECT_EQ(m.write(on.native_handle(), first, ++value, 64), 0);
  transfer_into(backwards.view(u), plain.view(t), on);
  EXPECT_EQ(data, bytes(64, value));
}

TEST_P(Transfer, ManagedMemoryIsReachedFromBothSides) {
  if (!m.is_cuda()) {
    GTEST_SKIP() << "DLPack has no device type for ROCm's";
  }
  bytes data = noise(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const on = m.new_stream();
  managed_tensor made = transfer(sixteen.view(t), device(kDLCUDAManaged, 0), on);
  EXPECT_EQ(m.counter("managed_bytes"), 64);
  EXPECT_EQ(located(made.view()), device(kDLCUDAManaged, 0));
  managed_tensor const back = transfer(made.view(), dlbridge::cpu, on);
  EXPECT_EQ(flat(back.view()), data);
  made.reset();
  EXPECT_EQ(m.counter("managed_bytes"), 0);
}

TEST_P(Transfer, TheDriverKnowsWhereMemoryIs) {
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(m.new_memory(64, 1), m.device(0));
  EXPECT_EQ(located(sixteen.view(t)), m.device(1)) << "whatever its producer's ordinals are";
  bytes data(64);
  DLTensor const u = sixteen.at(data.data(), m.device(0));
  EXPECT_EQ(located(sixteen.view(u)), m.device(0)) << "what it does not know is where it is said";
  DLTensor const v = sixteen.at(data.data(), dlbridge::cpu);
  EXPECT_EQ(located(sixteen.view(v)), dlbridge::cpu);
}

// Captures ---------------------------------------------------------------------------------------

TEST_P(Transfer, IntoMemoryThatIsThereItCanBeCaptured) {
  stream_ref const on = m.new_stream();
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(m.new_memory(64), m.device());
  DLTensor const u = sixteen.at(m.new_memory(64), m.device());
  m.begin_capture(on);
  transfer_into(sixteen.view(t), sixteen.view(u), on, true);
  EXPECT_EQ(m.end_capture(on), 1);
}

TEST_P(Transfer, WhatWouldWaitIsRefusedInACapture) {
  stream_ref const on = m.new_stream();
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(m.new_memory(64), m.device());
  DLTensor const u = sixteen.at(m.new_memory(64), m.device());
  bytes data(64);
  DLTensor const host = sixteen.at(data.data(), dlbridge::cpu);
  long long const memory = m.counter("device_bytes");
  m.begin_capture(on);
  std::string const refusal =
      "capturing: stream is capturing: expected a stream that the host may wait for; got one that "
      "is captured. What is captured has not happened yet: wait after the graph was launched";
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(t), dlbridge::cpu, on); }), refusal);
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(t), m.device(), on); }), refusal);
  EXPECT_EQ(refusal_of([&] { return transfer_into(sixteen.view(t), sixteen.view(u), on), 0; }),
            refusal);
  EXPECT_EQ(
      refusal_of([&] { return transfer_into(sixteen.view(t), sixteen.view(host), on, true), 0; }),
      refusal);
  EXPECT_EQ(m.end_capture(on), 0);
  EXPECT_EQ(m.counter("device_bytes"), memory);
}

TEST_P(Transfer, MemoryComesAndGoesWhileAnotherStreamIsCaptured) {
  bytes data = noise(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const captured = m.new_stream();
  stream_ref const on = m.new_stream();
  for (device const where : {m.device(), m.pinned()}) {
    for (int const mode : {0, 1}) {  // forbidding it to everybody, and to this thread
      m.begin_capture(captured, mode);
      managed_tensor made = transfer(sixteen.view(t), where, on);
      made.reset();
      std::thread([&] {
        m.use(0);
        transfer(sixteen.view(t), where, on).reset();
      }).join();
      EXPECT_EQ(m.end_capture(captured), 0) << "the capture is as it was";
    }
  }
}

// Faults -----------------------------------------------------------------------------------------

TEST_P(Transfer, WithoutMemoryItSaysSoAndKeepsNone) {
  bytes data(4096);
  elements const many = row_major({1024});
  DLTensor const t = many.at(data.data(), dlbridge::cpu);
  stream_ref const on = m.new_stream();
  m.set_memory_limit(2048);
  for (bool const lent : {false, true}) {
    transfer_options how;
    how.stream_lives = lent;
    std::string const text =
        refusal_of([&] { return transfer(many.view(t), m.device(), on, how); });
    EXPECT_EQ(text.rfind("out_of_memory: out of memory: expected ", 0), 0U) << text;
    EXPECT_NE(text.find(" to succeed with 4096 bytes; got "), std::string::npos) << text;
  }
  EXPECT_EQ(m.counter("device_bytes"), 0);
}

TEST_P(Transfer, WhicheverCallFailsNothingLeaksAndWhatIsCurrentStaysSo) {
  elements const gaps{float32, {8, 8, 8}, {1, 16, 150}, false};
  elements const plain = row_major({16});
  std::uintptr_t const current = m.current();
  for (auto const& road : roads()) {
    for (elements const& each : {plain, gaps}) {
      block const from = new_block(road.first);
      DLTensor const t = each.at(from.middle(), road.first);
      stream_ref const on = m.new_stream(1);
      long long const before = m.counter("device_bytes");
      for (long n = 1; n < 200; ++n) {
        SCOPED_TRACE(n);
        bool failed = false;
        m.forget_calls();
        m.fail_call(n, 719);
        long made = 0;
        std::string const text = refusal_of([&] {
          managed_tensor const tensor = transfer(each.view(t), road.second, on);
          made = m.calls(nullptr);
          m.stop_failing();  // freeing is tried elsewhere
          return 0;
        });
        m.stop_failing();
        failed = text != "accepted";
        ASSERT_EQ(m.current(), current);
        ASSERT_EQ(m.counter("device_bytes"), before);
        ASSERT_EQ(m.counter("pending"), 0) << "nothing is left running on memory that is gone";
        if (failed) {
          ASSERT_EQ(text.rfind("runtime_failed: ", 0), 0U) << text;
        } else if (made < n) {
          break;
        }
      }
    }
  }
}

TEST_P(Transfer, WhereNoDriverLeadsItSaysSo) {
  bytes data(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), device(kDLOneAPI, 0));
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(t), dlbridge::cpu, m.new_stream()); }),
            "device_mismatch: expected memory of the CPU, and of CUDA or of ROCm, to copy; got "
            "oneapi:0 and cpu: device differs. Take the way through the CPU, or ask its producer "
            "for a copy");
  DLTensor const u = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const none(dlbridge::cpu, static_cast<void*>(nullptr));
  std::string const name = name_of(m.device()).c_str();
  EXPECT_EQ(refusal_of([&] { return transfer(sixteen.view(u), m.device(), none); }),
            "bad_stream: bad stream: expected a stream of one of the two devices, cpu and " + name +
                "; got a stream on cpu");
  DLTensor const v = sixteen.at(m.new_memory(64), m.device());
  EXPECT_EQ(refusal_of([&] {
              return transfer_into(sixteen.view(v), row_major({15}).view(t), m.new_stream()), 0;
            }).substr(0, 15),
            "device_mismatch");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Transfer,
                         ::testing::Values(runtime_kind::cuda, runtime_kind::hip), runtime_name);

TEST(TransferOnTheHost, NeedsNoDriver) {
  bytes data = noise(64);
  elements const sixteen = row_major({16});
  DLTensor const t = sixteen.at(data.data(), dlbridge::cpu);
  stream_ref const none(dlbridge::cpu, static_cast<void*>(nullptr));
  managed_tensor const made = transfer(sixteen.view(t), dlbridge::cpu, none);
  EXPECT_EQ(flat(made.view()), data);
  EXPECT_TRUE(made.view().is_copied());
  bytes target(64);
  DLTensor const u = sixteen.at(target.data(), dlbridge::cpu);
  transfer_into(sixteen.view(t), sixteen.view(u), none);
  EXPECT_EQ(target, data);
}

}  // namespace

// device_copy, copy_stream: copy the elements of one tensor into another on a stream, by blocks of
// rows or through host memory.
// layer: runtime · implementation of device copies
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/block_plan.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {

inline memory_side side_of(device where) noexcept {
  memory_kind const kind = memory_of(where);
  return kind == memory_kind::device    ? memory_side::device
         : kind == memory_kind::managed ? memory_side::managed
                                        : memory_side::host;
}

// A stream whose context is current, and the copies that this object has enqueued on it. The
// destructor waits for pending copies. Memory that they access must therefore be destroyed after
// this object, or its owner must call wait_for_pending() before it frees the memory.
template <class Table>
class copy_stream {
 public:
  // If both sides of all copies are host memory, the device of the stream may be the CPU.
  copy_stream(Table const& driver, stream_ref stream)
      : driver_(driver), guard_(driver), stream_(stream) {
    device const where = stream.device();
    has_stream_ = runtime_of(where) != runtime_kind::none;
    require_success(has_stream_ ? guard_.try_enter(stream) : guard_.try_enter_device(where.id));
    if (has_stream_) {
      require_success(try_read_capture(driver, stream, capture_));
    }
  }
  copy_stream(copy_stream const&) = delete;
  copy_stream& operator=(copy_stream const&) = delete;
  ~copy_stream() { wait_for_pending(); }

  Table const& driver() const noexcept { return driver_; }
  stream_ref ref() const noexcept { return stream_; }
  context_guard<Table> const& guard() const noexcept { return guard_; }

  void require_no_capture() const {
    if (capture_.active) {
      raise(no_wait_in_capture());
    }
  }
  // The device of a view's memory as the driver reports it: the producer may number devices
  // differently.
  device locate(tensor_view const& view) const noexcept {
    device where = view.device();
    if (runtime_of(where) != runtime_kind::none) {
      static_cast<void>(try_locate(driver_, view.data(), where));
    }
    return where;
  }

  void copy(block_copy const& block) {
    pending_ = true;
    require_success(try_copy(driver_, block, stream_.native_handle()));
  }
  void copy_peer(void* to, device to_device, void const* from, device from_device,
                 std::size_t bytes) {
    auto const to_context = context_of(to_device);
    auto const from_context = context_of(from_device);
    pending_ = true;
    require_success(
        try_copy_peer(driver_, to, to_context, from, from_context, bytes, stream_.native_handle()));
  }
  // Waits for all operations on the stream.
  void wait() {
    require_no_capture();
    if (has_stream_) {
      require_success(try_call(driver_, driver_.stream_synchronize, stream_.native_handle()));
    }
    pending_ = false;
  }
  // Lets the pending copies run after this object is destroyed.
  void detach() noexcept { pending_ = false; }
  // Waits for pending copies after a failure. Ignores further failures.
  void wait_for_pending() noexcept {
    if (pending_ && !capture_.active) {
      static_cast<void>(succeeds(driver_, driver_.stream_synchronize, stream_.native_handle()));
    }
    pending_ = false;
  }

 private:
  typename Table::context_handle context_of(device where) const {
    context_guard<Table> guard(driver_);
    require_success(guard.try_enter_device(where.id));
    return guard.context();
  }

  Table const& driver_;
  context_guard<Table> guard_;
  stream_ref stream_;
  capture_state capture_;
  bool has_stream_ = false;
  bool pending_ = false;
};

// A host buffer of the size of the bytes that a tensor covers. It is uninitialised until fetch().
template <class Table>
class host_mirror {
 public:
  host_mirror(copy_stream<Table>& stream, tensor_view const& original, memory_side side)
      : stream_(stream),
        original_(original),
        side_(side),
        range_(range_of(original)),
        buffer_(static_cast<std::size_t>(range_.size), default_allocator()),
        mirror_(original.to_dltensor()) {
    mirror_.data = static_cast<char*>(buffer_.memory) - range_.first;
    mirror_.device = cpu.abi();
  }
  host_mirror(host_mirror const&) = delete;
  host_mirror& operator=(host_mirror const&) = delete;
  ~host_mirror() { stream_.wait_for_pending(); }

  tensor_view view() const noexcept { return tensor_view(mirror_, original_.flags()); }

  // Copies the bytes of the tensor into the buffer.
  void fetch() {
    block_copy block{buffer_.memory, begin(), static_cast<std::size_t>(range_.size)};
    block.to_side = memory_side::host;
    block.from_side = side_;
    stream_.copy(block);
    stream_.wait();
  }
  // Copies the buffer into the tensor.
  void store() {
    block_copy block{begin(), buffer_.memory, static_cast<std::size_t>(range_.size)};
    block.to_side = side_;
    block.from_side = memory_side::host;
    stream_.copy(block);
    stream_.wait();
  }

 private:
  char* begin() const noexcept {
    return static_cast<char*>(const_cast<void*>(original_.data())) + range_.first;
  }

  copy_stream<Table>& stream_;
  tensor_view original_;
  memory_side side_;
  byte_range range_;
  host_buffer buffer_;
  DLTensor mirror_;
};

inline bool is_packed(tensor_view const& source, tensor_view const& destination) noexcept {
  return is_sub_byte(source.dtype()) && !(source.is_padded() && destination.is_padded());
}
inline bool fills_bytes(tensor_view const& view) noexcept {
  return view.count() * bit_pitch(view) % 8 == 0;
}

// Copies the elements on the CPU, in a host mirror of each device tensor. For layouts that block
// copies cannot do, or not efficiently.
template <class Table>
void copy_by_host(copy_stream<Table>& stream, tensor_view const& source, memory_side from,
                  tensor_view const& destination, memory_side to, bool is_fresh) {
  stream.require_no_capture();
  if (from != memory_side::host) {
    host_mirror<Table> mirror(stream, source, from);
    mirror.fetch();
    copy_by_host(stream, mirror.view(), memory_side::host, destination, to, is_fresh);
    return;
  }
  stream.wait();  // the CPU reads host memory that earlier operations may write
  if (to == memory_side::host) {
    copy_disjoint(source, destination);
    return;
  }
  host_mirror<Table> mirror(stream, destination, to);
  if (!is_fresh && !(destination.is_compact() && fills_bytes(destination))) {
    mirror.fetch();  // store() writes the bytes between the elements back unchanged
  }
  copy_disjoint(source, mirror.view());
  mirror.store();
}

template <class Table>
void copy_blocks(copy_stream<Table>& stream, block_plan const& plan, tensor_view const& source,
                 memory_side from, tensor_view const& destination, memory_side to) {
  auto const* const source_data = static_cast<char const*>(source.data());
  auto* const destination_data = static_cast<char*>(const_cast<void*>(destination.data()));
  block_copy block{};
  block.width = static_cast<std::size_t>(plan.width);
  block.height = static_cast<std::size_t>(plan.rows.extent);
  block.from_pitch = static_cast<std::size_t>(plan.rows.source);
  block.to_pitch = static_cast<std::size_t>(plan.rows.destination);
  block.from_side = from;
  block.to_side = to;
  for_each_row(plan.outer, [&](std::int64_t s, std::int64_t d) {
    block.from = source_data + s;
    block.to = destination_data + d;
    stream.copy(block);
  });
}

// Copies all elements. Neither tensor is empty.
// is_fresh: the bytes of destination between its elements may be overwritten.
template <class Table>
void device_copy(copy_stream<Table>& stream, tensor_view const& source,
                 tensor_view const& destination, bool is_fresh) {
  device const source_device = stream.locate(source);
  device const destination_device = stream.locate(destination);
  memory_side const from = side_of(source_device);
  memory_side const to = side_of(destination_device);
  if (from == memory_side::host && to == memory_side::host) {
    copy_by_host(stream, source, from, destination, to, is_fresh);
    return;
  }
  bool const is_peer = from == memory_side::device && to == memory_side::device &&
                       source_device != destination_device;
  bool const packed = is_packed(source, destination);
  if (is_one_block(source, destination) && (is_fresh || !packed || fills_bytes(source))) {
    auto const bytes = static_cast<std::size_t>(range_of(source).size);
    void* const target = const_cast<void*>(destination.data());
    if (is_peer) {
      stream.copy_peer(target, destination_device, source.data(), source_device, bytes);
    } else {
      block_copy block{target, source.data(), bytes};
      block.to_side = to;
      block.from_side = from;
      stream.copy(block);
    }
    return;
  }
  if (!packed && !is_peer) {
    // More calls than this take longer than a copy through the host. One call takes about as long
    // as the transfer of 32 KiB.
    std::int64_t const host_copy_bytes = range_of(source).size + range_of(destination).size;
    block_plan const plan = plan_blocks(source, destination);
    if (plan.copies <= 16 + host_copy_bytes / 32768) {
      copy_blocks(stream, plan, source, from, destination, to);
      return;
    }
  }
  copy_by_host(stream, source, from, destination, to, is_fresh);
}

}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

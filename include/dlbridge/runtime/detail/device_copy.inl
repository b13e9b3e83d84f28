// The inline bodies of device_copy.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/block_plan.hpp>
#include <dlbridge/runtime/detail/cuda_copies.hpp>
#include <dlbridge/runtime/detail/device_copy.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
template <class Table>
inline copy_stream<Table>::copy_stream(Table const& driver, stream_ref stream)
    : driver_(driver), guard_(driver), stream_(stream) {
  device const where = stream.device();
  has_stream_ = runtime_of(where) != runtime_kind::none;
  require_success(has_stream_ ? guard_.try_enter(stream) : guard_.try_enter_device(where.id));
  if (has_stream_) {
    require_success(try_read_capture(driver, stream, capture_));
  }
}

template <class Table>
inline void copy_stream<Table>::require_no_capture() const {
  if (capture_.active) {
    raise(no_wait_in_capture());
  }
}

template <class Table>
inline device copy_stream<Table>::locate(tensor_view const& view) const noexcept {
  device where = view.device();
  if (runtime_of(where) != runtime_kind::none) {
    static_cast<void>(try_locate(driver_, view.data(), where));
  }
  return where;
}

template <class Table>
void copy_stream<Table>::copy(block_copy const& block) {
  pending_ = true;
  require_success(try_copy(driver_, block, stream_.native_handle()));
}

template <class Table>
inline typename Table::context_handle copy_stream<Table>::context_of(device where) const {
  context_guard<Table> guard(driver_);
  require_success(guard.try_enter_device(where.id));
  return guard.context();
}

template <class Table>
void copy_stream<Table>::copy_peer(block_copy const& block, typename Table::context_handle to,
                                   typename Table::context_handle from) {
  pending_ = true;
  void* const stream = stream_.native_handle();
  require_success(block.height == 1
                      ? try_copy_peer(driver_, block.to, to, block.from, from, block.width, stream)
                      : try_copy_peer_block(driver_, block, to, from, stream));
}

template <class Table>
inline void copy_stream<Table>::wait() {
  require_no_capture();
  if (has_stream_) {
    require_success(try_call(driver_, driver_.stream_synchronize, stream_.native_handle()));
  }
  pending_ = false;
}

template <class Table>
inline void copy_stream<Table>::wait_for_pending() noexcept {
  if (pending_ && !capture_.active) {
    static_cast<void>(succeeds(driver_, driver_.stream_synchronize, stream_.native_handle()));
  }
  pending_ = false;
}

// A host buffer of the size of the bytes that a tensor covers. It is uninitialised until fetch().
template <class Table>
class host_mirror {
 public:
  DLBRIDGE_COLD DLBRIDGE_NOINLINE host_mirror(copy_stream<Table>& stream,
                                              tensor_view const& original, memory_side side)
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

template <class Table>
void copy_blocks(copy_stream<Table>& stream, block_plan const& plan, tensor_view const& source,
                 tensor_view const& destination, copy_route const& route) {
  auto const* const source_data = static_cast<char const*>(source.data());
  auto* const destination_data = static_cast<char*>(const_cast<void*>(destination.data()));
  block_copy block{};
  block.width = static_cast<std::size_t>(plan.width);
  block.height = static_cast<std::size_t>(plan.rows.extent);
  block.from_pitch = static_cast<std::size_t>(plan.rows.source);
  block.to_pitch = static_cast<std::size_t>(plan.rows.destination);
  block.from_side = route.from;
  block.to_side = route.to;
  typename Table::context_handle to_context{};
  typename Table::context_handle from_context{};
  if (route.is_peer()) {
    to_context = stream.context_of(route.to_device);
    from_context = stream.context_of(route.from_device);
  }
  for_each_row(plan.outer, [&](std::int64_t s, std::int64_t d) {
    block.from = source_data + s;
    block.to = destination_data + d;
    if (route.is_peer()) {
      stream.copy_peer(block, to_context, from_context);
    } else {
      stream.copy(block);
    }
  });
}

// A host tensor without gaps that has the shape of another one, and its elements in the same order
// in memory. They are uninitialised.
template <class Table>
class host_packing {
 public:
  host_packing(copy_stream<Table>& stream, tensor_view const& original)
      : stream_(stream),
        buffer_(static_cast<std::size_t>(original.count() * element_bytes(original.dtype())),
                default_allocator()),
        tensor_(original.to_dltensor()),
        flags_(original.flags()) {
    original.copy_strides(strides_);
    int order[max_rank];
    int const dimensions = sort_by_step(original.rank(), original.shape(), strides_, order);
    std::int64_t step = 1;
    std::int64_t first = 0;  // in negative dimensions, the first element is the last in memory
    for (int i = 0; i < dimensions; ++i) {
      std::int64_t& stride = strides_[order[i]];
      std::int64_t const extent = original.extent(order[i]);
      first += stride < 0 ? step * (extent - 1) : 0;
      stride = stride < 0 ? -step : step;
      step *= extent;
    }
    tensor_.data = static_cast<char*>(buffer_.memory) + first * element_bytes(original.dtype());
    tensor_.strides = strides_;
    tensor_.device = cpu.abi();
  }
  host_packing(host_packing const&) = delete;
  host_packing& operator=(host_packing const&) = delete;
  ~host_packing() { stream_.wait_for_pending(); }

  tensor_view view() const noexcept { return tensor_view(tensor_, flags_); }

 private:
  copy_stream<Table>& stream_;
  host_buffer buffer_;
  DLTensor tensor_;
  std::uint64_t flags_;
  std::int64_t strides_[max_rank];
};

// Copies host memory into a tensor on a device, and writes no byte between its elements: other
// operations may write there at the same time. The elements of the destination are not packed.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void copy_to_elements(copy_stream<Table>& stream,
                                                      tensor_view const& source,
                                                      tensor_view const& destination) {
  host_packing<Table> packing(stream, destination);
  tensor_view const packed = packing.view();
  copy_disjoint(source, packed);
  copy_blocks(stream, plan_blocks(packed, destination), packed, destination,
              copy_route(stream, packed, destination));
  stream.wait();
}

// Copies the elements on the CPU, in a host mirror of each device tensor. For layouts that block
// copies cannot do, or not efficiently.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void copy_by_host(copy_stream<Table>& stream,
                                                  tensor_view const& source, memory_side from,
                                                  tensor_view const& destination, memory_side to,
                                                  bool is_fresh) {
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
  bool const keeps_bytes = !is_fresh && !(destination.is_compact() && fills_bytes(destination));
  bool const is_by_bytes = !is_sub_byte(destination.dtype()) || destination.is_padded();
  if (keeps_bytes && is_by_bytes) {
    copy_to_elements(stream, source, destination);
    return;
  }
  host_mirror<Table> mirror(stream, destination, to);
  if (keeps_bytes) {
    mirror.fetch();  // packed elements share bytes: store() writes the other bits back unchanged
  }
  copy_disjoint(source, mirror.view());
  if (is_fresh) {
    clear_unused_bits(mirror.view());
  }
  mirror.store();
}

template <class Table>
bool try_copy_by_blocks(copy_stream<Table>& stream, tensor_view const& source,
                        tensor_view const& destination, copy_route const& route, bool is_fresh) {
  bool const packed = is_packed(source, destination);
  block_plan plan;
  if (is_one_block(source, destination) && (is_fresh || !packed || fills_bytes(source))) {
    plan.width = range_of(source).size;
    plan.outer.dimensions[plan.outer.rank++] = {1, 0, 0};
  } else if (packed) {
    return false;
  } else {
    // More calls than this take longer than a copy through the host. One call takes about as long
    // as the transfer of 32 KiB.
    std::int64_t const host_copy_bytes = range_of(source).size + range_of(destination).size;
    plan = plan_blocks(source, destination);
    bool const is_by_row = route.is_peer() && !copies_peer_blocks(stream.driver());
    std::int64_t const calls = is_by_row ? plan.copies * plan.rows.extent : plan.copies;
    if (calls > 16 + host_copy_bytes / 32768) {
      return false;
    }
  }
  copy_blocks(stream, plan, source, destination, route);
  return true;
}

template <class Table>
void device_copy(copy_stream<Table>& stream, tensor_view const& source,
                 tensor_view const& destination, bool is_fresh) {
  copy_route const route(stream, source, destination);
  if (route.is_on_host() || !try_copy_by_blocks(stream, source, destination, route, is_fresh)) {
    copy_by_host(stream, source, route.from, destination, route.to, is_fresh);
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

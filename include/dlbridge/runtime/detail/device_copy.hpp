// device_copy, copy_stream: copy the elements of one tensor into another on a stream, by blocks of
// rows or through host memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// A stream whose context is current, and the copies that this object has enqueued on it. The
// destructor waits for pending copies. Memory that they access must therefore be destroyed after
// this object, or its owner must call wait_for_pending() before it frees the memory.
template <class Table>
class copy_stream {
 public:
  // If both sides of all copies are host memory, the device of the stream may be the CPU.
  copy_stream(Table const& driver, stream_ref stream);
  copy_stream(copy_stream const&) = delete;
  copy_stream& operator=(copy_stream const&) = delete;
  ~copy_stream() { wait_for_pending(); }

  Table const& driver() const noexcept { return driver_; }
  stream_ref ref() const noexcept { return stream_; }
  context_guard<Table> const& guard() const noexcept { return guard_; }

  void require_no_capture() const;
  // The device of a view's memory as the driver reports it: the producer may number devices
  // differently.
  device locate(tensor_view const& view) const noexcept;

  DLBRIDGE_COLD DLBRIDGE_NOINLINE void copy(block_copy const& block);
  typename Table::context_handle context_of(device where) const;
  DLBRIDGE_COLD DLBRIDGE_NOINLINE void copy_peer(block_copy const& block,
                                                 typename Table::context_handle to,
                                                 typename Table::context_handle from);
  // Waits for all operations on the stream.
  void wait();
  // Lets the pending copies run after this object is destroyed.
  void detach() noexcept { pending_ = false; }
  // Waits for pending copies after a failure. Ignores further failures.
  void wait_for_pending() noexcept;

 private:
  Table const& driver_;
  context_guard<Table> guard_;
  stream_ref stream_;
  capture_state capture_{};
  bool has_stream_ = false;
  bool pending_ = false;
};

bool is_packed(tensor_view const& source, tensor_view const& destination) noexcept;

// Where the elements of a copy lie, as the driver reports it.
struct copy_route {
  device from_device;
  device to_device;
  memory_side from;
  memory_side to;

  template <class Table>
  DLBRIDGE_COLD DLBRIDGE_NOINLINE copy_route(copy_stream<Table> const& stream,
                                             tensor_view const& source,
                                             tensor_view const& destination) noexcept
      : from_device(stream.locate(source)),
        to_device(stream.locate(destination)),
        from(side_of(from_device)),
        to(side_of(to_device)) {}

  bool is_on_host() const noexcept { return from == memory_side::host && to == memory_side::host; }
  bool is_peer() const noexcept;
};

// Copies all elements by block copies on the stream. Returns false if the layout needs the host, or
// is copied faster by it; nothing is enqueued then. Neither tensor is empty, and they do not both
// lie in host memory. is_fresh: as device_copy.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_copy_by_blocks(copy_stream<Table>& stream,
                                                        tensor_view const& source,
                                                        tensor_view const& destination,
                                                        copy_route const& route, bool is_fresh);

// Copies all elements. Neither tensor is empty.
// is_fresh: the bytes of destination between its elements may be overwritten.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void device_copy(copy_stream<Table>& stream,
                                                 tensor_view const& source,
                                                 tensor_view const& destination, bool is_fresh);
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/detail/device_copy.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/device_copy.ipp>
#endif

// transfer: a fresh copy of a tensor on another device, or on the host, made in the order of a
// stream; transfer_into: the same into memory that is there already.
// layer: runtime · side road: when memory must move
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/runtime/detail/device_copy.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// What the caller of transfer vouches for. What it does not is waited for.
struct transfer_options {
  struct_kind kind = struct_kind::versioned;
  /// The source lives until the stream has passed the copy. If not, the host waits for that.
  bool source_lives = false;
  /// The stream lives as long as the tensor, whose memory then comes and goes in its order.
  bool stream_lives = false;
};

namespace detail {

// The copy without its memory: in the source's own order of dimensions where it has no gaps.
inline description describe_copy(tensor_view const& source, device where) noexcept {
  auto const rank = static_cast<std::size_t>(source.rank());
  description d;
  d.type = source.dtype();
  d.shape = dims::from(source.shape(), rank);
  if (source.strides() != nullptr && source.is_compact() && !source.is_row_major()) {
    d.strides = dims::from(source.strides(), rank);
  }
  d.device = where;
  d.flags = flag_is_copied | (source.flags() & flag_padded);
  return d;
}

template <class Table>
managed_tensor allocate_copy(copy_stream<Table>& stream, description& d,
                             transfer_options const& how) {
  if (d.device.type == kDLCPU) {
    return build_compact(d, how.kind, default_allocator());
  }
  bool const padded = (d.flags & flag_padded) != 0;
  auto const bytes =
      static_cast<std::size_t>(bytes_for(count_of(d.shape.size(), d.shape.data()), d.type, padded));
  std::size_t const taken = bytes != 0 ? bytes : 1;
  driver_memory<Table> memory;
  Table const& driver = stream.driver();
  if (side_of(d.device) == memory_side::device && d.device != stream.ref().device()) {
    context_guard<Table> there(driver);
    require_success(there.try_enter_device(d.device.id));
    require_success(memory.try_allocate(driver, there, d.device, taken));
  } else if (how.stream_lives && d.device == stream.ref().device()) {
    require_success(memory.try_allocate_on(driver, stream.guard(), stream.ref(), taken));
  } else {
    require_success(memory.try_allocate(driver, stream.guard(), d.device, taken));
  }
  d.data = memory.address();
  return build_on(std::move(memory), d, how.kind);
}

DLBRIDGE_COLD inline report no_copy_path(device from, device to) noexcept {
  report r = refusal(errc::device_mismatch, "memory of the CPU, and of CUDA or of ROCm, to copy",
                     "", "Take the way through the CPU, or ask its producer for a copy");
  append_name(append_name(r.got, from).append(" and "), to);
  return r;
}

// The runtime whose driver copies between two devices, none for the CPU alone.
// reports: device_mismatch, bad_stream.
inline report find_copy_path(device from, device to, stream_ref on, runtime_kind& out) noexcept {
  runtime_kind const runtime_from = runtime_of_memory(from);
  runtime_kind const runtime_to = runtime_of_memory(to);
  bool const is_one = runtime_from == runtime_to || runtime_from == runtime_kind::none ||
                      runtime_to == runtime_kind::none;
  auto const has_copy_path = [](device where, runtime_kind runtime) {
    return runtime != runtime_kind::none || is_host_accessible(where);
  };
  if (!is_one || !has_copy_path(from, runtime_from) || !has_copy_path(to, runtime_to)) {
    return no_copy_path(from, to);
  }
  bool const by_host = side_of(from) == memory_side::host && side_of(to) == memory_side::host;
  runtime_kind const runtime = runtime_from != runtime_kind::none ? runtime_from : runtime_to;
  runtime_kind const given = runtime_of(on.device());
  out = runtime;
  if (given == runtime || (by_host && given == runtime_kind::none)) {
    return report{};
  }
  report r = refusal(errc::bad_stream, "a stream of one of the two devices, ", "a stream on ");
  append_name(append_name(r.expected, from).append(" and "), to);
  append_name(r.got, on.device());
  return r;
}
}  // namespace detail

/// A new tensor with the elements of source on a device: of CUDA or ROCm, in pinned or managed
/// memory, or on the CPU. Compact, in the source's order of dimensions where that has no gaps, else
/// row-major; writable; marked is_copied. What is current on this thread stays so.
/// stream: of either device; the source is to be safe on it, and the copy is, once this returns.
/// On the host the copy is ready. The host waits for the stream unless how says that it need not;
/// never for a device.
/// lives: the source until this returns, or as how says.
/// fails: device_mismatch (no driver copies between the two), bad_stream, capturing (nothing is
/// enqueued), out_of_memory, runtime_missing, runtime_failed, version_mismatch (legacy, and
/// padded).
template <class Table>
managed_tensor transfer(Table const& driver, tensor_view const& source, device where, stream_ref on,
                        transfer_options const& how = {}) {
  description d = detail::describe_copy(source, where);
  managed_tensor made;  // before the stream: freed when nothing is written to it any more
  detail::copy_stream<Table> stream(driver, on);
  stream.require_no_capture();
  made = detail::allocate_copy(stream, d, how);
  if (!source.empty()) {
    detail::device_copy(stream, source, made.view(), true);
  }
  if (how.source_lives && detail::side_of(where) != memory_side::host) {
    stream.leave_running();
  } else {
    stream.wait();
  }
  return made;
}

/// Copies all elements into memory that is there: any strides, but no overlap. In a capture one
/// block within CUDA or ROCm becomes a node of the graph, if source_lives.
/// stream, lives: as transfer; both are to be safe on the stream. fails: as transfer, and
/// dtype_mismatch, rank_mismatch, extent_mismatch, read_only, layout_mismatch (elements of
/// destination that share memory).
template <class Table>
void transfer_into(Table const& driver, tensor_view const& source, tensor_view const& destination,
                   stream_ref on, bool source_lives = false) {
  detail::require_destination(source, destination, device_filter{device_filter::anywhere});
  if (source.empty()) {
    return;
  }
  detail::copy_stream<Table> stream(driver, on);
  bool const stays = source_lives && detail::side_of(destination.device()) != memory_side::host;
  if (!stays) {
    stream.require_no_capture();
  }
  detail::device_copy(stream, source, destination, false);
  stays ? stream.leave_running() : stream.wait();
}

/// The same with the driver that the two devices need.
inline managed_tensor transfer(tensor_view const& source, device where, stream_ref on,
                               transfer_options const& how = {}) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(detail::find_copy_path(source.device(), where, on, runtime));
  if (where.type == kDLCPU && detail::side_of(source.device()) == memory_side::host) {
    detail::require_success(try_host_wait(on));
    return copy_of(source, layout::row_major, how.kind);
  }
  managed_tensor made;
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    made = transfer(driver, source, where, on, how);
    return report{};
  }));
  return made;
}
inline void transfer_into(tensor_view const& source, tensor_view const& destination, stream_ref on,
                          bool source_lives = false) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(
      detail::find_copy_path(source.device(), destination.device(), on, runtime));
  if (runtime == runtime_kind::none) {
    copy(source, destination);
    return;
  }
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    transfer_into(driver, source, destination, on, source_lives);
    return report{};
  }));
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// transfer, transfer_into: copy a tensor into new or existing memory of a device or of the host, in
// the order of a stream.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/runtime/detail/device_copy.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/detail/retired.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

/// Options of transfer. The two flags are guarantees of the caller, which avoid waiting.
struct DLBRIDGE_PUBLIC transfer_options {
  /// The struct kind of the new tensor.
  struct_kind kind = struct_kind::versioned;
  /// The source exists until the stream has completed the copy. Otherwise the host waits for it.
  bool source_outlives_copy = false;
  /// The stream exists as long as the new tensor. The tensor's memory is then allocated and freed
  /// in the order of the stream.
  bool stream_outlives_tensor = false;
  /// The new tensor is row-major. Otherwise it has the order of dimensions of a source without
  /// gaps, which one call of the driver copies.
  bool row_major = false;
};

namespace detail {

// Describes the new tensor, without its memory.
DLBRIDGE_COLD inline description describe_copy(tensor_view const& source, device where,
                                               transfer_options const& options) noexcept {
  auto const rank = static_cast<std::size_t>(source.rank());
  description d;
  d.type = source.dtype();
  d.shape = dims::from(source.shape(), rank);
  if (!options.row_major && source.strides() != nullptr && source.is_compact() &&
      !source.is_row_major()) {
    d.strides = dims::from(source.strides(), rank);
  }
  d.device = where;
  d.flags = flag_is_copied | (source.flags() & flag_padded);
  return d;
}

// Copies a tensor of host memory into new memory of the CPU.
DLBRIDGE_COLD inline managed_tensor copy_on_host(tensor_view const& source, device where,
                                                 transfer_options const& options) {
  retired_owners().collect();
  managed_tensor result =
      build_compact(describe_copy(source, where, options), options.kind, default_allocator());
  if (!source.empty()) {
    copy_disjoint(source, result.view(), copy_method::to_new_memory());
  }
  return result;
}

template <class Table>
DLBRIDGE_COLD managed_tensor allocate_copy(copy_stream<Table>& stream, description& d,
                                           transfer_options const& options) {
  if (d.device.type == kDLCPU) {
    return build_compact(d, options.kind, default_allocator());
  }
  std::size_t const bytes = compact_bytes(d);
  std::size_t const allocated_bytes = bytes != 0 ? bytes : 1;
  driver_memory<Table> memory;
  Table const& driver = stream.driver();
  if (side_of(d.device) == memory_side::device && d.device != stream.ref().device()) {
    context_guard<Table> guard(driver);
    require_success(guard.try_enter_device(d.device.id));
    require_success(memory.try_allocate(driver, guard, d.device, allocated_bytes));
  } else if (options.stream_outlives_tensor && d.device == stream.ref().device()) {
    require_success(memory.try_allocate_on(driver, stream.guard(), stream.ref(), allocated_bytes));
  } else {
    require_success(memory.try_allocate(driver, stream.guard(), d.device, allocated_bytes));
  }
  d.data = memory.address();
  return build_on(std::move(memory), d, options.kind);
}

// Lets the copies on the stream run after the function has returned. The memory of the result is
// freed after them.
template <class Table>
void detach_copies(copy_stream<Table>& copies, managed_tensor const& result) {
  auto* const memory = find_owner<driver_memory<Table>>(result);
  if (memory != nullptr && !memory->is_stream_ordered()) {
    stream_event<Table> event;
    require_success(
        event.try_record(copies.driver(), copies.guard(), copies.ref().native_handle()));
    memory->keep_event(std::move(event));
  }
  copies.detach();
}

DLBRIDGE_COLD inline report no_copy_path(device from, device to) noexcept {
  report r = refusal(errc::device_mismatch, "memory of the CPU, and of CUDA or of ROCm, to copy",
                     "", "Copy through the CPU, or request a copy from the producer");
  append_name(append_name(r.got, from).append(" and "), to);
  return r;
}

// Whether the memory at the destination of a copy is new, or that of an existing tensor, which may
// be any memory that the CPU can access.
enum class copy_target : std::uint8_t { new_memory, existing_memory };

// Finds the runtime whose driver copies between two devices; none if both are the CPU.
// Returns a report: device_mismatch, bad_stream.
DLBRIDGE_COLD inline report find_copy_path(device from, device to, stream_ref stream,
                                           runtime_kind& out,
                                           copy_target target = copy_target::new_memory) noexcept {
  runtime_kind const runtime_from = runtime_of_memory(from);
  runtime_kind const runtime_to = runtime_of_memory(to);
  bool const is_one_runtime = runtime_from == runtime_to || runtime_from == runtime_kind::none ||
                              runtime_to == runtime_kind::none;
  auto const has_copy_path = [](device where, runtime_kind runtime) {
    return runtime != runtime_kind::none || is_host_accessible(where);
  };
  bool const can_allocate = target == copy_target::existing_memory || to.type == kDLCPU ||
                            runtime_to != runtime_kind::none;
  if (!is_one_runtime || !can_allocate || !has_copy_path(from, runtime_from) ||
      !has_copy_path(to, runtime_to)) {
    return no_copy_path(from, to);
  }
  bool const is_host_copy = side_of(from) == memory_side::host && side_of(to) == memory_side::host;
  runtime_kind const runtime = runtime_from != runtime_kind::none ? runtime_from : runtime_to;
  runtime_kind const stream_runtime = runtime_of(stream.device());
  out = runtime;
  bool const is_ordered = stream_runtime != runtime_kind::none && stream_runtime == runtime;
  bool const needs_no_order = is_host_copy && stream_runtime == runtime_kind::none &&
                              stream.native_handle() == nullptr;  // not a queue of another runtime
  if (is_ordered || needs_no_order) {
    return report{};
  }
  report r = refusal(errc::bad_stream, "a stream of one of the two devices, ", "a stream on ");
  append_name(append_name(r.expected, from).append(" and "), to);
  append_name(r.got, stream.device());
  return r;
}

DLBRIDGE_COLD inline report no_path_of_driver(device from, device to,
                                              runtime_kind driver) noexcept {
  bool const is_cuda = driver == runtime_kind::cuda;
  report r =
      refusal(errc::device_mismatch,
              is_cuda ? "a device of CUDA, as the driver is" : "a device of ROCm, as the driver is",
              "", "Leave the driver out, and dlbridge selects it");
  append_name(append_name(r.got, from).append(" and "), to);
  return r;
}

// Throws unless the driver of a table copies between the two devices, on the stream.
template <class Table>
void require_copy_path(device from, device to, stream_ref stream,
                       copy_target target = copy_target::new_memory) {
  runtime_kind runtime = runtime_kind::none;
  require_success(find_copy_path(from, to, stream, runtime, target));
  if (runtime != runtime_of_table<Table>()) {
    raise(no_path_of_driver(from, to, runtime_of_table<Table>()));
  }
}
}  // namespace detail

/// Copies the elements of a tensor into a new tensor on a device. The current context or device of
/// this thread stays the same.
/// @param driver the driver of the devices.
/// @param source a tensor with any strides.
/// @param where a device of CUDA or ROCm, pinned or managed memory, or the CPU.
/// @param stream a stream of either device, on which the source is ready.
/// @param options guarantees of the caller that avoid waiting, and the struct kind.
/// @return a writable compact tensor that is marked as copied. It has the order of dimensions of a
/// source without gaps, unless the options request a row-major one, and is row-major otherwise. In
/// host memory, the unused bits after the last packed element are 0.
/// @throws error device_mismatch (the driver does not copy between the devices), bad_stream (a
/// stream of another runtime), capturing (the stream is being captured; nothing is enqueued),
/// not_permitted (called by a host function that runs on a stream), overflow (the size of the copy
/// exceeds 64 bits), out_of_memory, runtime_missing, runtime_failed, version_mismatch (a legacy
/// struct cannot describe padded elements).
/// @par Ownership
/// The caller owns the new tensor, which owns its memory.
/// @par Lifetime
/// The source exists until the function returns, or as the options state.
/// @par Stream order
/// The copy runs after the operations that are on the stream. A tensor in host memory is ready when
/// the function returns; a tensor on a device is ready on the stream. The host waits for the stream
/// unless the options make that unnecessary, and never for the other streams of the device.
template <class Table>
DLBRIDGE_COLD managed_tensor transfer(Table const& driver, tensor_view const& source, device where,
                                      stream_ref stream, transfer_options const& options = {}) {
  detail::require_copy_path<Table>(source.device(), where, stream);
  detail::retired_owners().collect();
  description d = detail::describe_copy(source, where, options);
  // Order of destruction: if a copy fails, copies waits for the pending copies before result frees
  // the memory that they write.
  managed_tensor result;
  detail::copy_stream<Table> copies(driver, stream);
  copies.require_no_capture();
  result = detail::allocate_copy(copies, d, options);
  if (!source.empty()) {
    detail::device_copy(copies, source, result.view(), true);
  }
  if (options.source_outlives_copy && detail::side_of(where) != memory_side::host) {
    detail::detach_copies(copies, result);
  } else {
    copies.wait();
    if (detail::side_of(where) == memory_side::host) {
      detail::clear_unused_bits(result.view());
    }
  }
  return result;
}

/// Copies the elements of a tensor into existing memory. During a capture, a copy of one block
/// within CUDA or ROCm becomes a node of the graph if source_outlives_copy is set.
///
/// The function writes only the bytes of the elements, so other operations may write those between
/// them at the same time. A copy through the host then takes one call for each block of rows of the
/// destination. Packed elements of fewer than 8 bits are the exception: unless the destination has
/// no gaps and fills its last byte, the function reads all bytes from its first to its last
/// element, and writes them back.
/// @param driver the driver of the devices.
/// @param source a tensor with any strides, which does not overlap the destination.
/// @param destination a tensor with any strides.
/// @param stream a stream of either device, on which both tensors are ready.
/// @param source_outlives_copy as in transfer_options.
/// @throws error as transfer; also dtype_mismatch, rank_mismatch, extent_mismatch, read_only,
/// layout_mismatch (elements of the destination may share memory).
/// @par Lifetime
/// Both tensors exist until the function returns; with source_outlives_copy until the stream has
/// completed the copy.
/// @par Stream order
/// As transfer.
template <class Table>
void transfer_into(Table const& driver, tensor_view const& source, tensor_view const& destination,
                   stream_ref stream, bool source_outlives_copy = false) {
  detail::require_copy_path<Table>(source.device(), destination.device(), stream,
                                   detail::copy_target::existing_memory);
  detail::retired_owners().collect();
  detail::require_destination(source, destination, device_filter{device_filter::anywhere});
  if (source.empty()) {
    return;
  }
  detail::copy_stream<Table> copies(driver, stream);
  bool const is_asynchronous =
      source_outlives_copy && detail::side_of(destination.device()) != memory_side::host;
  if (!is_asynchronous) {
    copies.require_no_capture();
  }
  detail::device_copy(copies, source, destination, false);
  is_asynchronous ? copies.detach() : copies.wait();
}

/// The same with the driver of the two devices, which the function selects.
inline managed_tensor transfer(tensor_view const& source, device where, stream_ref stream,
                               transfer_options const& options = {}) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(detail::find_copy_path(source.device(), where, stream, runtime));
  if (where.type == kDLCPU && detail::side_of(source.device()) == memory_side::host) {
    detail::require_success(try_host_wait(stream));
    return detail::copy_on_host(source, where, options);
  }
  managed_tensor result;
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    result = transfer(driver, source, where, stream, options);
    return report{};
  }));
  return result;
}
/// The same with the driver of the two devices, which the function selects.
inline void transfer_into(tensor_view const& source, tensor_view const& destination,
                          stream_ref stream, bool source_outlives_copy = false) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(detail::find_copy_path(source.device(), destination.device(), stream,
                                                 runtime, detail::copy_target::existing_memory));
  if (runtime == runtime_kind::none) {
    detail::retired_owners().collect();
    copy(source, destination);
    return;
  }
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    transfer_into(driver, source, destination, stream, source_outlives_copy);
    return report{};
  }));
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

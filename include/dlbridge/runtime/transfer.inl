// The inline bodies of transfer.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/runtime/detail/device_copy.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/detail/retired.hpp>
#include <dlbridge/runtime/transfer.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// Describes the new tensor, without its memory.
DLBRIDGE_COLD description describe_copy(tensor_view const& source, device where,
                                        transfer_options const& options) noexcept;

DLBRIDGE_COLD report no_path_of_driver(device from, device to, runtime_kind driver) noexcept;

template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE managed_tensor allocate_copy(copy_stream<Table>& stream,
                                                             description& d,
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

template <class Table>
managed_tensor transfer(Table const& driver, tensor_view const& source, device where,
                        stream_ref stream, transfer_options const& options) {
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

template <class Table>
void transfer_into(Table const& driver, tensor_view const& source, tensor_view const& destination,
                   stream_ref stream, bool source_outlives_copy) {
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

DLBRIDGE_END_NAMESPACE

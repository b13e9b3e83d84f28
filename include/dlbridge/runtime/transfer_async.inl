// The inline bodies of transfer_async.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/device_copy.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/detail/staging.inl>
#include <dlbridge/runtime/transfer_async.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// What a copy reads, until it has completed: the tensor, or the block of staging memory that has
// its elements.
template <class Table>
struct copy_in_flight : retired {
  shared_tensor source{};
  std::unique_ptr<staging_block<Table>> block{};
  stream_event<Table> event{};

  bool is_ready() noexcept override { return event.has_passed(); }
  DLBRIDGE_COLD DLBRIDGE_NOINLINE ~copy_in_flight() override {
    if (block != nullptr) {
      staging_blocks<Table>().put(std::move(block));
    }
  }
};

// Whether only the host can read the memory: the driver has neither allocated nor registered it.
template <class Table>
bool is_pageable(Table const& driver, tensor_view const& view) noexcept {
  device where;
  return memory_of(view.device()) == memory_kind::host && !try_locate(driver, view.data(), where);
}

// The destination's elements in a block of staging memory. Throws as staging_pool::take.
template <class Table>
tensor_view stage(copy_stream<Table>& copies, copy_in_flight<Table>& flight,
                  tensor_view const& source, tensor_view const& destination, DLTensor& staged) {
  auto const bytes = static_cast<std::size_t>(range_of(destination).size);
  flight.block = staging_blocks<Table>().take(copies.driver(), copies.guard(), bytes);
  staged = destination.to_dltensor();
  staged.data = flight.block->memory.address();
  staged.device = pinned_device(copies.driver()).abi();
  tensor_view const view(staged, destination.flags());
  copy_disjoint(source, view);
  clear_unused_bits(view);
  return view;
}

// Enqueues the copy on the stream. Returns false if the layout needs the host; nothing is enqueued
// then.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_enqueue(copy_stream<Table>& copies,
                                                 copy_in_flight<Table>& flight,
                                                 tensor_view const& source,
                                                 tensor_view const& destination) {
  DLTensor staged{};
  bool const fits = range_of(destination).size <= static_cast<std::int64_t>(largest_staging);
  if (fits && is_pageable(copies.driver(), source)) {
    tensor_view const view = stage(copies, flight, source, destination, staged);
    flight.source = shared_tensor();  // the block has its elements
    return try_copy_by_blocks(copies, view, destination, copy_route(copies, view, destination),
                              true);
  }
  return try_copy_by_blocks(copies, source, destination, copy_route(copies, source, destination),
                            true);
}
}  // namespace detail

template <class Table>
managed_tensor transfer_async(Table const& driver, shared_tensor const& owner,
                              tensor_view const& source, device where, stream_ref stream,
                              transfer_options const& options) {
  detail::require_copy_path<Table>(source.device(), where, stream);
  transfer_options waiting = options;
  waiting.source_outlives_copy = false;
  bool const needs_host =
      detail::side_of(where) == memory_side::host &&
      (detail::side_of(source.device()) == memory_side::host || !detail::fills_bytes(source));
  if (where.type == kDLCPU || needs_host || source.empty()) {
    return transfer(driver, source, where, stream, waiting);
  }
  detail::retired_owners().collect();
  std::unique_ptr<detail::copy_in_flight<Table>> flight(new (std::nothrow)
                                                            detail::copy_in_flight<Table>);
  if (flight == nullptr) {
    raise(refusal(errc::out_of_memory, "memory to keep the source of a copy", "none"));
  }
  flight->source = owner;
  description d = detail::describe_copy(source, where, options);
  managed_tensor result;  // as in transfer, copies is destroyed first
  detail::copy_stream<Table> copies(driver, stream);
  copies.require_no_capture();
  result = detail::allocate_copy(copies, d, options);
  if (!detail::try_enqueue(copies, *flight, source, result.view())) {
    detail::device_copy(copies, source, result.view(), true);
    copies.wait();
    return result;
  }
  detail::require_success(flight->event.try_record(driver, copies.guard(), stream.native_handle()));
  detail::detach_copies(copies, result);
  detail::retired_owners().add(flight.release());
  return result;
}

DLBRIDGE_END_NAMESPACE

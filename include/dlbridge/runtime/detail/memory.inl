// The inline bodies of memory.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>

#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/order.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class Table>
driver_memory<Table>::~driver_memory() {
  if (address_ != nullptr) {
    if (!try_free()) {
      defer();
    }
    detail::retired_owners().collect();
  }
}

template <class Table>
inline bool driver_memory<Table>::try_record_stream(stream_ref stream,
                                                    std::shared_ptr<void const> owner) noexcept {
  return runtime_of(stream.device()) == detail::runtime_of_table<Table>() &&
         uses_.try_add(in_current_context(*driver_, stream), std::move(owner));
}

template <class Table>
report driver_memory<Table>::try_allocate(Table const& driver, context_guard<Table> const& guard,
                                          device where, std::size_t bytes) noexcept {
  detail::retired_owners().collect();
  detail::relaxed_capture_scope<Table> const relaxed(driver);
  bool const managed = memory_of(where) == memory_kind::managed;
  bool const pinned = memory_of(where) == memory_kind::pinned;
  constexpr unsigned flags = detail::allocation_portable;
  report status = pinned    ? try_call(driver, driver.host_allocate, &address_, bytes, flags)
                  : managed ? try_call(driver, driver.managed_allocate, &address_, bytes, flags)
                            : try_call(driver, driver.memory_allocate, &address_, bytes);
  return record(driver, guard, pinned ? free_method::host : free_method::device,
                stream_ref(where, static_cast<void*>(nullptr)), bytes, status);
}

template <class Table>
report driver_memory<Table>::try_allocate_on(Table const& driver, context_guard<Table> const& guard,
                                             stream_ref stream, std::size_t bytes) noexcept {
  if (!driver.memory_allocate_async || !driver.memory_free_async) {
    return try_allocate(driver, guard, stream.device(), bytes);
  }
  detail::retired_owners().collect();
  void* const handle = stream.native_handle();
  driver_result const result = driver.memory_allocate_async(&address_, bytes, handle);
  if (result == driver_not_supported) {
    driver.clear_error();
    return try_allocate(driver, guard, stream.device(), bytes);
  }
  report const status =
      result == driver_success
          ? report{}
          : detail::failed_call(driver, driver.memory_allocate_async.name(), result);
  return record(driver, guard, free_method::stream_ordered, stream, bytes, status);
}

template <class Table>
report driver_memory<Table>::record(Table const& driver, context_guard<Table> const& guard,
                                    free_method method, stream_ref stream, std::size_t bytes,
                                    report const& status) noexcept {
  if (status.ok()) {
    driver_ = &driver;
    context_ = guard.to_store();
    where_ = stream.device();
    stream_ = kept_stream(guard.in_context(stream));
    method_ = method;
    return status;
  }
  address_ = nullptr;
  report r = status;
  r.expected.append(" with ").append_unsigned(bytes).append(" bytes");
  return r;
}

template <class Table>
bool driver_memory<Table>::deferred::is_ready() noexcept {
  if (!memory.has_context()) {
    return memory.try_free();
  }
  bool const is_ordered = memory.is_stream_ordered();
  stream_ref user = stream_ref::default_of(memory.where_);
  while (!is_ordered && memory.uses_.try_first(user)) {
    if (!is_recorded && !memory.last_use_.has_passed()) {
      return false;
    }
    if (!try_record(user) || !memory.last_use_.has_passed()) {
      return false;
    }
    memory.uses_.pop();
    is_recorded = false;
  }
  return (is_ordered || memory.last_use_.has_passed()) && memory.try_free();
}

template <class Table>
bool driver_memory<Table>::deferred::try_record(stream_ref user) noexcept {
  Table const& driver = *memory.driver_;
  for (int attempt = 0; attempt < 2; ++attempt) {
    context_guard<Table> guard(driver);
    report status = guard.try_enter(user);
    bool const is_captured =
        status.ok() && detail::ask_for_capture(driver, user) == detail::capture_answer::yes;
    if (is_captured || detail::is_refused_now(status)) {
      return false;
    }
    if (is_recorded) {
      return true;
    }
    detail::stream_event<Table> event;
    status = status.ok() ? event.try_record(driver, guard, user.native_handle()) : status;
    if (status.ok()) {
      memory.last_use_ = std::move(event);
      is_recorded = true;
      return true;
    }
  }
  return true;
}

template <class Table>
inline void driver_memory<Table>::defer() noexcept {
  auto* const item = new (std::nothrow) deferred(std::move(*this));
  if (item != nullptr) {  // otherwise the memory is lost: there is no memory to keep it
    detail::retired_owners().add(item);
  }
}

template <class Table>
inline bool driver_memory<Table>::try_free() noexcept {
  if (address_ == nullptr) {
    return true;
  }
  bool const is_ordered = method_ == free_method::stream_ordered;
  bool const is_done = !has_context() ? !is_ordered || try_free_of_device()
                       : is_ordered   ? try_free_in_order()
                                      : try_free_after_waiting();
  if (is_done) {
    address_ = nullptr;
  }
  return is_done;
}

template <class Table>
bool driver_memory<Table>::try_free_after_waiting() noexcept {
  detail::relaxed_capture_scope<Table> const relaxed(*driver_);
  if (!try_wait_for_uses() || !last_use_.try_wait()) {
    return false;
  }
  context_guard<Table> guard(*driver_);
  report const entered = try_enter(guard);
  if (!entered.ok()) {  // the driver freed the memory with the context
    return !detail::is_refused_now(entered);
  }
  return free_now(method_ == free_method::host ? driver_->host_free : driver_->memory_free);
}

template <class Table>
bool driver_memory<Table>::try_free_in_order() noexcept {
  stream_ref const stream = stream_.get(where_);
  context_guard<Table> guard(*driver_);
  bool const is_entered =
      !detail::is_default_stream(stream) || guard.try_enter_context(context_).ok();
  detail::capture_answer const captured =
      is_entered ? detail::ask_for_capture(*driver_, stream) : detail::capture_answer::unknown;
  if (captured == detail::capture_answer::yes) {
    return false;
  }
  report const order = uses_.visit(
      [&](stream_ref user) noexcept { return try_order_after(*driver_, stream, user); });
  if (detail::is_refused_now(order)) {
    return false;
  }
  if (captured == detail::capture_answer::no && order.ok() &&
      succeeds(*driver_, driver_->memory_free_async, address_, stream.native_handle())) {
    return true;
  }
  // The other call waits for nothing. It needs a context, and the memory outlives its own.
  detail::relaxed_capture_scope<Table> const relaxed(*driver_);
  if (!try_wait_for(stream) || !try_wait_for_uses()) {
    return false;
  }
  report entered = try_enter(guard);
  entered = entered.ok() ? entered : guard.try_enter_device(where_.id);
  return entered.ok() ? free_now(driver_->memory_free) : !detail::is_refused_now(entered);
}

template <class Table>
bool driver_memory<Table>::try_free_of_device() noexcept {
  detail::relaxed_capture_scope<Table> const relaxed(*driver_);
  context_guard<Table> guard(*driver_);
  report const entered = guard.try_enter_device(where_.id);
  return entered.ok() ? free_now(driver_->memory_free) : !detail::is_refused_now(entered);
}

template <class Table>
bool driver_memory<Table>::try_wait_for_uses() const noexcept {
  bool is_captured = false;
  static_cast<void>(uses_.visit([&](stream_ref user) noexcept {
    is_captured = is_captured || !try_wait_for(user);
    return report{};
  }));
  return !is_captured;
}

template <class Table>
bool driver_memory<Table>::try_wait_for(stream_ref stream) const noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    report const status = try_host_wait(*driver_, stream);
    if (status.ok() || detail::is_refused_now(status)) {
      return status.ok();
    }
  }
  return true;
}

template <class Table>
report driver_memory<Table>::try_enter(context_guard<Table>& guard) const noexcept {
  report const status = guard.try_enter_context(context_);
  return status.ok() ? status : guard.try_enter_context(context_);
}

template <class Table>
bool driver_memory<Table>::free_now(driver_function<void*> const& function) const noexcept {
  driver_result const result = function(address_);
  if (result == driver_success) {
    return true;
  }
  driver_->clear_error();
  device where;
  bool const is_refused = detail::is_refused_now(result);
  if (!is_refused && try_locate(*driver_, address_, where)) {
    static_cast<void>(succeeds(*driver_, function, address_));
  }
  return !is_refused;
}

DLBRIDGE_END_NAMESPACE

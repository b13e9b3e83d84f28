// driver_memory, try_record_stream, located: own memory that a driver has allocated until its last
// use, and look up the device of memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/detail/retired.hpp>
#include <dlbridge/runtime/detail/stream_uses.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace detail {
inline memory_side side_of(device where) noexcept {
  memory_kind const kind = memory_of(where);
  return kind == memory_kind::device    ? memory_side::device
         : kind == memory_kind::managed ? memory_side::managed
                                        : memory_side::host;
}
}  // namespace detail

/// Owns memory of a device, pinned host memory or managed memory. The destructor frees the memory
/// after the operations that it knows of: those of the stream of try_allocate_on, those of the
/// streams of try_record_stream, and those before the event of keep_event. Stream-ordered memory is
/// freed in the order of its stream. For other memory the destructor waits, because the drivers
/// promise no wait ("may perform implicit synchronization").
///
/// While one of the streams is being captured, the free is deferred, because it must not become a
/// part of the graph. So is a free in a host function of a stream, which may not call the driver. A
/// later allocation, transfer or free of this module then frees the memory, without waiting: those
/// that come before the end of the operations leave it to the next one.
/// @par Lifetime
/// The table exists as long as the memory. So do the streams of try_allocate_on and
/// try_record_stream; if the free is deferred, until the memory has been freed.
/// @par Thread and GIL
/// Any thread may destroy the object. Its current context or device stays the same.
template <class Table>
class driver_memory {
 public:
  driver_memory() noexcept = default;
  driver_memory(driver_memory const&) = delete;
  driver_memory(driver_memory&& other) noexcept
      : driver_(other.driver_),
        address_(std::exchange(other.address_, nullptr)),
        context_(other.context_),
        where_(other.where_),
        stream_(other.stream_),
        method_(other.method_),
        uses_(std::move(other.uses_)),
        last_use_(std::move(other.last_use_)) {}
  driver_memory& operator=(driver_memory const&) = delete;
  DLBRIDGE_COLD ~driver_memory() {
    if (address_ != nullptr) {
      if (!try_free()) {
        defer();
      }
      detail::retired_owners().collect();
    }
  }

  void* address() const noexcept { return address_; }
  bool is_stream_ordered() const noexcept { return method_ == free_method::stream_ordered; }
  /// Whether the context of the memory exists. The driver frees the memory of a context with it,
  /// except for stream-ordered memory, which belongs to the device.
  bool has_context() const noexcept { return context_guard<Table>(*driver_).exists(context_); }

  /// Adds a stream whose operations may use the memory until it is freed. A default stream is that
  /// of the context that is current on this thread.
  /// @param owner keeps the stream alive, or null. It is released after the operations.
  /// @return false if the stream belongs to another runtime, or there is no memory for the entry.
  /// @pre the object owns memory.
  bool try_record_stream(stream_ref stream, std::shared_ptr<void const> owner) noexcept {
    return runtime_of(stream.device()) == detail::runtime_of_table<Table>() &&
           uses_.try_add(in_current_context(*driver_, stream), std::move(owner));
  }
  /// Adds an event: the operations before it use the memory.
  void keep_event(detail::stream_event<Table>&& event) noexcept { last_use_ = std::move(event); }

  /// Allocates memory in the context that the guard has entered.
  /// @param where its type selects device, pinned or managed memory.
  /// @param bytes above 0.
  /// @return a report: out_of_memory, runtime_failed, runtime_missing (an older driver).
  DLBRIDGE_COLD report try_allocate(Table const& driver, context_guard<Table> const& guard,
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
  /// Allocates device memory in the order of a stream. Calls try_allocate if the driver has no
  /// stream-ordered allocation.
  /// @return a report: as try_allocate.
  DLBRIDGE_COLD report try_allocate_on(Table const& driver, context_guard<Table> const& guard,
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

 private:
  enum class free_method : std::uint8_t { device, host, stream_ordered };

  DLBRIDGE_COLD report record(Table const& driver, context_guard<Table> const& guard,
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

  // Memory whose free the driver refuses now. Stream-ordered memory is freed without a wait. Of
  // other memory, the event of the last use replaces the recorded streams, one after the other.
  struct deferred : detail::retired {
    explicit deferred(driver_memory&& waiting) noexcept : memory(std::move(waiting)) {}
    DLBRIDGE_COLD bool is_ready() noexcept override {
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
    // Records the event of the last use on the stream, once. Returns false if the driver refuses
    // calls now, or if the stream is being captured, also later: HIP ends a capture when an event
    // is queried that is on its stream. A call may report the error of an earlier operation, so the
    // function tries twice. After another failure nothing can be awaited.
    DLBRIDGE_COLD bool try_record(stream_ref user) noexcept {
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
    driver_memory memory;
    bool is_recorded = false;  // on the first of the streams
  };
  void defer() noexcept {
    auto* const item = new (std::nothrow) deferred(std::move(*this));
    if (item != nullptr) {  // otherwise the memory is lost: there is no memory to keep it
      detail::retired_owners().add(item);
    }
  }

  // Returns false if the driver refuses to free the memory now. Ignores failures: at process exit
  // the driver may have ended, and freed its memory.
  bool try_free() noexcept {
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

  DLBRIDGE_COLD bool try_free_after_waiting() noexcept {
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

  DLBRIDGE_COLD bool try_free_in_order() noexcept {
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

  // Frees stream-ordered memory whose streams were destroyed with their context.
  DLBRIDGE_COLD bool try_free_of_device() noexcept {
    detail::relaxed_capture_scope<Table> const relaxed(*driver_);
    context_guard<Table> guard(*driver_);
    report const entered = guard.try_enter_device(where_.id);
    return entered.ok() ? free_now(driver_->memory_free) : !detail::is_refused_now(entered);
  }

  // Returns false if the driver refuses to wait for one of the streams now.
  DLBRIDGE_COLD bool try_wait_for_uses() const noexcept {
    bool is_captured = false;
    static_cast<void>(uses_.visit([&](stream_ref user) noexcept {
      is_captured = is_captured || !try_wait_for(user);
      return report{};
    }));
    return !is_captured;
  }
  // Returns false if the driver refuses to wait now, for example because the stream is being
  // captured. A call may report the error of an earlier operation, so the function tries twice.
  // After another failure nothing can be awaited.
  DLBRIDGE_COLD bool try_wait_for(stream_ref stream) const noexcept {
    for (int attempt = 0; attempt < 2; ++attempt) {
      report const status = try_host_wait(*driver_, stream);
      if (status.ok() || detail::is_refused_now(status)) {
        return status.ok();
      }
    }
    return true;
  }
  // Enters the context of the memory. A call may report the error of an earlier operation, so the
  // function tries twice.
  DLBRIDGE_COLD report try_enter(context_guard<Table>& guard) const noexcept {
    report const status = guard.try_enter_context(context_);
    return status.ok() ? status : guard.try_enter_context(context_);
  }
  // Frees the memory, in a relaxed_capture_scope. Returns false if the driver refuses the call now.
  // A failed call may report the error of an earlier operation, also one that has freed the memory.
  // So the function tries again only if the driver still knows the address.
  DLBRIDGE_COLD bool free_now(driver_function<void*> const& function) const noexcept {
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

  Table const* driver_ = nullptr;
  void* address_ = nullptr;
  typename Table::stored_context context_{};
  device where_{};
  kept_stream stream_{};  // any thread may free the memory
  free_method method_ = free_method::device;
  detail::stream_uses uses_{};
  detail::stream_event<Table> last_use_{};
};

/// Records that the operations on a stream may use the memory of a tensor until it is freed: those
/// that are on the stream when the last owner releases the tensor run before the memory is freed.
/// A consumer calls it for a stream on which it enqueues work, instead of waiting before it
/// releases the tensor.
/// @param tensor a tensor that transfer or transfer_async of this module has returned.
/// @param stream the stream, which exists as long as the memory of the tensor. A default stream of
/// CUDA without a context is that of the current context.
/// @param owner keeps the stream alive, or null. It is released after the operations, on any
/// thread.
/// @return false if another owner frees the memory, if the stream belongs to another runtime than
/// the memory, or if there is no memory for the entry. The caller then orders its work before the
/// release itself.
/// @par Thread and GIL
/// Any thread.
inline bool try_record_stream(managed_tensor const& tensor, stream_ref stream,
                              std::shared_ptr<void const> owner = nullptr) noexcept {
  if (!tensor) {
    return false;
  }
  auto* const in_cuda = detail::find_owner<driver_memory<cuda_table>>(tensor);
  auto* const in_hip = detail::find_owner<driver_memory<hip_table>>(tensor);
  return in_cuda != nullptr  ? in_cuda->try_record_stream(stream, std::move(owner))
         : in_hip != nullptr ? in_hip->try_record_stream(stream, std::move(owner))
                             : false;
}

/// The device of a view's memory, as the driver reports it: the ordinal may differ from the one in
/// the view, and the memory may be pinned or managed.
///
/// Returns the device of the view if the driver did not allocate the memory or if this thread has
/// no current context. The function creates no context.
inline device located(tensor_view const& view) noexcept {
  device where = view.device();
  runtime_kind const runtime = runtime_of_memory(where);
  if (runtime != runtime_kind::none && !view.empty()) {
    static_cast<void>(with_driver(runtime, [&](auto const& driver) noexcept {
      static_cast<void>(try_locate(driver, view.data(), where));
      return report{};
    }));
  }
  return where;
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

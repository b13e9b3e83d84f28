// driver_memory, try_record_stream, located: own memory that a driver has allocated until its last
// use, and look up the device of memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/detail/retired.hpp>
#include <dlbridge/runtime/detail/stream_uses.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
memory_side side_of(device where) noexcept;
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
  DLBRIDGE_COLD DLBRIDGE_NOINLINE ~driver_memory();

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
  bool try_record_stream(stream_ref stream, std::shared_ptr<void const> owner) noexcept;
  /// Adds an event: the operations before it use the memory.
  void keep_event(detail::stream_event<Table>&& event) noexcept { last_use_ = std::move(event); }

  /// Allocates memory in the context that the guard has entered.
  /// @param where its type selects device, pinned or managed memory.
  /// @param bytes above 0.
  /// @return a report: out_of_memory, runtime_failed, runtime_missing (an older driver).
  DLBRIDGE_COLD DLBRIDGE_NOINLINE report try_allocate(Table const& driver,
                                                      context_guard<Table> const& guard,
                                                      device where, std::size_t bytes) noexcept;
  /// Allocates device memory in the order of a stream. Calls try_allocate if the driver has no
  /// stream-ordered allocation.
  /// @return a report: as try_allocate.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE report try_allocate_on(Table const& driver,
                                                         context_guard<Table> const& guard,
                                                         stream_ref stream,
                                                         std::size_t bytes) noexcept;

 private:
  enum class free_method : std::uint8_t { device, host, stream_ordered };

  DLBRIDGE_COLD DLBRIDGE_NOINLINE report record(Table const& driver,
                                                context_guard<Table> const& guard,
                                                free_method method, stream_ref stream,
                                                std::size_t bytes, report const& status) noexcept;

  // Memory whose free the driver refuses now. Stream-ordered memory is freed without a wait. Of
  // other memory, the event of the last use replaces the recorded streams, one after the other.
  struct deferred : detail::retired {
    explicit deferred(driver_memory&& waiting) noexcept : memory(std::move(waiting)) {}
    DLBRIDGE_COLD DLBRIDGE_NOINLINE bool is_ready() noexcept override;
    // Records the event of the last use on the stream, once. Returns false if the driver refuses
    // calls now, or if the stream is being captured, also later: HIP ends a capture when an event
    // is queried that is on its stream. A call may report the error of an earlier operation, so the
    // function tries twice. After another failure nothing can be awaited.
    DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_record(stream_ref user) noexcept;
    driver_memory memory;
    bool is_recorded = false;  // on the first of the streams
  };
  void defer() noexcept;

  // Returns false if the driver refuses to free the memory now. Ignores failures: at process exit
  // the driver may have ended, and freed its memory.
  bool try_free() noexcept;

  DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_free_after_waiting() noexcept;

  DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_free_in_order() noexcept;

  // Frees stream-ordered memory whose streams were destroyed with their context.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_free_of_device() noexcept;

  // Returns false if the driver refuses to wait for one of the streams now.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_wait_for_uses() const noexcept;
  // Returns false if the driver refuses to wait now, for example because the stream is being
  // captured. A call may report the error of an earlier operation, so the function tries twice.
  // After another failure nothing can be awaited.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE bool try_wait_for(stream_ref stream) const noexcept;
  // Enters the context of the memory. A call may report the error of an earlier operation, so the
  // function tries twice.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE report try_enter(context_guard<Table>& guard) const noexcept;
  // Frees the memory, in a relaxed_capture_scope. Returns false if the driver refuses the call now.
  // A failed call may report the error of an earlier operation, also one that has freed the memory.
  // So the function tries again only if the driver still knows the address.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE bool free_now(
      driver_function<void*> const& function) const noexcept;

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
/// @note Any thread may call it.
bool try_record_stream(managed_tensor const& tensor, stream_ref stream,
                       std::shared_ptr<void const> owner = nullptr) noexcept;

/// The device of a view's memory, as the driver reports it: the ordinal may differ from the one in
/// the view, and the memory may be pinned or managed.
///
/// Returns the device of the view if the driver did not allocate the memory or if this thread has
/// no current context. The function creates no context.
device located(tensor_view const& view) noexcept;

DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/detail/memory.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/memory.ipp>
#endif

// driver_memory, located: own memory that a driver has allocated, and look up the device of memory.
// layer: runtime · memory of devices
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
// In this scope the capture mode of the thread is relaxed. In the strict modes, allocating or
// freeing memory invalidates the captures of this thread (thread-local mode) or of the process
// (global mode).
template <class Table>
class relaxed_capture_scope {
 public:
  explicit relaxed_capture_scope(Table const& driver) noexcept : driver_(driver) { exchange(); }
  relaxed_capture_scope(relaxed_capture_scope const&) = delete;
  relaxed_capture_scope& operator=(relaxed_capture_scope const&) = delete;
  ~relaxed_capture_scope() { exchange(); }

 private:
  void exchange() noexcept {
    if (driver_.exchange_capture_mode) {
      static_cast<void>(succeeds(driver_, driver_.exchange_capture_mode, &mode_));
    }
  }

  Table const& driver_;
  int mode_ = capture_mode_relaxed;  // in the scope: the previous mode
};
}  // namespace detail

/// Owns memory of a device, pinned host memory or managed memory. The destructor frees the memory:
/// in stream order if it was allocated in stream order, otherwise by a call that waits for the
/// operations that use the memory.
/// @par Lifetime
/// The table exists as long as the memory. So does the stream of try_allocate_on.
/// @par Thread and GIL
/// Any thread may destroy the object. Its current context or device stays the same.
template <class Table>
class driver_memory {
 public:
  driver_memory() noexcept = default;
  driver_memory(driver_memory&& other) noexcept
      : driver_(other.driver_),
        address_(std::exchange(other.address_, nullptr)),
        context_(other.context_),
        stream_(other.stream_),
        method_(other.method_) {}
  driver_memory& operator=(driver_memory&&) = delete;
  ~driver_memory() { free(); }

  void* address() const noexcept { return address_; }

  /// Allocates memory in the context that the guard has entered.
  /// @param where its type selects device, pinned or managed memory.
  /// @param bytes above 0.
  /// @return a report: out_of_memory, runtime_failed, runtime_missing (an older driver).
  report try_allocate(Table const& driver, context_guard<Table> const& guard, device where,
                      std::size_t bytes) noexcept {
    detail::relaxed_capture_scope<Table> const relaxed(driver);
    bool const managed = memory_of(where) == memory_kind::managed;
    bool const pinned = memory_of(where) == memory_kind::pinned;
    constexpr unsigned flags = detail::allocation_portable;
    report status = pinned    ? try_call(driver, driver.host_allocate, &address_, bytes, flags)
                    : managed ? try_call(driver, driver.managed_allocate, &address_, bytes, flags)
                              : try_call(driver, driver.memory_allocate, &address_, bytes);
    return record(driver, guard, pinned ? free_method::host : free_method::device, nullptr, bytes,
                  status);
  }
  /// Allocates device memory in the order of a stream. Calls try_allocate if the driver has no
  /// stream-ordered allocation.
  /// @return a report: as try_allocate.
  report try_allocate_on(Table const& driver, context_guard<Table> const& guard, stream_ref stream,
                         std::size_t bytes) noexcept {
    if (!driver.memory_allocate_async || !driver.memory_free_async) {
      return try_allocate(driver, guard, stream.device(), bytes);
    }
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
    return record(driver, guard, free_method::stream_ordered, handle, bytes, status);
  }

 private:
  enum class free_method : std::uint8_t { device, host, stream_ordered };

  report record(Table const& driver, context_guard<Table> const& guard, free_method method,
                void* stream, std::size_t bytes, report const& status) noexcept {
    if (status.ok()) {
      driver_ = &driver;
      context_ = guard.context();
      stream_ = stream;
      method_ = method;
      return status;
    }
    address_ = nullptr;
    report r = status;
    r.expected.append(" with ").append_unsigned(bytes).append(" bytes");
    return r;
  }

  // Ignores failures: at process exit the driver may have ended, and freed its memory.
  void free() noexcept {
    if (address_ == nullptr) {
      return;
    }
    context_guard<Table> guard(*driver_);
    static_cast<void>(guard.try_enter_context(context_));
    if (method_ == free_method::stream_ordered &&
        succeeds(*driver_, driver_->memory_free_async, address_, stream_)) {
      return;
    }
    detail::relaxed_capture_scope<Table> const relaxed(*driver_);
    auto const& function = method_ == free_method::host ? driver_->host_free : driver_->memory_free;
    static_cast<void>(succeeds(*driver_, function, address_));
  }

  Table const* driver_ = nullptr;
  void* address_ = nullptr;
  typename Table::context_handle context_{};
  void* stream_ = nullptr;
  free_method method_ = free_method::device;
};

/// The device of a view's memory, as the driver reports it: the ordinal may differ from the one in
/// the view, and the memory may be pinned or managed.
///
/// Returns the device of the view if the driver did not allocate the memory or if this thread has
/// no current context. The function creates no context.
inline device located(tensor_view const& view) noexcept {
  device where = view.device();
  if (runtime_of(where) != runtime_kind::none && !view.empty()) {
    static_cast<void>(with_driver(runtime_of(where), [&](auto const& driver) noexcept {
      static_cast<void>(try_locate(driver, view.data(), where));
      return report{};
    }));
  }
  return where;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

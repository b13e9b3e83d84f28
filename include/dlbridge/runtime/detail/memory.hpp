// driver_memory: owner of memory that a driver gave, which goes back to it from any thread; and
// located, which asks the driver where memory really is.
// layer: runtime · side road: when memory must move
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
// CUDA forbids allocation and freeing while any stream of the process, or of the thread, is
// captured in a strict mode: such a call invalidates the capture. In this scope the thread's
// capture mode is relaxed, which permits both.
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
  int mode_ = 2;  // relaxed, and what was before
};
}  // namespace detail

/// Memory of a device, pinned host memory or managed memory, by the type of device asked for.
/// Frees by a call that waits for what uses the memory; or in the order of a stream, when it was
/// taken so.
/// lives: the table as long as the memory, and the stream, if it was taken so.
/// thread: any may free; what is current there stays so.
template <class Table>
class driver_memory {
 public:
  driver_memory() noexcept = default;
  driver_memory(driver_memory&& other) noexcept
      : driver_(other.driver_),
        address_(std::exchange(other.address_, nullptr)),
        context_(other.context_),
        stream_(other.stream_),
        how_(other.how_) {}
  driver_memory& operator=(driver_memory&&) = delete;
  ~driver_memory() { free(); }

  void* address() const noexcept { return address_; }

  /// Takes bytes (above 0) in the context that is entered. reports: out_of_memory, runtime_failed,
  /// runtime_missing (an older driver).
  report try_allocate(Table const& driver, context_guard<Table> const& entered, device where,
                      std::size_t bytes) noexcept {
    constexpr unsigned portable = 1;  // pinned in every context; managed: reached from everywhere
    detail::relaxed_capture_scope<Table> const apart(driver);
    bool const managed = memory_of(where) == memory_kind::managed;
    bool const pinned = memory_of(where) == memory_kind::pinned;
    report why = pinned    ? try_call(driver, driver.host_allocate, &address_, bytes, portable)
                 : managed ? try_call(driver, driver.managed_allocate, &address_, bytes, portable)
                           : try_call(driver, driver.memory_allocate, &address_, bytes);
    return record(driver, entered, pinned ? freed_as::host : freed_as::device, nullptr, bytes, why);
  }
  /// Takes device memory in the order of a stream, or as above where the driver has no such pool.
  report try_allocate_on(Table const& driver, context_guard<Table> const& entered,
                         stream_ref stream, std::size_t bytes) noexcept {
    if (!driver.memory_allocate_async || !driver.memory_free_async) {
      return try_allocate(driver, entered, stream.device(), bytes);
    }
    void* const handle = stream.native_handle();
    driver_result const result = driver.memory_allocate_async(&address_, bytes, handle);
    if (result == driver_not_supported) {
      driver.forget_error();
      return try_allocate(driver, entered, stream.device(), bytes);
    }
    report const why =
        result == driver_success
            ? report{}
            : detail::failed_call(driver, driver.memory_allocate_async.name(), result);
    return record(driver, entered, freed_as::in_stream, handle, bytes, why);
  }

 private:
  enum class freed_as : std::uint8_t { device, host, in_stream };

  report record(Table const& driver, context_guard<Table> const& entered, freed_as how,
                void* stream, std::size_t bytes, report const& why) noexcept {
    if (why.ok()) {
      driver_ = &driver;
      context_ = entered.context();
      stream_ = stream;
      how_ = how;
      return why;
    }
    address_ = nullptr;
    report r = why;
    r.expected.append(" with ").append_unsigned(bytes).append(" bytes");
    return r;
  }

  // At the end of a process the driver may be gone, and all its memory with it.
  void free() noexcept {
    if (address_ == nullptr) {
      return;
    }
    context_guard<Table> guard(*driver_);
    static_cast<void>(guard.try_enter_context(context_));
    if (how_ == freed_as::in_stream &&
        succeeds(*driver_, driver_->memory_free_async, address_, stream_)) {
      return;
    }
    detail::relaxed_capture_scope<Table> const apart(*driver_);
    auto const& function = how_ == freed_as::host ? driver_->host_free : driver_->memory_free;
    static_cast<void>(succeeds(*driver_, function, address_));
  }

  Table const* driver_ = nullptr;
  void* address_ = nullptr;
  typename Table::context_handle context_{};
  void* stream_ = nullptr;
  freed_as how_ = freed_as::device;
};

/// Where memory really is, as the driver knows it that it is said to belong to: on which device,
/// or that the CPU reaches it, being pinned or managed. What no driver knows is where it is said.
/// Makes no context: without one the answer is what was said.
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

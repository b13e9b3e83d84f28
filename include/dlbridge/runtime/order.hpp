// order_after makes a consumer's stream wait for a producer's, host_wait makes the host wait; the
// one place that decides by the kind of runtime.
// layer: runtime · side road: in whose order work happens
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Calls visit with the table of a runtime, cuda_table const& or hip_table const&, and gives the
/// report that it returns. reports: runtime_missing or runtime_failed when the runtime is not here.
template <class Visit>
report with_driver(runtime_kind kind, Visit visit) {
  switch (kind) {
    case runtime_kind::cuda:
      return cuda() != nullptr ? visit(*cuda()) : why_no_cuda();
    case runtime_kind::hip:
      return hip() != nullptr ? visit(*hip()) : why_no_hip();
    case runtime_kind::none:
      break;
  }
  return refusal(errc::runtime_missing, "a device of CUDA or ROCm", "a device without a runtime");
}

namespace detail {

// A handle names one stream; the default streams have the same handles on every device.
inline bool is_same_stream(stream_ref a, stream_ref b) noexcept {
  std::uintptr_t const handle = a.canonical_handle();
  return handle == b.canonical_handle() && (handle > 2 || a.device().id == b.device().id);
}

struct capture_state {
  bool active = false;
  std::uint64_t id = 0;  // of the capture; 0 when the driver cannot tell one from another
};

// The context of the stream must be entered. Drivers that know no captures have none.
template <class Table>
report try_read_capture(Table const& driver, stream_ref stream, capture_state& out) noexcept {
  out = capture_state{};
  if (!driver.stream_is_capturing) {
    return report{};
  }
  int status = 0;
  report why = try_call(driver, driver.stream_is_capturing, stream.native_handle(), &status);
  out.active = status != 0;
  if (why.ok() && out.active && driver.stream_get_capture_info) {
    why = try_call(driver, driver.stream_get_capture_info, stream.native_handle(), &status, &out.id,
                   static_cast<void**>(nullptr), static_cast<void***>(nullptr),
                   static_cast<std::size_t*>(nullptr));
  }
  return why;
}

template <class Table>
report try_enter_stream(context_guard<Table>& guard, Table const& driver, stream_ref stream,
                        capture_state& capture) noexcept {
  report why = guard.try_enter(stream);
  return why.ok() ? try_read_capture(driver, stream, capture) : why;
}

DLBRIDGE_COLD inline report captures_differ(capture_state const& consumer,
                                            capture_state const& producer) noexcept {
  auto const name = [](capture_state const& state) {
    return state.active ? "one that is being captured" : "one that is not";
  };
  report r = refusal(errc::capturing, "two streams of one capture, or of none",
                     consumer.active && producer.active ? "two captures" : "",
                     "Hand tensors over before the capture begins, or pass stream=-1 and order the "
                     "streams yourself");
  if (r.got.empty()) {
    r.got.append("a consumer's stream, ").append(name(consumer));
    r.got.append(", and a producer's, ").append(name(producer));
  }
  return r;
}

DLBRIDGE_COLD inline report no_wait_in_capture() noexcept {
  return refusal(errc::capturing, "a stream that the host may wait for", "one that is captured",
                 "What is captured has not happened yet: wait after the graph was launched");
}

// An event of the context that is entered, timing off: a kept one, or a new one.
template <class Table>
class borrowed_event {
 public:
  borrowed_event(Table const& driver, context_guard<Table> const& guard) noexcept
      : driver_(driver),
        pool_(guard.events()),
        event_(pool_ != nullptr ? pool_->try_take() : nullptr) {}
  borrowed_event(borrowed_event const&) = delete;
  borrowed_event& operator=(borrowed_event const&) = delete;
  ~borrowed_event() {
    if (event_ != nullptr && (pool_ == nullptr || !pool_->try_put(event_))) {
      static_cast<void>(succeeds(driver_, driver_.event_destroy, event_));
    }
  }

  void* get() const noexcept { return event_; }
  report try_record(void* stream) noexcept {
    if (event_ != nullptr) {
      if (succeeds(driver_, driver_.event_record, event_, stream)) {
        return report{};
      }
      // It may be from before the device was reset: a new one will tell.
      static_cast<void>(succeeds(driver_, driver_.event_destroy, event_));
      event_ = nullptr;
    }
    constexpr unsigned timing_off = 2;
    report why = try_call(driver_, driver_.event_create, &event_, timing_off);
    return why.ok() ? try_call(driver_, driver_.event_record, event_, stream) : why;
  }

 private:
  Table const& driver_;
  event_pool* pool_;
  void* event_;
};
}  // namespace detail

/// Makes what is enqueued on consumer from here on wait for what is enqueued on producer by now.
/// Both are of this driver; their devices may differ. In one capture it becomes an edge of the
/// graph. The host waits for nothing, and what is current stays so.
/// lives: both streams until it returns. thread: any.
/// reports: capturing (one side only; nothing is enqueued), runtime_failed.
template <class Table>
report try_order_after(Table const& driver, stream_ref consumer, stream_ref producer) noexcept {
  if (detail::is_same_stream(consumer, producer)) {
    return report{};
  }
  context_guard<Table> guard(driver);
  detail::capture_state waits;
  detail::capture_state goes_first;
  report why = detail::try_enter_stream(guard, driver, consumer, waits);
  if (why.ok()) {
    why = detail::try_enter_stream(guard, driver, producer, goes_first);
  }
  if (!why.ok()) {
    return why;
  }
  if (waits.active != goes_first.active || waits.id != goes_first.id) {
    return detail::captures_differ(waits, goes_first);
  }
  detail::borrowed_event<Table> event(driver, guard);
  why = event.try_record(producer.native_handle());
  if (why.ok()) {
    why = guard.try_enter(consumer);
  }
  return why.ok()
             ? try_call(driver, driver.stream_wait_event, consumer.native_handle(), event.get(), 0U)
             : why;
}

/// Waits on this thread for what is enqueued on a stream; never for the whole device.
/// reports: capturing (nothing is waited for), runtime_failed (also that of the work itself).
template <class Table>
report try_host_wait(Table const& driver, stream_ref stream) noexcept {
  context_guard<Table> guard(driver);
  detail::capture_state capture;
  report why = detail::try_enter_stream(guard, driver, stream, capture);
  if (!why.ok()) {
    return why;
  }
  return capture.active ? detail::no_wait_in_capture()
                        : try_call(driver, driver.stream_synchronize, stream.native_handle());
}

/// The same with the driver of the stream's device. On devices without streams there is nothing to
/// wait for. reports: also runtime_missing; bad_stream (a handle where no stream is known).
inline report try_host_wait(stream_ref stream) noexcept {
  runtime_kind const kind = runtime_of(stream.device());
  if (kind != runtime_kind::none) {
    return with_driver(kind, [&](auto const& driver) { return try_host_wait(driver, stream); });
  }
  if (stream.native_handle() == nullptr) {
    return report{};
  }
  report r = refusal(errc::bad_stream, "a stream of CUDA or ROCm", "a stream on ",
                     "Order it yourself, and pass stream=-1");
  r.got.append(name_of(stream.device()).c_str());
  return r;
}

/// Makes consumer wait for producer, whatever devices they are on: by an event within one runtime;
/// else the host waits for producer, as no event crosses from runtime to runtime, or to the CPU.
/// reports: capturing, runtime_missing, runtime_failed, bad_stream.
inline report try_order_after(stream_ref consumer, stream_ref producer) noexcept {
  runtime_kind const kind = runtime_of(producer.device());
  if (kind == runtime_kind::none || kind != runtime_of(consumer.device())) {
    return try_host_wait(producer);
  }
  return with_driver(
      kind, [&](auto const& driver) { return try_order_after(driver, consumer, producer); });
}

/// The forms that throw. fails: as the ones that try.
inline void order_after(stream_ref consumer, stream_ref producer) {
  detail::require_success(try_order_after(consumer, producer));
}
inline void host_wait(stream_ref stream) { detail::require_success(try_host_wait(stream)); }

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

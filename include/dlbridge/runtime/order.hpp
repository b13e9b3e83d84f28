// order_after, host_wait: make a consumer's stream, or the host, wait for a producer's stream;
// in_current_context prepares a stream for other threads.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/stream_ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace detail {
// The caller looks the driver up once: other code may load it between two lookups.
template <class Table, class Visit>
report visit_driver(loaded_driver<Table> const& driver, Visit& visit) {
  return driver.status.ok() ? visit(driver.table) : driver.status;
}
}  // namespace detail

/// Calls visit with the driver of a runtime.
/// @param kind the runtime.
/// @param visit takes a cuda_table const& or a hip_table const&, and returns a report.
/// @return the report of visit; or runtime_missing, runtime_failed if there is no driver.
template <class Visit>
report with_driver(runtime_kind kind, Visit visit) {
  switch (kind) {
    case runtime_kind::cuda:
      return detail::visit_driver(detail::cuda_driver(), visit);
    case runtime_kind::hip:
      return detail::visit_driver(detail::hip_driver(), visit);
    case runtime_kind::none:
      break;
  }
  return refusal(errc::runtime_missing, "a device of CUDA or ROCm", "a device without a runtime");
}

namespace detail {

template <class Table>
bool is_same_stream(Table const& driver, stream_ref a, stream_ref b) noexcept {
  if (a.canonical_handle() != b.canonical_handle() || !is_default_stream(a)) {
    return a.canonical_handle() == b.canonical_handle();
  }
  return a.device().id == b.device().id &&
         (a.context() == b.context() ||
          in_current_context(driver, a).context() == in_current_context(driver, b).context());
}

struct capture_state {
  bool active = false;
  std::uint64_t id = 0;  // the ID of the capture sequence; 0 if the driver does not report it
};

// Reads whether the stream is being captured, and the ID of the capture. The caller has entered the
// context of the stream. A driver without capture functions has no active captures.
template <class Table>
report try_read_capture(Table const& driver, stream_ref stream, capture_state& out) noexcept {
  out = capture_state{};
  if (!driver.stream_is_capturing) {
    return report{};
  }
  int capture_status = 0;
  report status =
      try_call(driver, driver.stream_is_capturing, stream.native_handle(), &capture_status);
  out.active = capture_status != 0;
  if (status.ok() && out.active && driver.stream_get_capture_info) {
    status = try_call(driver, driver.stream_get_capture_info, stream.native_handle(),
                      &capture_status, &out.id, static_cast<void**>(nullptr),
                      static_cast<void***>(nullptr), static_cast<std::size_t*>(nullptr));
  }
  return status;
}

template <class Table>
report try_enter_stream(context_guard<Table>& guard, Table const& driver, stream_ref stream,
                        capture_state& capture) noexcept {
  report status = guard.try_enter(stream);
  return status.ok() ? try_read_capture(driver, stream, capture) : status;
}

DLBRIDGE_COLD inline report captures_differ(capture_state const& consumer,
                                            capture_state const& producer) noexcept {
  auto const name = [](capture_state const& state) {
    return state.active ? "one that is being captured" : "one that is not";
  };
  report r = refusal(errc::capturing, "two streams of one capture, or of none",
                     consumer.active && producer.active ? "two captures" : "", capture_advice);
  if (r.got.empty()) {
    r.got.append("a consumer's stream, ").append(name(consumer));
    r.got.append(", and a producer's, ").append(name(producer));
  }
  return r;
}

DLBRIDGE_COLD inline report no_wait_in_capture() noexcept {
  return refusal(errc::capturing, "a stream that the host may wait for", "one that is captured",
                 "Captured operations have not run yet: wait after launching the graph");
}

// Records an event of a primary context. A thread without a current context enters the primary one
// by the guard.
template <class Table>
bool record_quickly(Table const& driver, context_guard<Table>& guard, void* event,
                    stream_ref producer) noexcept {
  driver_result result = driver.event_record(event, producer.native_handle());
  if (result == driver_invalid_context && guard.try_enter_device(producer.device().id).ok()) {
    result = driver.event_record(event, producer.native_handle());
  }
  if (result != driver_success) {
    driver.clear_error();
  }
  return result == driver_success;
}

// Orders two streams, neither of which is being captured, without a change of the current context.
// The queries come first: an event of a captured stream would make the consumer a part of the
// capture, and a captured consumer that waits for another event would lose its capture.
// Returns false if it has not ordered them; try_order_carefully then does, or reports the reason.
template <class Table>
bool order_quickly(Table const& driver, stream_ref consumer, stream_ref producer) noexcept {
  event_pool* const pool = events_at_hand(driver, consumer, producer);
  void* const event = pool != nullptr ? pool->try_take() : nullptr;
  if (event == nullptr) {
    return false;
  }
  context_guard<Table> guard(driver);
  bool const is_ordered =
      ask_for_capture(driver, consumer) == capture_answer::no &&
      ask_for_capture(driver, producer) == capture_answer::no &&
      record_quickly(driver, guard, event, producer) &&
      succeeds(driver, driver.stream_wait_event, consumer.native_handle(), event, 0U);
  if (!pool->try_put(event)) {
    static_cast<void>(succeeds(driver, driver.event_destroy, event));
  }
  return is_ordered;
}

template <class Table>
DLBRIDGE_COLD report try_order_carefully(Table const& driver, stream_ref consumer,
                                         stream_ref producer) noexcept {
  context_guard<Table> guard(driver);
  capture_state consumer_capture;
  capture_state producer_capture;
  report status = try_enter_stream(guard, driver, consumer, consumer_capture);
  if (status.ok()) {
    status = try_enter_stream(guard, driver, producer, producer_capture);
  }
  if (!status.ok()) {
    return status;
  }
  if (consumer_capture.active != producer_capture.active ||
      consumer_capture.id != producer_capture.id) {
    return captures_differ(consumer_capture, producer_capture);
  }
  stream_event<Table> event;
  status = event.try_record(driver, guard, producer.native_handle());
  if (status.ok() && is_default_stream(consumer)) {
    status = guard.try_enter(consumer);
  }
  return status.ok()
             ? try_call(driver, driver.stream_wait_event, consumer.native_handle(), event.get(), 0U)
             : status;
}
}  // namespace detail

/// Makes the operations that are enqueued on consumer later wait for the operations that are on
/// producer now. If both streams are being captured into one graph, the wait becomes an edge of the
/// graph. The host does not wait. The current context or device of this thread stays the same.
/// @param driver the driver of both streams, whose devices may differ.
/// @param consumer the stream that waits.
/// @param producer the stream to wait for.
/// @return a report: capturing (the streams belong to different captures, or only one of them is
/// being captured; nothing is enqueued), runtime_failed.
/// @par Lifetime
/// Both streams exist until the function returns.
/// @par Thread and GIL
/// Any thread.
template <class Table>
report try_order_after(Table const& driver, stream_ref consumer, stream_ref producer) noexcept {
  if (detail::is_same_stream(driver, consumer, producer)) {
    return report{};
  }
  return detail::order_quickly(driver, consumer, producer)
             ? report{}
             : detail::try_order_carefully(driver, consumer, producer);
}

/// Blocks this thread until the operations on a stream have completed. Does not wait for the other
/// streams of the device.
/// @return a report: capturing (the stream is being captured; the function does not wait),
/// runtime_failed (also if one of the operations failed).
/// @par Thread and GIL
/// Any thread. A thread that holds the GIL releases it first, because the function blocks.
template <class Table>
DLBRIDGE_COLD report try_host_wait(Table const& driver, stream_ref stream) noexcept {
  if (!detail::is_default_stream(stream) &&
      detail::ask_for_capture(driver, stream) == detail::capture_answer::no &&
      succeeds(driver, driver.stream_synchronize, stream.native_handle())) {
    return report{};
  }
  context_guard<Table> guard(driver);
  detail::capture_state capture;
  report status = detail::try_enter_stream(guard, driver, stream, capture);
  if (!status.ok()) {
    return status;
  }
  if (capture.active) {
    return detail::no_wait_in_capture();
  }
  if (!detail::is_default_stream(stream)) {
    return try_call(driver, driver.stream_synchronize, stream.native_handle());
  }
  // The legacy default stream waits for the blocking streams when it receives an operation, such as
  // an event. No documentation states that a synchronization alone does so.
  detail::stream_event<Table> event;
  status = event.try_record(driver, guard, stream.native_handle());
  return status.ok() ? try_call(driver, driver.event_synchronize, event.get()) : status;
}

/// The same with the driver of the stream's device. Does nothing for the null stream of a device
/// without streams.
/// @return a report: capturing, runtime_missing, runtime_failed, bad_stream (a stream with a handle
/// on a device without streams, such as a SYCL queue).
inline report try_host_wait(stream_ref stream) noexcept {
  runtime_kind const kind = runtime_of(stream.device());
  if (kind != runtime_kind::none) {
    return with_driver(kind, [&](auto const& driver) { return try_host_wait(driver, stream); });
  }
  if (stream.native_handle() == nullptr) {
    return report{};
  }
  report r = refusal(errc::bad_stream, "a stream of CUDA or ROCm", "a stream on ",
                     "Order the streams yourself, and pass stream=-1");
  append_name(r.got, stream.device());
  return r;
}

/// Like the try_order_after of one driver, for streams on any two devices. Within one runtime an
/// event orders the streams. Otherwise this thread blocks until the operations on producer have
/// completed, because runtimes do not share events.
/// @return a report: capturing, runtime_missing, runtime_failed, bad_stream.
inline report try_order_after(stream_ref consumer, stream_ref producer) noexcept {
  runtime_kind const kind = runtime_of(producer.device());
  if (kind == runtime_kind::none || kind != runtime_of(consumer.device())) {
    return try_host_wait(producer);
  }
  return with_driver(
      kind, [&](auto const& driver) { return try_order_after(driver, consumer, producer); });
}

/// The stream for use by any thread later, for example in a kept_stream. A default stream of CUDA
/// without a context becomes that of the context in which this thread would use it now. The
/// function creates no context; if there is none yet, or no usable driver, it returns the stream
/// unchanged.
/// @par Lifetime
/// The context exists as long as the stream is used.
/// @par Thread and GIL
/// The thread that has enqueued work on the stream, or will do so.
inline stream_ref in_current_context(stream_ref stream) noexcept {
  if (runtime_of(stream.device()) == runtime_kind::cuda && detail::is_default_stream(stream) &&
      detail::cuda_driver().status.ok()) {
    return in_current_context(detail::cuda_driver().table, stream);
  }
  return stream;
}

/// Like try_order_after, but throws.
/// @throws error capturing, runtime_missing, runtime_failed, bad_stream.
inline void order_after(stream_ref consumer, stream_ref producer) {
  detail::require_success(try_order_after(consumer, producer));
}
/// The same with the driver of both streams.
template <class Table>
void order_after(Table const& driver, stream_ref consumer, stream_ref producer) {
  detail::require_success(try_order_after(driver, consumer, producer));
}
/// Like try_host_wait, but throws.
/// @throws error capturing, runtime_missing, runtime_failed, bad_stream.
inline void host_wait(stream_ref stream) { detail::require_success(try_host_wait(stream)); }
/// The same with the driver of the stream.
template <class Table>
void host_wait(Table const& driver, stream_ref stream) {
  detail::require_success(try_host_wait(driver, stream));
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

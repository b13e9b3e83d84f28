// The inline bodies of order.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/events.hpp>
#include <dlbridge/runtime/order.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_COLD report captures_differ(capture_state const& consumer,
                                     capture_state const& producer) noexcept;

// The caller looks the driver up once: other code may load it between two lookups.
template <class Table, class Visit>
report visit_driver(loaded_driver<Table> const& driver, Visit& visit) {
  return driver.status.ok() ? visit(driver.table) : driver.status;
}
}  // namespace detail

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
DLBRIDGE_COLD DLBRIDGE_NOINLINE report try_order_carefully(Table const& driver, stream_ref consumer,
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

template <class Table>
report try_order_after(Table const& driver, stream_ref consumer, stream_ref producer) noexcept {
  if (detail::is_same_stream(driver, consumer, producer)) {
    return report{};
  }
  return detail::order_quickly(driver, consumer, producer)
             ? report{}
             : detail::try_order_carefully(driver, consumer, producer);
}

template <class Table>
report try_host_wait(Table const& driver, stream_ref stream) noexcept {
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

DLBRIDGE_END_NAMESPACE

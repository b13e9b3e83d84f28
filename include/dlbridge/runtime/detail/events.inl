// The inline bodies of events.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/detail/events.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
template <class Table>
inline relaxed_capture_scope<Table>::~relaxed_capture_scope() {
  for (int attempt = 0; attempt < 2 && mode_ != capture_mode_relaxed; ++attempt) {
    exchange();
  }
}

template <class Table>
inline void relaxed_capture_scope<Table>::exchange() noexcept {
  if (driver_.exchange_capture_mode) {
    static_cast<void>(succeeds(driver_, driver_.exchange_capture_mode, &mode_));
  }
}

template <class Table>
capture_answer ask_for_capture(Table const& driver, stream_ref stream) noexcept {
  if (!driver.stream_is_capturing) {
    return capture_answer::no;
  }
  int state = 0;
  driver_result const result = driver.stream_is_capturing(stream.native_handle(), &state);
  if (result == driver_success) {
    return state != 0 ? capture_answer::yes : capture_answer::no;
  }
  driver.clear_error();
  // The legacy default stream is unusable while a blocking stream of its context is captured.
  return is_refused_now(result) ? capture_answer::yes : capture_answer::unknown;
}

template <class Table>
stream_event<Table>& stream_event<Table>::operator=(stream_event&& other) noexcept {
  stream_event old(std::move(other));
  std::swap(driver_, old.driver_);
  std::swap(pool_, old.pool_);
  std::swap(context_, old.context_);
  std::swap(event_, old.event_);
  return *this;
}

template <class Table>
stream_event<Table>::~stream_event() {
  if (event_ == nullptr) {
    return;
  }
  context_guard<Table> guard(*driver_);
  if (!guard.exists(context_) || (pool_ != nullptr && pool_->try_put(event_))) {
    return;  // the driver destroys the events of a context with it
  }
  if (guard.try_enter_context(context_).ok()) {
    static_cast<void>(succeeds(*driver_, driver_->event_destroy, event_));
  }
}

template <class Table>
report stream_event<Table>::try_record(Table const& driver, context_guard<Table> const& guard,
                                       void* stream) noexcept {
  driver_ = &driver;
  context_ = guard.to_store();
  pool_ = guard.events();
  event_ = pool_ != nullptr ? pool_->try_take() : nullptr;
  if (event_ != nullptr) {
    if (succeeds(driver, driver.event_record, event_, stream)) {
      return report{};
    }
    // A driver without IDs of contexts does not tell whether the device was reset after the
    // creation of the event, which is then invalid. The function tries again with a new event.
    static_cast<void>(succeeds(driver, driver.event_destroy, event_));
    event_ = nullptr;
  }
  report status = try_call(driver, driver.event_create, &event_, event_disable_timing);
  return status.ok() ? try_call(driver, driver.event_record, event_, stream) : status;
}

template <class Table>
inline bool stream_event<Table>::has_passed() noexcept {
  if (event_ == nullptr) {
    return true;
  }
  relaxed_capture_scope<Table> const relaxed(*driver_);
  driver_result const result = call(driver_->event_query);
  // HIP refuses events of streams that are being captured.
  return result != driver_not_ready && !is_refused_now(result);
}

template <class Table>
driver_result stream_event<Table>::call(driver_function<void*> const& function) noexcept {
  if (!context_guard<Table>(*driver_).exists(context_)) {
    event_ = nullptr;
    return driver_context_destroyed;
  }
  driver_result result = function(event_);
  for (int again = 0; again < 2 && is_failure(result); ++again) {
    driver_->clear_error();
    context_guard<Table> guard(*driver_);
    result = guard.try_enter_context(context_).ok() ? function(event_) : driver_invalid_context;
  }
  event_ = is_failure(result) ? nullptr : event_;
  if (result != driver_success) {
    driver_->clear_error();
  }
  return result;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

// stream_event: own an event of a driver, which other streams or the host wait for.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/stream_ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace detail {

// In this scope the capture mode of the thread is relaxed. In the strict modes, allocating or
// freeing memory and the query of an event invalidate the captures of this thread (thread-local
// mode) or of the process (global mode).
template <class Table>
class relaxed_capture_scope {
 public:
  explicit relaxed_capture_scope(Table const& driver) noexcept : driver_(driver) { exchange(); }
  relaxed_capture_scope(relaxed_capture_scope const&) = delete;
  relaxed_capture_scope& operator=(relaxed_capture_scope const&) = delete;
  // Restores the mode, unless it was relaxed before, or the first call failed. A call may report
  // the error of an earlier operation, so the function tries twice.
  ~relaxed_capture_scope() {
    for (int attempt = 0; attempt < 2 && mode_ != capture_mode_relaxed; ++attempt) {
      exchange();
    }
  }

 private:
  void exchange() noexcept {
    if (driver_.exchange_capture_mode) {
      static_cast<void>(succeeds(driver_, driver_.exchange_capture_mode, &mode_));
    }
  }

  Table const& driver_;
  int mode_ = capture_mode_relaxed;  // in the scope: the previous mode
};

// Whether the driver refuses a call now and may accept it later: because of a capture, or because
// the thread runs a host function of a stream.
constexpr bool is_refused_now(driver_result result) noexcept {
  return result == driver_not_permitted ||
         (result >= driver_capture_unsupported && result <= driver_capture_wrong_thread);
}
inline bool is_refused_now(report const& status) noexcept {
  return status.has(errc::capturing) || status.has(errc::not_permitted);
}

// Whether a stream is being captured, or the driver refuses to answer now. A driver without capture
// functions has no captures.
enum class capture_answer : std::uint8_t { no, yes, unknown };

template <class Table>
DLBRIDGE_COLD capture_answer ask_for_capture(Table const& driver, stream_ref stream) noexcept {
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

// An event without timing. It comes from the pool of its context, or try_record creates it. The
// destructor returns it to the pool, or destroys it if the pool is full or missing.
template <class Table>
class stream_event {
 public:
  stream_event() noexcept = default;
  stream_event(stream_event const&) = delete;
  stream_event(stream_event&& other) noexcept
      : driver_(other.driver_),
        pool_(other.pool_),
        context_(other.context_),
        event_(std::exchange(other.event_, nullptr)) {}
  stream_event& operator=(stream_event const&) = delete;
  stream_event& operator=(stream_event&& other) noexcept {
    stream_event old(std::move(other));
    std::swap(driver_, old.driver_);
    std::swap(pool_, old.pool_);
    std::swap(context_, old.context_);
    std::swap(event_, old.event_);
    return *this;
  }
  DLBRIDGE_COLD ~stream_event() {
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

  void* get() const noexcept { return event_; }

  // Records the event on a stream of the context that the guard has entered.
  DLBRIDGE_COLD report try_record(Table const& driver, context_guard<Table> const& guard,
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
  // Whether the operations before the event have completed; also true as call() states.
  bool has_passed() noexcept {
    if (event_ == nullptr) {
      return true;
    }
    relaxed_capture_scope<Table> const relaxed(*driver_);
    driver_result const result = call(driver_->event_query);
    // HIP refuses events of streams that are being captured.
    return result != driver_not_ready && !is_refused_now(result);
  }
  // Blocks this thread until the operations before the event have completed, or as call() states.
  // Returns false if the driver refuses to wait now.
  bool try_wait() noexcept {
    return event_ == nullptr || !is_refused_now(call(driver_->event_synchronize));
  }

 private:
  // Calls a function with the event. The thread may lack a current context, and a call may report
  // the error of an earlier operation, so after a failure the function is called twice in the
  // context of the event. If that fails too, nothing can be awaited, because the device was reset,
  // or this is a child process. The event is then invalid, and not returned to the pool.
  DLBRIDGE_COLD driver_result call(driver_function<void*> const& function) noexcept {
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
  static bool is_failure(driver_result result) noexcept {
    return result != driver_success && result != driver_not_ready && !is_refused_now(result);
  }

  Table const* driver_ = nullptr;
  event_pool* pool_ = nullptr;
  typename Table::stored_context context_{};
  void* event_ = nullptr;
};

}  // namespace detail
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

// stream_event: own an event of a driver, which other streams or the host wait for.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
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
  ~relaxed_capture_scope();

 private:
  void exchange() noexcept;

  Table const& driver_;
  int mode_ = capture_mode_relaxed;  // in the scope: the previous mode
};

// Whether the driver refuses a call now and may accept it later: because of a capture, or because
// the thread runs a host function of a stream.
constexpr bool is_refused_now(driver_result result) noexcept {
  return result == driver_not_permitted ||
         (result >= driver_capture_unsupported && result <= driver_capture_wrong_thread);
}
bool is_refused_now(report const& status) noexcept;

// Whether a stream is being captured, or the driver refuses to answer now. A driver without capture
// functions has no captures.
enum class capture_answer : std::uint8_t { no, yes, unknown };

template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE capture_answer ask_for_capture(Table const& driver,
                                                               stream_ref stream) noexcept;

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
  stream_event& operator=(stream_event&& other) noexcept;
  DLBRIDGE_COLD DLBRIDGE_NOINLINE ~stream_event();

  void* get() const noexcept { return event_; }

  // Records the event on a stream of the context that the guard has entered.
  DLBRIDGE_COLD DLBRIDGE_NOINLINE report try_record(Table const& driver,
                                                    context_guard<Table> const& guard,
                                                    void* stream) noexcept;
  // Whether the operations before the event have completed; also true as call() states.
  bool has_passed() noexcept;
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
  DLBRIDGE_COLD DLBRIDGE_NOINLINE driver_result
  call(driver_function<void*> const& function) noexcept;
  static bool is_failure(driver_result result) noexcept {
    return result != driver_success && result != driver_not_ready && !is_refused_now(result);
  }

  Table const* driver_ = nullptr;
  event_pool* pool_ = nullptr;
  typename Table::stored_context context_{};
  void* event_ = nullptr;
};
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/detail/events.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/events.ipp>
#endif

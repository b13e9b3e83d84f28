// context_guard for CUDA: make contexts of CUDA current on a thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// Whether a context still exists; true if the driver has no IDs, or fails for another reason. The
// handle of a primary context stays valid, so it may be looked up after a reset.
bool exists(cuda_table const& driver, void* context, std::uint64_t id) noexcept;
}  // namespace detail

/// Makes CUDA contexts current on this thread. The guard enters one context at a time: entering a
/// second one leaves the first.
/// @par Thread and GIL
/// The thread that constructs the guard destroys it.
template <>
class context_guard<cuda_table> {
 public:
  /// Enters nothing yet.
  explicit context_guard(cuda_table const& driver) noexcept : driver_(driver) {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() { leave(); }

  /// Enters the context of a stream. For a default stream, that is the context of the reference; if
  /// the reference has none, or if that context was destroyed, it is the context that
  /// try_enter_device selects. For a stream of a green context it is the primary context, where the
  /// driver does not report another one.
  /// @return a report: runtime_failed (for example because the stream was destroyed).
  DLBRIDGE_COLD report try_enter(stream_ref stream) noexcept;
  /// Keeps the current context if it belongs to the device. Otherwise enters the primary context of
  /// the device, also if another thread has destroyed the current one.
  /// @return a report: runtime_failed.
  DLBRIDGE_COLD report try_enter_device(int ordinal) noexcept;
  /// Enters a context.
  /// @return a report: runtime_failed.
  report try_enter_context(void* context) noexcept;
  /// Enters a context that to_store() has returned, on any thread.
  /// @return a report: runtime_failed, also if the context was destroyed.
  DLBRIDGE_COLD report try_enter_context(cuda_context const& stored) noexcept;
  /// Makes the previous context current again.
  void leave() noexcept;

  /// The context that the guard has entered, or null.
  void* context() const noexcept { return context_; }
  /// The context that the guard has entered, for later use.
  cuda_context to_store() const noexcept;
  /// Whether a context that to_store() has returned exists. Its streams, events and memory do not
  /// exist without it; calls with their handles are undefined, and crash at times.
  bool exists(cuda_context const& stored) const noexcept;
  /// A stream whose context the guard has entered, for use by any thread.
  stream_ref in_context(stream_ref stream) const noexcept;
  /// The context that try_enter_device enters, without entering it. Null if the driver fails, or if
  /// that context is a primary one that does not exist yet.
  DLBRIDGE_COLD void* find_context(int ordinal) const noexcept;
  /// The pool of events of the context. Null if the context is not the primary one of its device:
  /// the process may destroy such a context, and its events with it, at any time.
  DLBRIDGE_COLD event_pool* events() const noexcept;

 private:
  // The primary context of a device, retained from now on; null if the driver fails, or if it does
  // not exist yet, as retaining would create it.
  DLBRIDGE_COLD void* retain_active(int device) const noexcept;
  std::uint64_t id_of(void* context) const noexcept;
  // The device of the current context. cuCtxGetDevice succeeds for a primary context that was
  // destroyed, too, so the function asks for the ID first.
  driver_result find_device_of_current(int& device) const noexcept;
  void* find_primary(int ordinal) const noexcept;
  // is_gone: set to whether the context was destroyed, which is the reason of the report.
  DLBRIDGE_COLD report try_enter_context(void* context, bool& is_gone) noexcept;
  // Whether the driver knows that a context was destroyed. It lets threads enter such a context,
  // also when it may no longer be used.
  bool is_destroyed(void* context) const noexcept;
  // Whether a result states that a context was destroyed.
  static bool is_context_gone(driver_result result) noexcept;
  // The current context of this thread. A destroyed one may be returned, or null instead of it.
  report try_get_current(void*& context) const noexcept;
  report try_get_device(int ordinal, int& device) const noexcept;
  report try_enter_primary(int device) noexcept;
  // Retains the primary context of a device. Keeps one reference for each context. A reset of the
  // device ends all references, and the context may have the same handle afterwards.
  DLBRIDGE_COLD report try_retain(int device, void*& context) const noexcept;

  cuda_table const& driver_;
  void* context_ = nullptr;
  mutable std::uint64_t id_ = 0;  // of context_, once to_store() has looked it up
  bool is_pushed_ = false;
  void* previous_ = nullptr;  // the context that was current before context_
};

/// A stream of CUDA for use by any thread: a default stream without a context becomes that of the
/// context in which this thread would use it now. The function creates no context. It returns the
/// stream unchanged if there is no such context yet, or if the driver fails.
stream_ref in_current_context(cuda_table const& driver, stream_ref stream) noexcept;

namespace detail {
// The pool whose events can be recorded on producer, if consumer can wait for them without a change
// of the current context; otherwise null. cuEventRecord takes an event of the stream's context, and
// cuStreamWaitEvent one of any context; only the handle of a default stream refers to the current
// context. The result is a guess: the stream may belong to a context that is not the primary one,
// and recording then fails with driver_invalid_handle.
event_pool* events_at_hand(cuda_table const& driver, stream_ref consumer,
                           stream_ref producer) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/cuda_context.ipp>
#endif

// order_after, host_wait: make a consumer's stream, or the host, wait for a producer's stream;
// in_current_context prepares a stream for other threads.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Calls visit with the driver of a runtime.
/// @param kind the runtime.
/// @param visit takes a cuda_table const& or a hip_table const&, and returns a report.
/// @return the report of visit; or runtime_missing, runtime_failed if there is no driver.
template <class Visit>
report with_driver(runtime_kind kind, Visit visit);

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
/// @note Any thread may call it.
template <class Table>
report try_order_after(Table const& driver, stream_ref consumer, stream_ref producer) noexcept;

/// Blocks this thread until the operations on a stream have completed. Does not wait for the other
/// streams of the device.
/// @return a report: capturing (the stream is being captured; the function does not wait),
/// runtime_failed (also if one of the operations failed).
/// @par Thread and GIL
/// Any thread. A thread that holds the GIL releases it first, because the function blocks.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE report try_host_wait(Table const& driver,
                                                     stream_ref stream) noexcept;

/// Blocks this thread in the same way, with the driver of the stream's device. Does nothing for the
/// null stream of a device without streams.
/// @return a report: capturing, runtime_missing, runtime_failed, bad_stream (a stream with a handle
/// on a device without streams, such as a SYCL queue).
report try_host_wait(stream_ref stream) noexcept;

/// Like the try_order_after of one driver, for streams on any two devices. Within one runtime an
/// event orders the streams. Otherwise this thread blocks until the operations on producer have
/// completed, because runtimes do not share events.
/// @return a report: capturing, runtime_missing, runtime_failed, bad_stream.
report try_order_after(stream_ref consumer, stream_ref producer) noexcept;

/// The stream for use by any thread later, for example in a kept_stream. A default stream of CUDA
/// without a context becomes that of the context in which this thread would use it now. The
/// function creates no context; without one, or a usable driver, it returns the stream unchanged.
/// @par Lifetime
/// The context exists as long as the stream is used.
/// @par Thread and GIL
/// The thread that has enqueued work on the stream, or will do so.
stream_ref in_current_context(stream_ref stream) noexcept;

/// Like try_order_after, but throws.
/// @throws error capturing, runtime_missing, runtime_failed, bad_stream.
void order_after(stream_ref consumer, stream_ref producer);
/// Like try_order_after with the driver of both streams, but throws.
template <class Table>
void order_after(Table const& driver, stream_ref consumer, stream_ref producer) {
  detail::require_success(try_order_after(driver, consumer, producer));
}
/// Like try_host_wait, but throws.
/// @throws error capturing, runtime_missing, runtime_failed, bad_stream.
inline void host_wait(stream_ref stream) { detail::require_success(try_host_wait(stream)); }
/// Like try_host_wait with the driver of the stream, but throws.
template <class Table>
void host_wait(Table const& driver, stream_ref stream) {
  detail::require_success(try_host_wait(driver, stream));
}

namespace detail {
struct capture_state {
  bool active = false;
  std::uint64_t id = 0;  // the ID of the capture sequence; 0 if the driver does not report it
};

// Reads whether the stream is being captured, and the ID of the capture. The caller has entered the
// context of the stream. A driver without capture functions has no active captures.
template <class Table>
report try_read_capture(Table const& driver, stream_ref stream, capture_state& out) noexcept;

DLBRIDGE_COLD report no_wait_in_capture() noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/order.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/order.ipp>
#endif

// The bodies of order.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/order.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API report captures_differ(capture_state const& consumer,
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

DLBRIDGE_NOINLINE DLBRIDGE_API report no_wait_in_capture() noexcept {
  return refusal(errc::capturing, "a stream that the host may wait for", "one that is captured",
                 "Captured operations have not run yet: wait after launching the graph");
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API report try_host_wait(stream_ref stream) noexcept {
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

DLBRIDGE_API report try_order_after(stream_ref consumer, stream_ref producer) noexcept {
  runtime_kind const kind = runtime_of(producer.device());
  if (kind == runtime_kind::none || kind != runtime_of(consumer.device())) {
    return try_host_wait(producer);
  }
  return with_driver(
      kind, [&](auto const& driver) { return try_order_after(driver, consumer, producer); });
}

DLBRIDGE_API stream_ref in_current_context(stream_ref stream) noexcept {
  if (runtime_of(stream.device()) == runtime_kind::cuda && detail::is_default_stream(stream) &&
      detail::cuda_driver().status.ok()) {
    return in_current_context(detail::cuda_driver().table, stream);
  }
  return stream;
}

DLBRIDGE_API void order_after(stream_ref consumer, stream_ref producer) {
  detail::require_success(try_order_after(consumer, producer));
}

DLBRIDGE_END_NAMESPACE

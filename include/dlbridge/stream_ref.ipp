// The bodies of stream_ref.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_API stream_ref stream_ref::default_of(dlbridge::device where,
                                               default_stream which) noexcept {
  std::uintptr_t handle = 0;
  if (runtime_of(where) == runtime_kind::cuda) {
    handle = which == default_stream::legacy ? 1 : 2;
  }
  return stream_ref(where, reinterpret_cast<void*>(handle));
}

DLBRIDGE_API stream_ref stream_ref::in_context(void* context) const noexcept {
  stream_ref result = *this;
  result.context_ = context;
  return result;
}

DLBRIDGE_API std::uintptr_t stream_ref::canonical_handle() const noexcept {
  auto const handle = reinterpret_cast<std::uintptr_t>(native_handle_);
  return handle == 0 && runtime_of(where_) == runtime_kind::cuda ? 1 : handle;
}

DLBRIDGE_API std::int64_t protocol_stream(stream_ref stream) noexcept {
  return static_cast<std::int64_t>(stream.canonical_handle());
}

DLBRIDGE_API stream_request unnamed_stream(device where) noexcept {
  stream_request request;
  request.ordered = runtime_of(where) != runtime_kind::none;
  request.stream = stream_ref::default_of(where);
  return request;
}

DLBRIDGE_API report try_read_stream(device where, std::int64_t value,
                                    stream_request& out) noexcept {
  constexpr char const* cuda_values = "None, -1, 1, 2 or a stream handle on CUDA";
  constexpr char const* hip_values = "None, -1, 0 or a stream handle on ROCm";
  runtime_kind const runtime = runtime_of(where);
  char const* expected = nullptr;
  char const* advice = nullptr;
  if (runtime == runtime_kind::none && value != -1) {
    expected = "None or -1, as this device has no streams";
    advice = "Leave stream= out";
  } else if (runtime == runtime_kind::cuda && (value < -1 || value == 0)) {
    expected = cuda_values;
    advice = "For the default stream pass 1 (legacy) or 2 (per thread)";
  } else if (runtime == runtime_kind::hip && (value < -1 || value == 1 || value == 2)) {
    expected = hip_values;
    advice = "For the default stream pass 0";
  } else if (value != -1 &&
             static_cast<std::int64_t>(static_cast<std::uintptr_t>(value)) != value) {
    expected = "a stream handle, which has the size of an address";
    advice = "Pass the handle of the stream";
  }
  if (expected != nullptr) {
    report r = refusal(errc::bad_stream, expected, "stream ", advice);
    r.got.append(value).append(" for ").append(name_of(where).c_str());
    return r;
  }
  out.ordered = value != -1;
  std::uintptr_t const handle = out.ordered ? static_cast<std::uintptr_t>(value) : 0;
  out.stream = stream_ref(where, reinterpret_cast<void*>(handle));
  return report{};
}

DLBRIDGE_END_NAMESPACE

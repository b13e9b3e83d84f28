// stream_ref: refers to a stream of a device; protocol_stream and try_read_stream convert it to and
// from the integer of `__dlpack__(stream=...)`.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// The two default streams of CUDA. This "legacy" is not related to struct_kind::legacy.
enum class default_stream : std::uint8_t { legacy, per_thread };

/// A reference to a stream, which is an ordered queue of work on one device.
///
/// The handles of CUDA's default streams mean another stream in each context of CUDA. A reference
/// to a default stream therefore means the one of a context, or, without a context, the one of the
/// context that is current where the reference is used.
///
/// @par Ownership
/// The reference does not own the stream. The caller keeps the stream and its context valid.
class stream_ref {
 public:
  /// @param where The device of the stream.
  /// @param native_handle The handle of the runtime: a CUstream or a hipStream_t.
  stream_ref(dlbridge::device where, void* native_handle) noexcept
      : where_(where), native_handle_(native_handle) {}
  // The literals 0 and nullptr do not compile: DLPack forbids 0 on CUDA (spec 4.4).
  stream_ref(dlbridge::device, std::nullptr_t) = delete;  // write default_of(device)
  stream_ref(dlbridge::device, int) = delete;  // write default_of(device); cast handles to void*

  /// The default stream of a device (spec 4.4): the handle 1 (legacy) or 2 (per-thread) on CUDA,
  /// the null handle on other devices.
  ///
  /// @param where The device.
  /// @param which The default stream of CUDA; ignored on other devices.
  static stream_ref default_of(dlbridge::device where,
                               default_stream which = default_stream::legacy) noexcept {
    std::uintptr_t handle = 0;
    if (runtime_of(where) == runtime_kind::cuda) {
      handle = which == default_stream::legacy ? 1 : 2;
    }
    return stream_ref(where, reinterpret_cast<void*>(handle));
  }

  dlbridge::device device() const noexcept { return where_; }
  void* native_handle() const noexcept { return native_handle_; }
  /// The CUcontext of a default stream of CUDA; null for the one that is current where the
  /// reference is used. Other streams have none, because their handles are unique.
  void* context() const noexcept { return context_; }
  /// The same stream of another context. `in_current_context` of runtime/order.hpp selects the
  /// current one.
  /// @param context A CUcontext, or null.
  stream_ref in_context(void* context) const noexcept {
    stream_ref result = *this;
    result.context_ = context;
    return result;
  }
  /// The handle as an integer. The null handle of CUDA becomes 1, since both are the legacy default
  /// stream (spec 4.4).
  std::uintptr_t canonical_handle() const noexcept {
    auto const handle = reinterpret_cast<std::uintptr_t>(native_handle_);
    return handle == 0 && runtime_of(where_) == runtime_kind::cuda ? 1 : handle;
  }

  friend bool operator==(stream_ref a, stream_ref b) noexcept {
    return a.where_ == b.where_ && a.native_handle_ == b.native_handle_ && a.context_ == b.context_;
  }
  friend bool operator!=(stream_ref a, stream_ref b) noexcept { return !(a == b); }

 private:
  dlbridge::device where_;
  void* native_handle_;
  void* context_ = nullptr;
};

/// The order of streams that the value of `stream=` in `__dlpack__` requests.
struct stream_request {
  /// Whether the producer must make the data ready on stream. It is false for -1, where the
  /// consumer is responsible for the order, and on devices without streams.
  bool ordered = false;
  /// The stream of the consumer; its handle is null if ordered is false.
  stream_ref stream{cpu, static_cast<void*>(nullptr)};
};

/// The integer that denotes a stream in `__dlpack__(stream=...)` (spec 4.4).
inline std::int64_t protocol_stream(stream_ref stream) noexcept {
  return static_cast<std::int64_t>(stream.canonical_handle());
}

/// The meaning of `stream=None` on a device: its legacy default stream, or no order on a device
/// without streams (spec 4.4).
inline stream_request unnamed_stream(device where) noexcept {
  stream_request request;
  request.ordered = runtime_of(where) != runtime_kind::none;
  request.stream = stream_ref::default_of(where);
  return request;
}

/// Interprets the integer of `__dlpack__(stream=...)` for a device (spec 4.4).
///
/// @param where The device of the tensor.
/// @param value The integer; only -1 is valid on devices without streams.
/// @param[out] out The request; unchanged if the value is refused.
/// @return a report: bad_stream.
inline report try_read_stream(device where, std::int64_t value, stream_request& out) noexcept {
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

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// stream_ref (device and native handle), and the protocol's integer for it, per device family, both
// ways.
// layer: values · side road: in whose order work happens
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// CUDA's two default streams. "Legacy" here has nothing to do with the legacy struct kind.
enum class default_stream : std::uint8_t { legacy, per_thread };

/// An ordered queue of work on one device: the runtime's own handle (CUstream, hipStream_t). Does
/// not own it. Devices without streams have none.
class stream_ref {
 public:
  stream_ref(dlbridge::device where, void* native_handle) noexcept
      : where_(where), native_handle_(native_handle) {}
  // The literals 0 and nullptr are spelled default_of(): 0 is the one value the protocol bans.
  stream_ref(dlbridge::device, std::nullptr_t) = delete;
  stream_ref(dlbridge::device, int) = delete;

  /// The stream that work goes to when none is named. HIP has one, its null handle; CUDA's two are
  /// the handles 1 and 2 of its driver (spec 4.4).
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
  /// The handle as an integer, with CUDA's null handle written as 1: both name the legacy default
  /// stream (spec 4.4).
  std::uintptr_t canonical_handle() const noexcept {
    auto const handle = reinterpret_cast<std::uintptr_t>(native_handle_);
    return handle == 0 && runtime_of(where_) == runtime_kind::cuda ? 1 : handle;
  }

  friend bool operator==(stream_ref a, stream_ref b) noexcept {
    return a.where_ == b.where_ && a.native_handle_ == b.native_handle_;
  }
  friend bool operator!=(stream_ref a, stream_ref b) noexcept { return !(a == b); }

 private:
  dlbridge::device where_;
  void* native_handle_;
};

/// What a consumer asks of a producer with stream=: to make the data safe on a stream, or to leave
/// the order to the consumer (-1, or a device without streams); the handle is then null.
struct stream_request {
  bool ordered = false;
  stream_ref stream{cpu, static_cast<void*>(nullptr)};
};

/// The integer that stands for a stream in `__dlpack__(stream=...)` (spec 4.4).
inline std::int64_t protocol_stream(stream_ref stream) noexcept {
  return static_cast<std::int64_t>(stream.canonical_handle());
}

/// What stream=None means on a device: the legacy default stream where there are streams
/// (spec 4.4).
inline stream_request unnamed_stream(device where) noexcept {
  stream_request request;
  request.ordered = runtime_of(where) != runtime_kind::none;
  request.stream = stream_ref::default_of(where);
  return request;
}

/// Reads stream=value for a device. On the CPU, and where the protocol knows no streams, only -1 is
/// an answer: there is nothing to order.
/// reports: bad_stream.
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

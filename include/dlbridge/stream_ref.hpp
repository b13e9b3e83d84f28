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

DLBRIDGE_BEGIN_NAMESPACE

/// The two default streams of CUDA. This "legacy" is not related to struct_kind::legacy.
enum class default_stream : std::uint8_t { legacy, per_thread };

/// A reference to a stream, which is an ordered queue of work on one device.
///
/// The handles of CUDA's default streams mean another stream in each context of CUDA. A reference
/// to a default stream therefore means the one of a context, or, without a context, the one of the
/// context that is current where the reference is used.
/// @par Ownership
/// The reference does not own the stream. The caller keeps the stream and its context valid.
class stream_ref {
 public:
  /// Refers to a stream by its handle.
  /// @param where The device of the stream.
  /// @param native_handle The handle of the runtime: a CUstream or a hipStream_t.
  stream_ref(dlbridge::device where, void* native_handle) noexcept
      : where_(where), native_handle_(native_handle) {}
  // The literals 0 and nullptr do not compile: DLPack forbids 0 on CUDA (spec 4.4).
  stream_ref(dlbridge::device, std::nullptr_t) = delete;  ///< write default_of(device)
  stream_ref(dlbridge::device, int) = delete;  ///< write default_of(device); cast handles to void*

  /// The default stream of a device (spec 4.4): the handle 1 (legacy) or 2 (per-thread) on CUDA,
  /// the null handle on other devices.
  /// @param where The device.
  /// @param which The default stream of CUDA; ignored on other devices.
  static stream_ref default_of(dlbridge::device where,
                               default_stream which = default_stream::legacy) noexcept;

  dlbridge::device device() const noexcept { return where_; }      ///< The device of the stream.
  void* native_handle() const noexcept { return native_handle_; }  ///< The handle of the runtime.
  /// The CUcontext of a default stream of CUDA; null for the one that is current where the
  /// reference is used. Other streams have none, because their handles are unique.
  void* context() const noexcept { return context_; }
  /// The same stream of another context; in_current_context of runtime/order.hpp takes the current.
  /// @param context A CUcontext, or null.
  stream_ref in_context(void* context) const noexcept;
  /// The handle as an integer. The null handle of CUDA becomes 1, since both are the legacy default
  /// stream (spec 4.4).
  std::uintptr_t canonical_handle() const noexcept;

  /// Whether both are the same stream of the same context.
  friend bool operator==(stream_ref a, stream_ref b) noexcept {
    return a.where_ == b.where_ && a.native_handle_ == b.native_handle_ && a.context_ == b.context_;
  }
  friend bool operator!=(stream_ref a, stream_ref b) noexcept { return !(a == b); }  ///< Not ==.

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
std::int64_t protocol_stream(stream_ref stream) noexcept;

/// The meaning of `stream=None` on a device: its legacy default stream, or no order on a device
/// without streams (spec 4.4).
stream_request unnamed_stream(device where) noexcept;

/// Interprets the integer of `__dlpack__(stream=...)` for a device (spec 4.4).
/// @param where The device of the tensor.
/// @param value The integer; only -1 is valid on devices without streams.
/// @param[out] out The request; unchanged if the value is refused.
/// @return A report: bad_stream (the device has no stream of that integer).
report try_read_stream(device where, std::int64_t value, stream_request& out) noexcept;

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/stream_ref.ipp>
#endif

// kept_stream: stores a stream for later use by any thread.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// A number of the calling thread that no other thread of the process receives, also after this one
// has ended.
DLBRIDGE_LOCAL std::uint64_t thread_number() noexcept;
}  // namespace detail

/// The handle of a stream that is stored, and that any thread may use later.
///
/// The handle 2 denotes the per-thread default stream of the thread that uses it, with CUDA and
/// with HIP. Another thread therefore receives the default stream of the device instead (CUDA: the
/// legacy one): work on that stream runs after the work that is on all per-thread default streams,
/// because these are blocking streams.
///
/// A default stream of CUDA is that of the context of the reference. Store the result of
/// `in_current_context` (runtime/order.hpp): a reference without a context means another stream
/// where another context is current.
/// @par Ownership
/// As stream_ref.
class kept_stream {
 public:
  kept_stream() noexcept = default;  ///< No stream.
  /// Stores a stream, which the caller keeps valid.
  DLBRIDGE_LOCAL explicit kept_stream(stream_ref stream) noexcept
      : native_handle_(stream.native_handle()),
        context_(stream.context()),
        is_none_(runtime_of(stream.device()) == runtime_kind::none),
        thread_(is_per_thread(stream.device()) ? detail::thread_number() : 0) {}

  /// The stream for the calling thread.
  /// @param where The device with which the object was constructed.
  DLBRIDGE_LOCAL stream_ref get(device where) const noexcept;
  /// Whether there is no stream: the object is empty, or its device has no streams.
  bool is_none() const noexcept { return is_none_; }
  /// Whether the handle denotes the per-thread default stream of one thread.
  bool is_of_one_thread() const noexcept { return thread_ != 0; }

  /// Whether both are the same stream of the same context.
  friend bool operator==(kept_stream a, kept_stream b) noexcept {
    return a.native_handle_ == b.native_handle_ && a.context_ == b.context_ &&
           a.is_none_ == b.is_none_ && a.thread_ == b.thread_;
  }
  friend bool operator!=(kept_stream a, kept_stream b) noexcept { return !(a == b); }  ///< Not ==.

 private:
  bool is_per_thread(device where) const noexcept;

  void* native_handle_ = nullptr;
  void* context_ = nullptr;
  bool is_none_ = true;
  std::uint64_t thread_ = 0;  // that of a per-thread default stream, else 0
};

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/kept_stream.ipp>
#endif

// stream_uses: the streams whose operations use memory until it is freed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// The streams whose operations may use memory until it is freed. Any thread may add streams while
// other threads do.
class stream_uses {
 public:
  stream_uses() noexcept = default;
  stream_uses(stream_uses&& other) noexcept : first_(other.first_.exchange(nullptr)) {}
  stream_uses& operator=(stream_uses&&) = delete;
  ~stream_uses();

  // owner: keeps the stream alive, or null. A stream is stored once for each owner, which its
  // address identifies. Returns false if there is no memory for the entry.
  bool try_add(stream_ref stream, std::shared_ptr<void const> owner) noexcept;
  // Calls visit with each stream, until it returns a report that is not ok().
  template <class Visit>
  DLBRIDGE_COLD DLBRIDGE_NOINLINE report visit(Visit visit) const noexcept;

  // The stream that was added last, of those that pop() has not removed. Returns false if there is
  // none.
  bool try_first(stream_ref& out) const noexcept;
  // Removes that stream, and releases its owner. No other thread uses the object meanwhile.
  void pop() noexcept;

 private:
  struct use {
    device where;
    kept_stream stream;  // any thread may free the memory
    std::shared_ptr<void const> owner;
    use* next;
  };
  std::atomic<use*> first_{nullptr};
};
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/detail/stream_uses.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/stream_uses.ipp>
#endif

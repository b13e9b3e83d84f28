// stream_uses: the streams whose operations use memory until it is freed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/stream_ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace detail {

// The streams whose operations may use memory until it is freed. Any thread may add streams while
// other threads do.
class stream_uses {
 public:
  stream_uses() noexcept = default;
  stream_uses(stream_uses&& other) noexcept : first_(other.first_.exchange(nullptr)) {}
  stream_uses& operator=(stream_uses&&) = delete;
  ~stream_uses() {
    for (use* each = first_.load(); each != nullptr;) {
      delete std::exchange(each, each->next);
    }
  }

  // owner: keeps the stream alive, or null. A stream is stored once for each owner, which its
  // address identifies. Returns false if there is no memory for the entry.
  bool try_add(stream_ref stream, std::shared_ptr<void const> owner) noexcept {
    kept_stream const kept(stream);
    for (use const* each = first_.load(std::memory_order_acquire); each != nullptr;
         each = each->next) {
      bool const covers = owner == nullptr || each->owner == owner;
      if (covers && each->where == stream.device() && each->stream == kept) {
        return true;
      }
    }
    auto* const added = new (std::nothrow)
        use{stream.device(), kept, std::move(owner), first_.load(std::memory_order_relaxed)};
    while (added != nullptr &&
           !first_.compare_exchange_weak(added->next, added, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    return added != nullptr;
  }
  // Calls visit with each stream, until it returns a report that is not ok().
  template <class Visit>
  DLBRIDGE_COLD report visit(Visit visit) const noexcept {
    report status;
    for (use const* each = first_.load(std::memory_order_acquire); each != nullptr && status.ok();
         each = each->next) {
      status = visit(each->stream.get(each->where));
    }
    return status;
  }

  // The stream that was added last, of those that pop() has not removed. Returns false if there is
  // none.
  bool try_first(stream_ref& out) const noexcept {
    use const* const first = first_.load(std::memory_order_acquire);
    if (first != nullptr) {
      out = first->stream.get(first->where);
    }
    return first != nullptr;
  }
  // Removes that stream, and releases its owner. No other thread uses the object meanwhile.
  void pop() noexcept {
    use* const first = first_.load(std::memory_order_relaxed);
    first_.store(first->next, std::memory_order_relaxed);
    delete first;
  }

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
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

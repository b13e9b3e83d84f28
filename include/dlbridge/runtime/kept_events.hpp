// The events that one device keeps for its next hand-over, so that a wait seldom creates one.
// floor 2 · side road: in whose order work happens
#pragma once

#include <atomic>
#include <cstddef>

#include <dlbridge/abi.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// For the first so many devices of a runtime something is kept; those behind work without.
constexpr int max_devices = 64;

/// Up to eight events of one device. An event may be recorded anew as soon as the waits on it have
/// been enqueued, so one for each thread that is at it in the same moment is enough.
/// thread: any, without a lock. Never destroys an event: at exit the runtime may be gone first.
class kept_events {
 public:
  /// An event, now the caller's; null when none is kept.
  void* try_take() noexcept {
    for (std::atomic<void*>& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) != nullptr) {
        if (void* const event = slot.exchange(nullptr, std::memory_order_acquire)) {
          return event;
        }
      }
    }
    return nullptr;
  }

  /// Keeps an event; false when there is no room, and it stays the caller's.
  bool try_keep(void* event) noexcept {
    for (std::atomic<void*>& slot : slots_) {
      void* none = nullptr;
      if (slot.compare_exchange_strong(none, event, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t capacity = 8;
  std::atomic<void*> slots_[capacity] = {};
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

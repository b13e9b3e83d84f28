// shared_tensor: one managed tensor with several owners, freed with the last of them.
// layer: arrays · OUT: when the same memory leaves more than once
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// A share in a managed tensor. Copying adds an owner. One pointer wide, one allocation for all
/// shares; what std::shared_ptr would do, without its second pointer and its type information.
/// thread: shares may be copied and dropped in any thread, each share by one at a time.
/// moved-from: empty.
class shared_tensor {
 public:
  shared_tensor() noexcept = default;
  /// owns: m. fails: out_of_memory, m is then freed.
  explicit shared_tensor(managed_tensor m) : held_(new(std::nothrow) held{{1}, std::move(m)}) {
    if (held_ == nullptr) {
      raise(refusal(errc::out_of_memory, "memory to share a tensor", "none"));
    }
  }
  shared_tensor(shared_tensor const& other) noexcept : held_(other.held_) {
    if (held_ != nullptr) {
      held_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  shared_tensor(shared_tensor&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  shared_tensor& operator=(shared_tensor other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~shared_tensor() {
    if (held_ != nullptr && held_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete held_;
    }
  }

  explicit operator bool() const noexcept { return held_ != nullptr; }
  /// Not to be called when empty. lives: as long as any share.
  managed_tensor const& get() const noexcept { return held_->tensor; }

 private:
  struct held {
    std::atomic<std::size_t> owners;
    managed_tensor tensor;
  };
  held* held_ = nullptr;
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

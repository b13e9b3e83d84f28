// shared_tensor: shares one managed tensor between several owners, and frees it with the last one.
// layer: arrays · export: several exports of one tensor
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

/// A reference-counted owner of a managed tensor. It is as large as a pointer, half the size of a
/// std::shared_ptr.
///
/// @par Ownership
/// Each copy is another owner. A moved-from object is empty.
///
/// @par Thread and GIL
/// As std::shared_ptr: several threads may use different copies at the same time, but not the same
/// object.
class shared_tensor {
 public:
  shared_tensor() noexcept = default;
  /// @param m The tensor, which this object owns from now on.
  /// @throws error out_of_memory; the caller then still owns m.
  explicit shared_tensor(managed_tensor&& m)
      : block_(new(std::nothrow) counted_tensor{{1}, std::move(m)}) {
    if (block_ == nullptr) {
      raise(refusal(errc::out_of_memory, "memory to share a tensor", "none"));
    }
  }
  shared_tensor(shared_tensor const& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) {
      block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  shared_tensor(shared_tensor&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  shared_tensor& operator=(shared_tensor other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~shared_tensor() {
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete block_;
    }
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// The shared tensor.
  /// @pre The object is not empty.
  /// @par Lifetime
  /// Valid as long as any owner.
  managed_tensor const& get() const noexcept { return block_->tensor; }

 private:
  struct counted_tensor {
    std::atomic<std::size_t> owners;
    managed_tensor tensor;
  };
  counted_tensor* block_ = nullptr;
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// shared_tensor: shares one managed tensor between several owners, and frees it with the last one.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/view.hpp>

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
  /// @throws error null_data (m is empty), out_of_memory; the caller then still owns m.
  explicit shared_tensor(managed_tensor&& m) : block_(block::make(std::move(m), 0)) {}
  /// The same with copies of the shape and the strides, for a producer that changes those in its
  /// struct, as PyTorch does in Tensor.squeeze_().
  /// @param m As above.
  /// @param view A view of the tensor. Its shape and strides become the copies, which are valid as
  ///   long as any owner; without strides, they become those of row-major order.
  shared_tensor(managed_tensor&& m, tensor_view& view)
      : block_(block::make(std::move(m), static_cast<std::size_t>(view.rank()))) {
    std::int64_t* const shape = block_->dims();
    std::int64_t* const strides = shape + view.rank();
    for (int i = 0; i < view.rank(); ++i) {
      shape[i] = view.extent(i);
    }
    view.copy_strides(strides);
    view = view.with_dims(shape, strides);
  }
  shared_tensor(shared_tensor const& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) {
      block_->uses.fetch_add(block::owner, std::memory_order_relaxed);
    }
  }
  shared_tensor(shared_tensor&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  shared_tensor& operator=(shared_tensor other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~shared_tensor() {
    if (block_ != nullptr) {
      block_->drop(block::owner);
    }
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// The shared tensor.
  /// @pre The object is not empty.
  /// @par Lifetime
  /// Valid as long as any owner.
  managed_tensor const& get() const& noexcept DLBRIDGE_LIFETIMEBOUND { return block_->tensor; }
  managed_tensor const& get() const&& = delete;  // dangles: keep it in a variable

  /// Reserves the struct that the owners have in common for exports, so that an export needs no
  /// allocation.
  /// @pre The object is not empty.
  /// @return The struct, whose deleter and context are set and the other members are not; null
  ///   while an earlier export uses it.
  /// @par Ownership
  /// The struct counts as an owner until its deleter runs.
  DLManagedTensorVersioned* try_reserve() const noexcept {
    std::size_t uses = block_->uses.load(std::memory_order_relaxed);
    if ((uses & block::lent) != 0 ||
        !block_->uses.compare_exchange_strong(uses, uses + block::owner + block::lent,
                                              std::memory_order_acquire)) {
      return nullptr;
    }
    DLManagedTensorVersioned& m = block_->exported;
    m.manager_ctx = block_;
    m.deleter = [](DLManagedTensorVersioned* self) {
      static_cast<block*>(self->manager_ctx)->drop(block::owner + block::lent);
    };
    return &m;
  }

 private:
  struct block {
    static constexpr std::size_t lent = 1;   // whether `exported` is reserved
    static constexpr std::size_t owner = 2;  // for each owner

    // With room for a shape and strides behind it.
    static block* make(managed_tensor&& m, std::size_t rank) {
      static_cast<void>(detail::require_owner(m));
      void* const memory =
          ::operator new(sizeof(block) + 2 * rank * sizeof(std::int64_t), std::nothrow);
      if (memory == nullptr) {
        raise(refusal(errc::out_of_memory, "memory to share a tensor", "none"));
      }
      return ::new (memory) block(std::move(m));
    }
    std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }
    void drop(std::size_t use) noexcept {
      if (uses.fetch_sub(use, std::memory_order_acq_rel) == use) {
        this->~block();
        ::operator delete(this);
      }
    }

    explicit block(managed_tensor&& m) noexcept : uses(owner), tensor(std::move(m)) {}

    std::atomic<std::size_t> uses;
    managed_tensor tensor;
    union {  // the user of try_reserve sets it
      DLManagedTensorVersioned exported;
    };
  };
  block* block_ = nullptr;
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

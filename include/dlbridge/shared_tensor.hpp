// shared_tensor: shares one managed tensor between several owners, and frees it with the last one.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// A reference-counted owner of a managed tensor, as large as a pointer: half a std::shared_ptr.
/// @par Ownership
/// Each copy is another owner. A moved-from object is empty.
/// @par Thread and GIL
/// As std::shared_ptr: several threads may use different copies at the same time, but not the same
/// object.
class shared_tensor {
 public:
  shared_tensor() noexcept = default;  ///< No owner.
  /// The first owner of a tensor.
  /// @param m The tensor, which this object owns from now on.
  /// @throws error null_data (m is empty), out_of_memory; the caller then still owns m.
  explicit shared_tensor(managed_tensor&& m) : block_(make(std::move(m), 0)) {}
  /// The first owner of a tensor with copies of its shape and strides, for a producer that changes
  /// those in its struct, as PyTorch does in Tensor.squeeze_().
  /// @param m As the first constructor.
  /// @param view A view of the tensor. Its shape and strides become the copies, which are valid as
  ///   long as any owner; without strides, they become those of row-major order.
  shared_tensor(managed_tensor&& m, tensor_view& view);
  shared_tensor(shared_tensor const& other) noexcept;  ///< Another owner.
  /// Moves the ownership.
  shared_tensor(shared_tensor&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  shared_tensor& operator=(shared_tensor other) noexcept;  ///< Drops the former tensor.
  ~shared_tensor() {
    if (block_ != nullptr) {
      drop(block_, one_owner);
    }
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }  ///< Whether it owns one.
  /// The shared tensor.
  /// @pre The object is not empty.
  /// @par Lifetime
  /// Valid as long as any owner.
  managed_tensor const& get() const& noexcept DLBRIDGE_LIFETIMEBOUND;
  managed_tensor const& get() const&& = delete;  ///< dangles: keep it in a variable

  /// Reserves the struct that the owners have in common, so that an export needs no allocation.
  /// @pre The object is not empty.
  /// @return The struct, whose deleter and context are set and the other members are not; null
  ///   while an earlier export uses it.
  /// @par Ownership
  /// The struct counts as an owner until its deleter runs.
  DLManagedTensorVersioned* try_reserve() const noexcept;

 private:
  static constexpr std::size_t lent = 1;       // whether the struct of the block is reserved
  static constexpr std::size_t one_owner = 2;  // for each owner

  struct counted_tensor {
    explicit counted_tensor(managed_tensor&& m) noexcept : tensor(std::move(m)) {}
    managed_tensor tensor;
    std::atomic<std::size_t> uses{one_owner};
  };
  using block = detail::owned_block<DLManagedTensorVersioned, counted_tensor>;

  static block* make(managed_tensor&& m, int rank);
  static void drop(block* from, std::size_t use) noexcept;

  block* block_ = nullptr;
};

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/shared_tensor.ipp>
#endif

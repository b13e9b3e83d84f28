// with_own_dims: gives an imported tensor a shape and strides that its library cannot change.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// A managed struct and the imported tensor that its deleter frees, with a shape and strides behind
// them. It has one owner; a shared_tensor would count several with atomic operations.
struct own_dims_block {
  DLManagedTensorVersioned managed;
  managed_tensor imported;

  explicit own_dims_block(managed_tensor&& m) noexcept : managed(), imported(std::move(m)) {}

  // Takes the tensor, unless there is no memory: the result is then null. The caller holds the GIL.
  static own_dims_block* make(managed_tensor& m, std::size_t rank) noexcept {
    void* memory = rank <= most_pooled ? take() : nullptr;
    if (memory == nullptr) {
      std::size_t const room = rank <= most_pooled ? most_pooled : rank;
      memory =
          ::operator new(sizeof(own_dims_block) + 2 * room * sizeof(std::int64_t), std::nothrow);
    }
    if (memory == nullptr) {
      return nullptr;
    }
    auto* const block = ::new (memory) own_dims_block(std::move(m));
    block->managed.manager_ctx = block;
    block->managed.deleter = [](DLManagedTensorVersioned* self) {
      auto* const freed = static_cast<own_dims_block*>(self->manager_ctx);
      bool const is_pooled = static_cast<std::size_t>(self->dl_tensor.ndim) <= most_pooled;
      freed->~own_dims_block();
      if (!is_pooled || !put(freed)) {
        ::operator delete(freed);
      }
    };
    return block;
  }
  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }

 private:
  // The memory of blocks of up to so many dimensions is used again. Only a thread with the GIL
  // takes it, but any thread puts it back, as the deleter may run without the GIL.
  static constexpr std::size_t most_pooled = 8;
  using slots = std::atomic<void*>[4];

  DLBRIDGE_LOCAL static slots& pool() noexcept {
    static slots memory;
    return memory;
  }
  static void* take() noexcept {
#if !defined(Py_GIL_DISABLED)
    for (std::atomic<void*>& slot : pool()) {
      if (void* const memory = slot.load(std::memory_order_acquire)) {
        slot.store(nullptr, std::memory_order_relaxed);  // nothing replaces what is not null
        return memory;
      }
    }
#endif
    return nullptr;
  }
  static bool put(void* memory) noexcept {
#if !defined(Py_GIL_DISABLED)
    for (std::atomic<void*>& slot : pool()) {
      void* empty = nullptr;
      if (slot.compare_exchange_strong(empty, memory, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
#else
    static_cast<void>(memory);
#endif
    return false;
  }
};

/// Gives a tensor a shape and strides of its own.
/// @return A tensor on the same memory, with the same flags, that owns the given one; the given one
///   where there is no memory for another.
/// @par Thread and GIL
/// The caller holds the GIL. The deleter needs what that of the given tensor needs.
DLBRIDGE_NOINLINE inline managed_tensor with_own_dims(managed_tensor m) noexcept {
  DLTensor const& from = m.tensor();
  std::uint64_t const flags = m.flags();
  auto const rank = static_cast<std::size_t>(from.ndim);
  auto* const block = own_dims_block::make(m, rank);
  if (block == nullptr) {
    return m;
  }
  DLManagedTensorVersioned& own = block->managed;
  own.version = {stated_major, stated_minor};
  own.flags = flags;  // the result is the only owner: a copy stays one
  own.dl_tensor = from;
  own.dl_tensor.shape = block->dims();
  own.dl_tensor.strides = block->dims() + rank;
  dlbridge::detail::copy_extents(from.shape, from.ndim, own.dl_tensor.shape);
  if (from.strides == nullptr) {  // spec 1.7
    fill_row_major(from.ndim, own.dl_tensor.shape, own.dl_tensor.strides);
    return managed_tensor::adopt(&own);
  }
  dlbridge::detail::copy_extents(from.strides, from.ndim, own.dl_tensor.strides);
  return managed_tensor::adopt(&own);
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

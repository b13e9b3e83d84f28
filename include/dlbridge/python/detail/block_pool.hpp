// free_list, block_pool: keep the memory of destroyed objects, and of managed structs, for reuse.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// The memory of destroyed objects. Builds without the GIL do not use it, as threads would wait for
/// each other at it.
/// @tparam Kind the type that distinguishes the list from others; all memory has the same size.
/// @par Thread and GIL
/// The caller holds the GIL in every member.
template <class Kind, std::size_t Capacity>
class free_list {
 public:
  DLBRIDGE_LOCAL static free_list& get() noexcept;
  /// @return memory of a destroyed object, or null.
  void* take() noexcept { return count_ > 0 ? memory_[--count_] : nullptr; }
  /// @return false if the list is full; the caller then frees the memory.
  bool put(void* memory) noexcept;

 private:
  void* memory_[Capacity];
  std::size_t count_ = 0;
};

#if defined(Py_GIL_DISABLED)
using block_pool = dlbridge::detail::no_pool;
#else
/// The memory of the structs that imports create (owned_block.hpp). Only a thread with the GIL
/// takes it, but any thread puts it back, as deleters may run without the GIL.
struct block_pool {
  static constexpr std::size_t bytes = 256;  // of a struct of up to ten dimensions

  static void* take() noexcept {
    for (std::atomic<void*>& slot : slots()) {
      if (void* const memory = slot.load(std::memory_order_acquire)) {
        slot.store(nullptr, std::memory_order_relaxed);  // nothing replaces what is not null
        return memory;
      }
    }
    return nullptr;
  }
  static bool put(void* memory) noexcept {
    for (std::atomic<void*>& slot : slots()) {
      void* empty = nullptr;
      if (slot.compare_exchange_strong(empty, memory, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  using array = std::atomic<void*>[4];
  DLBRIDGE_LOCAL static array& slots() noexcept {
    static array memory;
    return memory;
  }
};
#endif
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/detail/block_pool.inl>

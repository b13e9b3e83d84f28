// staging_pool: reuse blocks of pinned host memory, through which pageable memory is copied.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/hip.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// A block has a power of two of bytes, at least the smallest and at most the largest size. The pool
// keeps up to eight blocks, so at most 128 MiB. Allocating pinned memory takes as long as copying
// some of it, about a millisecond, which is why blocks are kept until the process ends.
constexpr std::size_t smallest_staging = std::size_t{64} << 10;
constexpr std::size_t largest_staging = std::size_t{16} << 20;

inline device pinned_device(cuda_table const&) noexcept { return device(kDLCUDAHost, 0); }
inline device pinned_device(hip_table const&) noexcept { return device(kDLROCMHost, 0); }

template <class Table>
struct staging_block {
  driver_memory<Table> memory{};
  std::size_t bytes = 0;
};

// Any thread may call all functions. They do not lock.
template <class Table>
class staging_pool {
 public:
  using owned_block = std::unique_ptr<staging_block<Table>>;

  // A block of at least the given size, at most largest_staging, in the context of the guard or of
  // an earlier one: pinned memory is valid in every context.
  // Throws error out_of_memory, runtime_failed.
  owned_block take(Table const& driver, context_guard<Table> const& guard, std::size_t bytes) {
    std::size_t needed = smallest_staging;
    while (needed < bytes) {
      needed *= 2;
    }
    for (std::atomic<staging_block<Table>*>& slot : slots_) {
      owned_block block(slot.exchange(nullptr, std::memory_order_acquire));
      if (block != nullptr && block->bytes != needed) {
        put(std::move(block));
      } else if (block != nullptr && is_valid(driver, *block)) {
        return block;
      }
    }
    owned_block block(new (std::nothrow) staging_block<Table>);
    if (block == nullptr) {
      raise(refusal(errc::out_of_memory, "memory to describe a block of staging memory", "none"));
    }
    require_success(block->memory.try_allocate(driver, guard, pinned_device(driver), needed));
    block->bytes = needed;
    return block;
  }
  // Takes a block back that no operation uses any more. Frees it if the pool is full.
  void put(owned_block block) noexcept {
    for (std::atomic<staging_block<Table>*>& slot : slots_) {
      staging_block<Table>* empty = nullptr;
      if (slot.compare_exchange_strong(empty, block.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        static_cast<void>(block.release());
        return;
      }
    }
  }

 private:
  // A reset of the device frees the memory of its contexts.
  static bool is_valid(Table const& driver, staging_block<Table> const& block) noexcept {
    device where;
    return block.memory.has_context() && try_locate(driver, block.memory.address(), where) &&
           side_of(where) == memory_side::host;
  }

  std::atomic<staging_block<Table>*> slots_[8] = {};
};

template <class Table>
DLBRIDGE_LOCAL staging_pool<Table>& staging_blocks() noexcept {
  static staging_pool<Table> pool;
  return pool;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

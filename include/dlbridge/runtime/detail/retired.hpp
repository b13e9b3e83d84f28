// retired_list: keep what cannot be released yet, because operations still use it or because a
// capture forbids the release.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// An owner that waits. Its destructor releases what it owns.
class retired {
 public:
  retired() noexcept = default;
  retired(retired const&) = delete;
  retired& operator=(retired const&) = delete;
  virtual ~retired() = default;

  // Whether the owner can be destroyed now. Does not block.
  virtual bool is_ready() noexcept = 0;

  retired* next = nullptr;
};

// Every allocation, transfer and free collects the owners that have become ready. Any thread may
// call all functions. They do not lock: a thread that collects takes the whole list, and returns
// what is not ready, so each owner is in the hands of one thread.
class retired_list {
 public:
  // Takes the owner over.
  void add(retired* item) noexcept;
  // Destroys the owners that are ready. A destructor may call this function again.
  void collect() noexcept;
  bool empty() const noexcept { return first_.load(std::memory_order_relaxed) == nullptr; }

 private:
  std::atomic<retired*> first_{nullptr};
};

// Never destroyed: at process exit the drivers may have ended, and freed their memory.
DLBRIDGE_LOCAL retired_list& retired_owners() noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/retired.ipp>
#endif

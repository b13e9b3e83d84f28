// free_list: keeps the memory of destroyed objects of one kind, for reuse.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
/// The memory of destroyed objects. Builds without the GIL do not use it, as threads would wait for
/// each other at it.
/// @tparam Kind the type that distinguishes the list from others; all memory has the same size.
/// @par Thread and GIL
/// The caller holds the GIL in every member.
template <class Kind, std::size_t Capacity>
class free_list {
 public:
  DLBRIDGE_LOCAL static free_list& get() noexcept {
    static free_list list;
    return list;
  }
  /// @return memory of a destroyed object, or null.
  void* take() noexcept { return count_ > 0 ? memory_[--count_] : nullptr; }
  /// @return false if the list is full; the caller then frees the memory.
  bool put(void* memory) noexcept {
    if (count_ == Capacity) {
      return false;
    }
    memory_[count_++] = memory;
    return true;
  }

 private:
  void* memory_[Capacity];
  std::size_t count_ = 0;
};
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

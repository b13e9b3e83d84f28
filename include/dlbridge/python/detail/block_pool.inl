// The inline bodies of block_pool.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/detail/block_pool.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
template <class Kind, std::size_t Capacity>
inline free_list<Kind, Capacity>& free_list<Kind, Capacity>::get() noexcept {
  static free_list list;
  return list;
}

template <class Kind, std::size_t Capacity>
inline bool free_list<Kind, Capacity>::put(void* memory) noexcept {
  if (count_ == Capacity) {
    return false;
  }
  memory_[count_++] = memory;
  return true;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

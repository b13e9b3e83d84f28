// The inline bodies of type_cache.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/python/import/detail/type_cache.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
type_entry const* type_cache::find([[maybe_unused]] PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  return nullptr;
#else
  type_entry const& first = *slots_of(type);
  return is_valid(first, type) ? &first : find_further(type);
#endif
}

inline type_entry* type_cache::slots_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  thread_local
#else
  static
#endif
      type_entry entries[size + window - 1];
  return &entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

// allocate_aligned: aligned memory of the C library, for allocators that tests count.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#endif

/// Returns null on failure. The size need not be a multiple of the alignment.
inline void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
#if defined(_WIN32)  // has no std::aligned_alloc
  return _aligned_malloc(bytes != 0 ? bytes : 1, alignment);
#else
  return std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
#endif
}

inline void free_aligned(void* memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

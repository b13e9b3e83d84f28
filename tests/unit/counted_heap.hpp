// heap: the counts of the program's operator new and delete, which fail on demand.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>

struct heap_counts {
  std::atomic<int> allocated{0};
  std::atomic<int> freed{0};
  std::atomic<std::size_t> alignment_allocated{0};  // of the last call
  std::atomic<std::size_t> alignment_freed{0};
  std::atomic<bool> fails{false};  // every allocation
  // The number of allocations that still succeed before one fails; negative: all succeed.
  std::atomic<int> successes{-1};
};
extern heap_counts heap;

/// Whether the counting operators are in use: valgrind replaces them by its own.
bool heap_is_counted();

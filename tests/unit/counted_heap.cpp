// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new and delete of the test program (counted_heap.hpp).
#include "counted_heap.hpp"

#include <cstdlib>
#include <new>

#include "aligned_memory.hpp"

heap_counts heap;

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (heap.fails || (heap.successes >= 0 && heap.successes-- == 0)) {
    return nullptr;
  }
  ++heap.allocated;
  heap.alignment_allocated = alignment;
  return alignment == 0 ? std::malloc(bytes != 0 ? bytes : 1) : allocate_aligned(alignment, bytes);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void deallocate(void* memory, std::size_t alignment) noexcept {
  if (memory != nullptr) {
    ++heap.freed;
    heap.alignment_freed = alignment;
    if (alignment == 0) {
      std::free(memory);
    } else {
      free_aligned(memory);
    }
  }
}

std::size_t bytes_of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

bool heap_is_counted() {
  int const allocated = heap.allocated;
  ::operator delete(::operator new(1));
  return heap.allocated != allocated;
}

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocate_or_throw(bytes, bytes_of(a));
}
void* operator new(std::size_t bytes, std::align_val_t a, std::nothrow_t const&) noexcept {
  return allocate(bytes, bytes_of(a));
}
void operator delete(void* memory) noexcept { deallocate(memory, 0); }
void operator delete(void* memory, std::size_t) noexcept { deallocate(memory, 0); }
void operator delete(void* memory, std::align_val_t a) noexcept { deallocate(memory, bytes_of(a)); }
void operator delete(void* memory, std::size_t, std::align_val_t a) noexcept {
  deallocate(memory, bytes_of(a));
}

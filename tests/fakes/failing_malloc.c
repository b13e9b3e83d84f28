// SPDX-License-Identifier: BSD-3-Clause
/* Replaces malloc of a program that preloads this library: allocations of one thread fail on
   demand. For glibc, whose own functions it calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

#define EARLY __attribute__((tls_model("initial-exec"))) /* its storage needs no allocation */

static __thread EARLY long before_failure = -1; /* allocations that still succeed; -1: all */
static __thread EARLY int fails_for_good;
static __thread EARLY long failure_count;

/* Lets `successes` allocations of this thread succeed. The next one fails, and with for_good every
   later one. A negative number ends that. Returns the number of failures since the last call. */
long fail_allocations(long successes, int for_good) {
  long count = failure_count;
  before_failure = successes;
  fails_for_good = for_good;
  failure_count = 0;
  return count;
}

static int fails(void) {
  if (before_failure < 0 || before_failure-- > 0) {
    return 0;
  }
  before_failure = fails_for_good ? 0 : -1;
  ++failure_count;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return fails() ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* memory, size_t bytes) { return fails() ? NULL : __libc_realloc(memory, bytes); }
void* memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* memory = memalign(alignment, bytes);
  if (memory == NULL) {
    return ENOMEM;
  }
  *out = memory;
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Looks up entry points by name, and decides whether a call fails on demand.
#include "entry_points.hpp"

#include <pthread.h>

#include <atomic>
#include <cstring>

#include "driver.hpp"

namespace simulated {
namespace {

std::atomic<bool> over{false};
std::atomic<bool> is_forked{false};

int const fork_handler =
    pthread_atfork(nullptr, nullptr, [] { is_forked = driver::get().is_initialized; });

struct at_the_end {
  ~at_the_end() { over = true; }
} const watch;

}  // namespace

bool is_deinitialized() { return over; }

bool is_in_forked_child() { return is_forked; }

entry_point* entry_point::find(char const* name) {
  for (entry_point* one = first(); one != nullptr; one = one->next) {
    if (std::strcmp(one->name, name) == 0) {
      return one;
    }
  }
  return nullptr;
}

int count_call(entry_point& called, failure_plan& failures) {
  ++called.calls;
  ++failures.calls;
  if (failures.calls_until_failure != 0 && --failures.calls_until_failure == 0) {
    return failures.code;
  }
  return called.forced_code;
}

}  // namespace simulated

// entry_point: a function that a library exports, with its call count and its failures on demand.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace simulated {

// One exported function. Its constructor adds it to a list when the library is loaded.
class entry_point {
 public:
  explicit entry_point(char const* its_name) : name(its_name), next(first()) { first() = this; }
  entry_point(entry_point const&) = delete;
  entry_point& operator=(entry_point const&) = delete;

  static entry_point*& first() {
    static entry_point* head = nullptr;
    return head;
  }
  static entry_point* find(char const* name);

  char const* const name;
  entry_point* const next;
  long calls = 0;
  int forced_code = 0;  // every call returns it, unless it is 0
};

// The number of calls of all functions, and the code that a later call returns.
struct failure_plan {
  long calls = 0;
  long calls_until_failure = 0;  // 0: no call fails
  int code = 0;
};

// Whether the library's static objects were destroyed at process exit. For a library that was
// opened at run time, this happens before those of its user are destroyed, as with real drivers.
bool is_deinitialized();

// Counts a call. Returns the code with which the call fails on demand, or 0.
int count_call(entry_point& called, failure_plan& failures);

}  // namespace simulated

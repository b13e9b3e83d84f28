// Looks functions up by name, and decides whether a call is to fail.
#include "calls.hpp"

#include <atomic>
#include <cstring>

namespace simulated {
namespace {

std::atomic<bool> over{false};

struct at_the_end {
  ~at_the_end() { over = true; }
} const watch;

}  // namespace

bool is_over() { return over; }

function* function::find(char const* name) {
  for (function* one = first(); one != nullptr; one = one->next) {
    if (std::strcmp(one->name, name) == 0) {
      return one;
    }
  }
  return nullptr;
}

int count_call(function& called, call_plan& plan) {
  ++called.calls;
  ++plan.calls;
  if (plan.until_failure != 0 && --plan.until_failure == 0) {
    return plan.code;
  }
  return called.forced;
}

}  // namespace simulated

// The functions that a library exports: counted, made to fail, and what all of them do first.
// floor 1
#pragma once

#include <cstddef>

namespace simulated {

// One exported function, which enters itself into a list when the library is loaded.
class function {
 public:
  explicit function(char const* its_name) : name(its_name), next(first()) { first() = this; }
  function(function const&) = delete;
  function& operator=(function const&) = delete;

  static function*& first() {
    static function* head = nullptr;
    return head;
  }
  static function* find(char const* name);

  char const* const name;
  function* const next;
  long calls = 0;
  int forced = 0;  // what every call gives, unless 0
};

// Calls of any function, and the code that one of those to come will give.
struct call_plan {
  long calls = 0;
  long until_failure = 0;  // calls; 0: none is planned
  int code = 0;
};

// Whether the process is ending and has left this library already, as it leaves the real ones
// before the static objects of who opened them.
bool is_over();

// Counts a call. What it must give instead of doing its work, or 0.
int count_call(function& called, call_plan& plan);

}  // namespace simulated

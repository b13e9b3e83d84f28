// What each driver calls a status, and what it means.
// floor 2
#pragma once

namespace simulated {

struct status_name {
  int code;
  char const* cuda;
  char const* hip;
  char const* meaning;
};

// Null for a code that no row has.
status_name const* find_name(int code);

}  // namespace simulated

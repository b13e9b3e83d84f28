// operation: one item of a stream: its action, the bytes that it accesses and its dependencies.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vector_clock.hpp"

namespace simulated {

struct stream;

// An access to `rows` rows of `width` bytes, with `pitch` bytes from the start of one row to the
// next.
struct access {
  std::uintptr_t start = 0;
  std::size_t width = 0;
  std::size_t pitch = 0;
  std::size_t rows = 1;
  bool writes = false;

  std::uintptr_t end() const { return start + (rows == 0 ? 0 : (rows - 1) * pitch + width); }
};

inline access reading(std::uintptr_t start, std::size_t bytes) {
  return {start, bytes, bytes, 1, false};
}
inline access writing(std::uintptr_t start, std::size_t bytes) {
  return {start, bytes, bytes, 1, true};
}

struct operation {
  enum class state { pending, running, done };

  std::string name;  // of the function that enqueued it
  std::uint64_t number = 0;
  std::shared_ptr<stream> queue;
  std::vector<std::shared_ptr<operation>>
      dependencies;  // in addition to the earlier operations of its stream
  std::function<void()> action;
  bool is_host_callback = false;  // its action is a function of the user, and runs without the lock
  state current_state = state::pending;
  vector_clock clock;  // the operations that complete no later than this one, itself included
  std::uint64_t tick = 0;
};

}  // namespace simulated

// One piece of work on a stream: what it does, what it touches, and what must be done before.
// floor 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clock.hpp"

namespace simulated {

struct stream;

// `rows` rows of `width` bytes, `pitch` bytes from one to the next.
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

struct work {
  enum class state { pending, running, done };

  std::string name;  // of the function that asked for it
  std::uint64_t number = 0;
  std::shared_ptr<stream> on;
  std::vector<std::shared_ptr<work>> after;  // beside all that is before it on its stream
  std::function<void()> action;
  bool is_foreign = false;  // its action is the user's code, which runs without our lock
  state now = state::pending;
  clock known;  // what happens before its end, itself included
  std::uint64_t tick = 0;
};

}  // namespace simulated

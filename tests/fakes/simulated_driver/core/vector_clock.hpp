// vector_clock: for each timeline, the last of its operations that happens before the owner of the
// clock.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simulated {

class vector_clock {
 public:
  // Whether operation number `tick` of `timeline` happens before the owner of this clock.
  bool covers(std::size_t timeline, std::uint64_t tick) const {
    return timeline < ticks_.size() && ticks_[timeline] >= tick;
  }

  void join(vector_clock const& other) {
    ticks_.resize(std::max(ticks_.size(), other.ticks_.size()));
    for (std::size_t i = 0; i < other.ticks_.size(); ++i) {
      ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
    }
  }

  void advance(std::size_t timeline, std::uint64_t tick) {
    ticks_.resize(std::max(ticks_.size(), timeline + 1));
    ticks_[timeline] = std::max(ticks_[timeline], tick);
  }

 private:
  std::vector<std::uint64_t> ticks_;
};

}  // namespace simulated

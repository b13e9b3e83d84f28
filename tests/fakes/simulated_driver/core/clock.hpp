// A vector clock: for each timeline, up to which of its works somebody is ordered after it.
// floor 1
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simulated {

class clock {
 public:
  // Whether work `tick` of `timeline` happens before whoever has this clock.
  bool covers(std::size_t timeline, std::uint64_t tick) const {
    return timeline < ticks_.size() && ticks_[timeline] >= tick;
  }

  void join(clock const& other) {
    ticks_.resize(std::max(ticks_.size(), other.ticks_.size()));
    for (std::size_t i = 0; i < other.ticks_.size(); ++i) {
      ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
    }
  }

  void reach(std::size_t timeline, std::uint64_t tick) {
    ticks_.resize(std::max(ticks_.size(), timeline + 1));
    ticks_[timeline] = std::max(ticks_[timeline], tick);
  }

 private:
  std::vector<std::uint64_t> ticks_;
};

}  // namespace simulated

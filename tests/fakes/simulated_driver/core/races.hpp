// Finds works that touch the same bytes and that nothing puts in order.
// floor 3
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "work.hpp"

namespace simulated {

class races {
 public:
  // Reports what is not ordered before `later`, which touches `touched`, and remembers it.
  void touch(work const& later, std::vector<access> const& touched);
  // Reports what is not ordered before the host's `doing` with these bytes, such as a free.
  void touch_by_host(std::string const& doing, access const& touched, clock const& host);
  void report(std::string text) { reports_.push_back(std::move(text)); }

  // Forgets what `host`, and so everything that will be enqueued, is ordered after.
  void prune(clock const& host);
  void forget_memory(access const& all);

  std::vector<std::string> const& reports() const { return reports_; }
  void forget_reports() { reports_.clear(); }

 private:
  struct touched_by {
    access bytes;
    std::string who;
    std::size_t timeline;
    std::uint64_t tick;
  };

  std::vector<touched_by> history_;
  std::vector<std::string> reports_;
};

}  // namespace simulated

// race_detector: reports operations that access the same bytes, one of them writing, without a wait
// that orders them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "operation.hpp"

namespace simulated {

class race_detector {
 public:
  // Records the accesses of `later`. Reports a race for each earlier access that conflicts with
  // them and that is not ordered before `later`.
  void record_access(operation const& later, std::vector<access> const& accesses);
  // The same for an access of the host, such as freeing memory. It is not recorded.
  void check_host_access(std::string const& name, access const& bytes, vector_clock const& host);
  void report(std::string text) { reports_.push_back(std::move(text)); }

  // Discards the accesses that `host` is ordered after. All later operations are then ordered after
  // them too.
  void prune(vector_clock const& host);
  // Discards the accesses of bytes whose memory was freed.
  void discard_accesses(access const& bytes);

  std::vector<std::string> const& reports() const { return reports_; }
  void clear_reports() { reports_.clear(); }

 private:
  struct recorded_access {
    access bytes;
    std::string name;  // of the operation
    std::size_t timeline;
    std::uint64_t tick;
  };

  std::vector<recorded_access> history_;
  std::vector<std::string> reports_;
};

}  // namespace simulated

// SPDX-License-Identifier: BSD-3-Clause
// Compares the accesses of an operation with those of earlier operations, by vector clocks.
#include "race_detector.hpp"

#include <algorithm>
#include <cstdio>

#include "objects.hpp"

namespace simulated {
namespace {

bool rows_overlap(access const& row, access const& other) {
  for (std::size_t i = 0; i < other.rows; ++i) {
    std::uintptr_t const first = other.start + i * other.pitch;
    if (first < row.start + row.width && row.start < first + other.width) {
      return true;
    }
  }
  return false;
}

bool overlap(access const& a, access const& b) {
  if (a.end() <= b.start || b.end() <= a.start || a.width == 0 || b.width == 0) {
    return false;
  }
  for (std::size_t i = 0; i < a.rows; ++i) {
    if (rows_overlap({a.start + i * a.pitch, a.width, a.width, 1, false}, b)) {
      return true;
    }
  }
  return false;
}

// Whether all bytes of `inner` are in `outer`. May return false for ranges with gaps.
bool contains(access const& outer, access const& inner) {
  bool const is_whole = outer.rows == 1 || outer.pitch == outer.width;
  bool const is_same = outer.start == inner.start && outer.width == inner.width &&
                       outer.pitch == inner.pitch && outer.rows == inner.rows;
  return is_same || (is_whole && outer.start <= inner.start && inner.end() <= outer.end());
}

std::string in_hex(std::uintptr_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string describe(operation const& one) {
  return one.name + " (operation " + std::to_string(one.number) + " on stream " +
         in_hex(reinterpret_cast<std::uintptr_t>(one.queue->handle)) + ")";
}

std::string describe_race(std::string const& later, access const& later_access,
                          std::string const& earlier, access const& earlier_access) {
  std::uintptr_t const first = std::max(later_access.start, earlier_access.start);
  return later + (later_access.writes ? " writes" : " reads") + " memory at " + in_hex(first) +
         " that " + earlier + " still" + (earlier_access.writes ? " writes" : " reads") +
         ": no wait orders one operation after the other";
}

}  // namespace

void race_detector::record_access(operation const& later, std::vector<access> const& accesses) {
  std::string const name = describe(later);
  std::vector<std::string> new_reports;
  for (access const& bytes : accesses) {
    auto const is_superseded = [&](recorded_access const& earlier) {
      bool const is_ordered = later.clock.covers(earlier.timeline, earlier.tick);
      if (!is_ordered && (bytes.writes || earlier.bytes.writes) && overlap(bytes, earlier.bytes)) {
        new_reports.push_back(describe_race(name, bytes, earlier.name, earlier.bytes));
      }
      // An operation that races with `earlier` also races with `later`.
      return is_ordered && (bytes.writes || !earlier.bytes.writes) &&
             contains(bytes, earlier.bytes);
    };
    history_.erase(std::remove_if(history_.begin(), history_.end(), is_superseded), history_.end());
  }
  for (access const& bytes : accesses) {
    if (bytes.width != 0 && bytes.rows != 0) {
      history_.push_back({bytes, name, later.queue->timeline, later.tick});
    }
  }
  reports_.insert(reports_.end(), new_reports.begin(), new_reports.end());
}

void race_detector::check_host_access(std::string const& name, access const& bytes,
                                      vector_clock const& host) {
  for (recorded_access const& earlier : history_) {
    if (!host.covers(earlier.timeline, earlier.tick) && overlap(bytes, earlier.bytes)) {
      reports_.push_back(describe_race(name, bytes, earlier.name, earlier.bytes));
    }
  }
}

void race_detector::prune(vector_clock const& host) {
  auto const is_ordered = [&](recorded_access const& one) {
    return host.covers(one.timeline, one.tick);
  };
  history_.erase(std::remove_if(history_.begin(), history_.end(), is_ordered), history_.end());
}

void race_detector::discard_accesses(access const& bytes) {
  auto const is_inside = [&](recorded_access const& one) { return overlap(one.bytes, bytes); };
  history_.erase(std::remove_if(history_.begin(), history_.end(), is_inside), history_.end());
}

}  // namespace simulated

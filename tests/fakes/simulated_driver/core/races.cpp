// Compares what a work touches with what all those before it touched, by vector clocks.
#include "races.hpp"

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

// Whether all bytes of `inner` are in `outer`, where that is easy to tell.
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

std::string describe(work const& one) {
  return one.name + " (work " + std::to_string(one.number) + " on stream " +
         in_hex(reinterpret_cast<std::uintptr_t>(one.on->handle)) + ")";
}

std::string sentence(std::string const& later, access const& now, std::string const& earlier,
                     access const& then) {
  std::uintptr_t const first = std::max(now.start, then.start);
  return later + (now.writes ? " writes" : " reads") + " memory at " + in_hex(first) + " that " +
         earlier + " still" + (then.writes ? " writes" : " reads") +
         ": nothing orders the one after the other";
}

}  // namespace

void races::touch(work const& later, std::vector<access> const& touched) {
  std::string const who = describe(later);
  std::vector<std::string> found;
  for (access const& now : touched) {
    auto const is_superseded = [&](touched_by const& then) {
      bool const is_ordered = later.known.covers(then.timeline, then.tick);
      if (!is_ordered && (now.writes || then.bytes.writes) && overlap(now, then.bytes)) {
        found.push_back(sentence(who, now, then.who, then.bytes));
      }
      // Who races with `then` races with `later` too.
      return is_ordered && (now.writes || !then.bytes.writes) && contains(now, then.bytes);
    };
    history_.erase(std::remove_if(history_.begin(), history_.end(), is_superseded), history_.end());
  }
  for (access const& now : touched) {
    if (now.width != 0 && now.rows != 0) {
      history_.push_back({now, who, later.on->timeline, later.tick});
    }
  }
  reports_.insert(reports_.end(), found.begin(), found.end());
}

void races::touch_by_host(std::string const& doing, access const& touched, clock const& host) {
  for (touched_by const& then : history_) {
    if (!host.covers(then.timeline, then.tick) && overlap(touched, then.bytes)) {
      reports_.push_back(sentence(doing, touched, then.who, then.bytes));
    }
  }
}

void races::prune(clock const& host) {
  auto const is_known = [&](touched_by const& one) { return host.covers(one.timeline, one.tick); };
  history_.erase(std::remove_if(history_.begin(), history_.end(), is_known), history_.end());
}

void races::forget_memory(access const& all) {
  auto const is_gone = [&](touched_by const& one) { return overlap(one.bytes, all); };
  history_.erase(std::remove_if(history_.begin(), history_.end(), is_gone), history_.end());
}

}  // namespace simulated

// Contexts, streams, events and captures: what handles stand for.
// floor 3
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "work.hpp"

namespace simulated {

struct context {
  void* handle = nullptr;
  int device = 0;
  bool is_primary = false;
  bool is_alive = true;
  int retains = 0;
  std::shared_ptr<stream> legacy;
  std::map<int, std::shared_ptr<stream>> per_thread;
  std::vector<std::shared_ptr<stream>> streams;  // and destroyed ones that have work left
  std::set<int> peers;                           // devices whose memory its kernels may touch
};

// A graph in the making. It outlives its end for the events that were recorded in it.
struct capture {
  enum class state { active, invalidated, ended };

  std::uint64_t id = 0;
  void* graph = nullptr;
  state now = state::active;
  int mode = 0;
  int thread = 0;
  stream* origin = nullptr;
  std::size_t works = 0;
  std::vector<std::weak_ptr<stream>> streams;
};

struct stream {
  void* handle = nullptr;
  std::shared_ptr<context> of;
  bool is_blocking = true;  // in order with the legacy default stream
  bool is_destroyed = false;
  std::size_t timeline = 0;
  std::uint64_t ticks = 0;
  clock known;
  std::deque<std::shared_ptr<work>> pending;
  std::shared_ptr<capture> within;
  // Of a capturing stream: which of the works captured on any stream it is ordered after.
  std::set<std::size_t> captured;

  bool is_legacy() const { return of->legacy.get() == this; }
};

struct event {
  void* handle = nullptr;
  std::shared_ptr<context> of;
  std::shared_ptr<work> mark;     // the record; null before the first one
  bool was_seen_pending = false;  // by a query, which answers "not ready" once
  std::shared_ptr<capture> within;
  std::set<std::size_t> captured;
};

}  // namespace simulated

// context, stream, event, capture_sequence: the objects that handles refer to.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "operation.hpp"

namespace simulated {

struct context {
  void* handle = nullptr;
  int device = 0;
  bool is_primary = false;
  bool is_alive = true;
  std::uint64_t id = 0;  // a primary context that is created again has another one
  int retains = 0;
  std::shared_ptr<stream> legacy;
  std::map<int, std::shared_ptr<stream>> per_thread;
  std::vector<std::shared_ptr<stream>> streams;  // also destroyed ones with pending operations
  std::set<int> peers;                           // devices whose memory its kernels may access
  std::shared_ptr<context> green_of;  // the primary context, if this one is of a green context

  // The context whose events and memory this one shares.
  context const& root() const { return green_of != nullptr ? *green_of : *this; }
};

// An operation of a graph.
struct graph_node {
  std::string name;
  std::vector<access> accesses;
  std::function<void()> action;
  bool is_host_callback = false;
  std::set<std::size_t> before;  // the earlier nodes that it is ordered after
};

struct graph {
  std::vector<graph_node> nodes;
};

// An executable graph.
struct executable_graph {
  graph content;
  std::shared_ptr<operation> last;  // of its last launch
};

// A capture of streams into a graph. Events that were recorded during the capture still refer to it
// after its end.
struct capture_sequence {
  enum class state { active, invalidated, ended };

  std::uint64_t id = 0;
  void* graph = nullptr;
  state current_state = state::active;
  int mode = 0;
  int thread = 0;
  stream* origin = nullptr;
  simulated::graph content;
  std::vector<std::weak_ptr<stream>> streams;
};

struct stream {
  void* handle = nullptr;
  std::shared_ptr<context> owner;
  bool is_blocking = true;  // in order with the legacy default stream
  bool is_destroyed = false;
  bool is_green = false;  // created for a green context
  std::size_t timeline = 0;
  std::uint64_t ticks = 0;
  vector_clock clock;
  std::deque<std::shared_ptr<operation>> pending;
  std::shared_ptr<capture_sequence> capture;
  // During a capture: the captured operations, of any stream, that this stream is ordered after.
  std::set<std::size_t> captured_before;

  bool is_legacy() const { return owner->legacy.get() == this; }
};

struct event {
  void* handle = nullptr;
  std::shared_ptr<context> owner;
  std::shared_ptr<operation> record;  // the last record of the event; null before the first
  bool was_reported_pending = false;  // by a query
  std::shared_ptr<capture_sequence> capture;
  std::set<std::size_t> captured_before;
};

}  // namespace simulated

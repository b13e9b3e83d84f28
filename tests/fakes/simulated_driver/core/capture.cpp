// SPDX-License-Identifier: BSD-3-Clause
// Stream capture: captured operations become nodes of a graph and do not run; some calls invalidate
// the capture.
#include <algorithm>

#include "driver.hpp"

namespace simulated {
namespace {

enum mode { global = 0, thread_local_mode = 1, relaxed = 2 };

bool is_active(stream const& one) {
  return one.capture != nullptr && one.capture->current_state == capture_sequence::state::active;
}

void detach_streams(capture_sequence& sequence) {
  for (auto const& member : sequence.streams) {
    if (stream_ptr const one = member.lock()) {
      one->capture = nullptr;
      one->captured_before.clear();
    }
  }
  sequence.streams.clear();
}

void invalidate(capture_sequence& sequence) {
  sequence.current_state = capture_sequence::state::invalidated;
}

}  // namespace

void driver::begin_capture(stream_ptr const& queue, int mode) {
  require(mode >= global && mode <= relaxed);
  require(!queue->is_legacy(), status::capture_unsupported);
  require(queue->capture == nullptr, status::illegal_state);
  auto sequence = std::make_shared<capture_sequence>();
  sequence->id = next_capture_++;
  sequence->graph = new_handle();
  sequence->mode = mode;
  sequence->thread = thread_number();
  sequence->origin = queue.get();
  sequence->streams.push_back(queue);
  queue->capture = sequence;
}

void* driver::end_capture(stream_ptr const& queue) {
  std::shared_ptr<capture_sequence> const sequence = queue->capture;
  require(sequence != nullptr, status::illegal_state);
  require(sequence->mode == relaxed || sequence->thread == thread_number(),
          status::capture_wrong_thread);
  if (sequence->origin != queue.get()) {
    invalidate(*sequence);
    fail(status::capture_unmatched);
  }
  bool const is_joined = queue->captured_before.size() == sequence->content.nodes.size();
  bool const is_valid = sequence->current_state == capture_sequence::state::active;
  sequence->current_state = capture_sequence::state::ended;
  detach_streams(*sequence);
  require(is_valid, status::capture_invalidated);
  require(is_joined, status::capture_unjoined);
  graphs[sequence->graph] = sequence->content;
  return sequence->graph;
}

std::size_t driver::node_count(void* graph) const {
  auto const entry = graphs.find(graph);
  require(entry != graphs.end());
  return entry->second.nodes.size();
}

void driver::add_to_capture(stream& queue, graph_node node) {
  require(is_active(queue), status::capture_invalidated);
  auto& nodes = queue.capture->content.nodes;
  node.before = queue.captured_before;
  queue.captured_before.insert(nodes.size());
  nodes.push_back(std::move(node));
}

void driver::fail_in_capture(stream& one, status code) {
  invalidate(*one.capture);
  fail(code);
}

void driver::fail_if_capturing(stream& one) {
  if (one.capture != nullptr) {
    invalidate(*one.capture);
    fail(status::capture_unsupported);
  }
}

void driver::fail_if_implicit_dependency(stream const& one, bool is_query) {
  if (!one.is_legacy()) {
    return;
  }
  bool is_forbidden = false;
  for (stream_ptr const& other : one.owner->streams) {
    if (other->is_blocking && is_active(*other)) {
      is_forbidden = true;
      if (!is_query) {
        invalidate(*other->capture);
      }
    }
  }
  require(!is_forbidden, status::capture_implicit);
}

int driver::query_capture(stream const& one) {
  fail_if_implicit_dependency(one, true);
  if (one.capture == nullptr) {
    return 0;
  }
  return is_active(one) ? 1 : 2;
}

void driver::query_capture(stream const& one, int* status, unsigned long long* id, void** graph,
                           void const** dependencies, std::size_t* count) {
  require(status != nullptr);
  *status = query_capture(one);
  if (*status != 1) {
    return;
  }
  if (id != nullptr) {
    *id = one.capture->id;
  }
  if (graph != nullptr) {
    *graph = one.capture->graph;
  }
  if (dependencies != nullptr) {
    *dependencies = nullptr;
  }
  if (count != nullptr) {
    *count = 0;
  }
}

int& driver::thread_capture_mode() {
  thread_local int mode = global;
  return mode;
}

// owner: the context whose captures are checked; null for all contexts.
void driver::fail_if_unsafe_in_capture(context const* owner) {
  int const own_mode = owner == nullptr ? thread_capture_mode() : static_cast<int>(global);
  bool is_forbidden = false;
  for (stream_ptr const& one : all_streams()) {
    bool const is_concerned = owner == nullptr || one->owner.get() == owner;
    if (is_active(*one) && is_concerned && own_mode != relaxed && one->capture->mode != relaxed &&
        (one->capture->thread == thread_number() ||
         (one->capture->mode == global && own_mode == global))) {
      invalidate(*one->capture);
      is_forbidden = true;
    }
  }
  require(!is_forbidden, status::capture_unsupported);
}

bool driver::record_in_capture(event& marker, stream& queue) {
  marker.capture = queue.capture;
  if (queue.capture == nullptr) {
    return false;
  }
  require(is_active(queue), status::capture_invalidated);
  marker.record = nullptr;
  marker.captured_before = queue.captured_before;
  return true;
}

// Adds `consumer` to the capture of the event. Fails if a captured stream waits for an event that
// is not part of its capture.
bool driver::wait_in_capture(stream_ptr const& consumer, event& marker) {
  if (consumer->capture != nullptr && consumer->capture != marker.capture) {
    require(is_active(*consumer), status::capture_invalidated);
    invalidate(*consumer->capture);
    if (marker.capture != nullptr &&
        marker.capture->current_state == capture_sequence::state::active) {
      invalidate(*marker.capture);
      fail(status::capture_merge);
    }
    fail(status::capture_isolation);
  }
  if (marker.capture == nullptr) {
    return false;
  }
  require(marker.capture->current_state != capture_sequence::state::ended, status::captured_event);
  require(marker.capture->current_state == capture_sequence::state::active,
          status::capture_invalidated);
  if (consumer->capture == nullptr) {
    require(!consumer->is_legacy(), status::capture_implicit);
    consumer->capture = marker.capture;
    marker.capture->streams.push_back(consumer);
  }
  consumer->captured_before.insert(marker.captured_before.begin(), marker.captured_before.end());
  return true;
}

}  // namespace simulated

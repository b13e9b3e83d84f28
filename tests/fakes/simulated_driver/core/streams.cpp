// SPDX-License-Identifier: BSD-3-Clause
// Streams and events: creation, lookup, waits, queries and destruction.
#include <atomic>
#include <tuple>

#include "driver.hpp"

namespace simulated {

int thread_number() {
  static std::atomic<int> last{0};
  thread_local int const number = ++last;
  return number;
}

bool& is_in_host_callback() {
  thread_local bool inside = false;
  return inside;
}

stream_ptr driver::make_stream(context_ptr const& owner, bool is_blocking) {
  auto result = std::make_shared<stream>();
  result->handle = new_handle();
  result->owner = owner;
  result->is_blocking = is_blocking;
  if (free_timelines_.empty()) {
    result->timeline = next_timeline_++;
  } else {
    std::tie(result->timeline, result->ticks) = free_timelines_.back();
    free_timelines_.pop_back();
  }
  streams[result->handle] = result;
  owner->streams.push_back(result);
  return result;
}

// The default streams have the handles 1 and 2 in every context. `streams` does not contain them.
stream_ptr driver::default_stream(context_ptr const& owner, bool per_thread) {
  if (!per_thread) {
    return owner->legacy;
  }
  stream_ptr& per_thread_stream = owner->per_thread[thread_number()];
  if (per_thread_stream == nullptr) {
    per_thread_stream = make_stream(owner, true);
    streams.erase(per_thread_stream->handle);
    per_thread_stream->handle = reinterpret_cast<void*>(2);
  }
  return per_thread_stream;
}

stream_ptr driver::find_stream(void* handle) {
  if (auto const entry = streams.find(handle); entry != streams.end()) {
    return entry->second;
  }
  report_if_destroyed(handle);
  auto const destroyed = destroyed_streams_.find(handle);
  fail(destroyed == destroyed_streams_.end() ? status::invalid_handle : destroyed->second);
}

void driver::destroy(stream_ptr const& target) {
  streams.erase(target->handle);
  destroyed_handles[target->handle] = "stream";
  target->is_destroyed = true;
  release_finished_streams(*target->owner);
}

void driver::synchronize(stream_ptr const& one) {
  fail_if_capturing(*one);
  fail_if_implicit_dependency(*one);
  ++host_synchronizations;
  std::vector<stream_ptr> predecessors;
  if (one->is_legacy()) {
    predecessors = implicit_predecessors(*one);
  }
  predecessors.push_back(one);
  vector_clock clock;
  for (stream_ptr const& each : predecessors) {
    clock.join(each->clock);
  }
  run_pending(predecessors);
  order_host_after(clock);
  release_finished_streams(*one->owner);
}

// The first query of a stream with pending operations returns false and runs them, so a polling
// loop ends, and a caller that ignores the result continues without the order.
bool driver::query(stream_ptr const& one) {
  fail_if_capturing(*one);
  fail_if_implicit_dependency(*one);
  if (!one->pending.empty()) {
    run_pending({one});
    return false;
  }
  order_host_after(one->clock);
  return true;
}

event_ptr driver::make_event(context_ptr const& owner) {
  auto result = std::make_shared<event>();
  result->handle = new_handle();
  result->owner = owner;
  events[result->handle] = result;
  return result;
}

event_ptr driver::find_event(void* handle) {
  auto const entry = events.find(handle);
  if (entry == events.end()) {
    report_if_destroyed(handle);
  }
  require(entry != events.end(), status::invalid_handle);
  return entry->second;
}

void driver::destroy(event_ptr const& target) {
  events.erase(target->handle);
  destroyed_handles[target->handle] = "event";
}

// With a destroyed handle the behaviour of the real drivers is undefined. The call fails, or works
// on an object that has the same handle by now.
void driver::report_if_destroyed(void* handle) {
  auto const entry = destroyed_handles.find(handle);
  if (entry != destroyed_handles.end()) {
    misuses.push_back(called_now + " uses a destroyed " + entry->second);
  }
}

void driver::record(event_ptr const& marker, stream_ptr const& queue) {
  require(&marker->owner->root() == &queue->owner->root(), status::invalid_handle);
  if (record_in_capture(*marker, *queue)) {
    return;
  }
  marker->record = enqueue(queue, "an event", {}, [] {});
  marker->was_reported_pending = false;
}

void driver::wait(stream_ptr const& consumer, event_ptr const& marker) {
  fail_if_implicit_dependency(*consumer);
  if (wait_in_capture(consumer, *marker) || marker->record == nullptr) {
    return;
  }
  wait_for(consumer, marker->record);
}

void driver::wait_for(stream_ptr const& consumer, operation_ptr const& earlier) {
  operation_ptr const result = prepare(consumer, "a wait");
  result->dependencies.push_back(earlier);
  result->clock.join(earlier->clock);
  result->action = [] {};
  submit(result, {});
}

void driver::synchronize(event_ptr const& marker) {
  require(marker->capture == nullptr, status::captured_event);
  ++host_synchronizations;
  if (operation_ptr const record = marker->record; record != nullptr) {
    complete(record);
    order_host_after(record->clock);
  }
}

bool driver::query(event_ptr const& marker) {
  require(marker->capture == nullptr, status::captured_event);
  fail_if_unsafe_in_capture(nullptr);
  operation_ptr const record = marker->record;
  if (record == nullptr) {
    return true;
  }
  if (!marker->was_reported_pending && record->current_state != operation::state::done) {
    marker->was_reported_pending = true;
    complete(record);
    return false;
  }
  complete(record);
  order_host_after(record->clock);
  return true;
}

}  // namespace simulated

// Streams and events: making, finding, ordering, waiting for and destroying them.
#include <atomic>
#include <tuple>

#include "driver.hpp"

namespace simulated {

int this_thread() {
  static std::atomic<int> last{0};
  thread_local int const mine = ++last;
  return mine;
}

bool& inside_host_function() {
  thread_local bool inside = false;
  return inside;
}

stream_ptr driver::make_stream(context_ptr const& of, bool is_blocking) {
  auto made = std::make_shared<stream>();
  made->handle = new_handle();
  made->of = of;
  made->is_blocking = is_blocking;
  if (free_timelines_.empty()) {
    made->timeline = next_timeline_++;
  } else {
    std::tie(made->timeline, made->ticks) = free_timelines_.back();
    free_timelines_.pop_back();
  }
  streams[made->handle] = made;
  of->streams.push_back(made);
  return made;
}

// The default streams have the handles 1 and 2 in every context, and are in no table of handles.
stream_ptr driver::default_stream(context_ptr const& of, bool per_thread) {
  if (!per_thread) {
    return of->legacy;
  }
  stream_ptr& mine = of->per_thread[this_thread()];
  if (mine == nullptr) {
    mine = make_stream(of, true);
    streams.erase(mine->handle);
    mine->handle = reinterpret_cast<void*>(2);
  }
  return mine;
}

stream_ptr driver::find_stream(void* handle) const {
  if (auto const found = streams.find(handle); found != streams.end()) {
    return found->second;
  }
  auto const dead = dead_streams_.find(handle);
  refuse(dead == dead_streams_.end() ? status::invalid_handle : dead->second);
}

void driver::destroy(stream_ptr const& gone) {
  streams.erase(gone->handle);
  gone->is_destroyed = true;
  forget_finished(*gone->of);
}

void driver::synchronize(stream_ptr const& one) {
  refuse_synchronizing(*one);
  refuse_legacy(*one);
  ++host_synchronizations;
  std::vector<stream_ptr> needed;
  if (one->is_legacy()) {
    needed = implied_before(*one);
  }
  needed.push_back(one);
  clock known;
  for (stream_ptr const& each : needed) {
    known.join(each->known);
  }
  drain(needed);
  learn(known);
  forget_finished(*one->of);
}

// Not ready is said once, so that who forgets to ask again is found out and who polls gets on.
bool driver::query(stream_ptr const& one) {
  refuse_synchronizing(*one);
  refuse_legacy(*one);
  if (!one->pending.empty()) {
    drain({one});
    return false;
  }
  learn(one->known);
  return true;
}

event_ptr driver::make_event(context_ptr const& of) {
  auto made = std::make_shared<event>();
  made->handle = new_handle();
  made->of = of;
  events[made->handle] = made;
  return made;
}

event_ptr driver::find_event(void* handle) const {
  auto const found = events.find(handle);
  expect(found != events.end(), status::invalid_handle);
  return found->second;
}

void driver::destroy(event_ptr const& gone) { events.erase(gone->handle); }

void driver::record(event_ptr const& mark, stream_ptr const& on) {
  expect(mark->of == on->of, status::invalid_handle);
  if (record_in_capture(*mark, *on)) {
    return;
  }
  mark->mark = enqueue(on, "an event", {}, [] {});
  mark->was_seen_pending = false;
}

void driver::wait(stream_ptr const& waiting, event_ptr const& mark) {
  refuse_legacy(*waiting);
  if (wait_in_capture(waiting, *mark) || mark->mark == nullptr) {
    return;
  }
  work_ptr const made = prepare(waiting, "a wait");
  made->after.push_back(mark->mark);
  made->known.join(mark->mark->known);
  made->action = [] {};
  submit(made, {});
}

void driver::synchronize(event_ptr const& mark) {
  expect(mark->within == nullptr, status::captured_event);
  ++host_synchronizations;
  if (work_ptr const recorded = mark->mark; recorded != nullptr) {
    complete(recorded);
    learn(recorded->known);
  }
}

bool driver::query(event_ptr const& mark) {
  expect(mark->within == nullptr, status::captured_event);
  work_ptr const recorded = mark->mark;
  if (recorded == nullptr) {
    return true;
  }
  if (!mark->was_seen_pending && recorded->now != work::state::done) {
    mark->was_seen_pending = true;
    complete(recorded);
    return false;
  }
  complete(recorded);
  learn(recorded->known);
  return true;
}

}  // namespace simulated

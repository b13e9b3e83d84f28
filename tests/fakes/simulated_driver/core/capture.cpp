// Capturing: works that are noted instead of run, and what must not be asked meanwhile.
#include <algorithm>

#include "driver.hpp"

namespace simulated {
namespace {

enum mode { global = 0, thread_local_mode = 1, relaxed = 2 };

bool is_active(stream const& one) {
  return one.within != nullptr && one.within->now == capture::state::active;
}

void leave(capture& ended) {
  for (auto const& member : ended.streams) {
    if (stream_ptr const one = member.lock()) {
      one->within = nullptr;
      one->captured.clear();
    }
  }
  ended.streams.clear();
}

void invalidate(capture& broken) { broken.now = capture::state::invalidated; }

}  // namespace

void driver::begin_capture(stream_ptr const& on, int mode) {
  expect(mode >= global && mode <= relaxed);
  expect(!on->is_legacy(), status::capture_unsupported);
  expect(on->within == nullptr, status::illegal_state);
  auto begun = std::make_shared<capture>();
  begun->id = next_capture_++;
  begun->graph = new_handle();
  begun->mode = mode;
  begun->thread = this_thread();
  begun->origin = on.get();
  begun->streams.push_back(on);
  on->within = begun;
}

void* driver::end_capture(stream_ptr const& on) {
  std::shared_ptr<capture> const ended = on->within;
  expect(ended != nullptr, status::illegal_state);
  expect(ended->mode == relaxed || ended->thread == this_thread(), status::capture_wrong_thread);
  if (ended->origin != on.get()) {
    invalidate(*ended);
    refuse(status::capture_unmatched);
  }
  bool const is_joined = on->captured.size() == ended->works;
  bool const is_valid = ended->now == capture::state::active;
  ended->now = capture::state::ended;
  leave(*ended);
  expect(is_valid, status::capture_invalidated);
  expect(is_joined, status::capture_unjoined);
  graphs[ended->graph] = ended->works;
  return ended->graph;
}

void driver::destroy_graph(void* graph) { expect(graphs.erase(graph) != 0); }

std::size_t driver::works_in(void* graph) const {
  auto const found = graphs.find(graph);
  expect(found != graphs.end());
  return found->second;
}

void driver::add_to_capture(stream& on) {
  expect(is_active(on), status::capture_invalidated);
  on.captured.insert(on.within->works++);
}

void driver::refuse_synchronizing(stream& one) {
  if (one.within != nullptr) {
    invalidate(*one.within);
    refuse(status::capture_unsupported);
  }
}

void driver::refuse_legacy(stream const& one, bool is_question) {
  if (!one.is_legacy()) {
    return;
  }
  bool is_refused = false;
  for (stream_ptr const& other : one.of->streams) {
    if (other->is_blocking && is_active(*other)) {
      is_refused = true;
      if (!is_question) {
        invalidate(*other->within);
      }
    }
  }
  expect(!is_refused, status::capture_implicit);
}

int& driver::thread_capture_mode() {
  thread_local int mode = global;
  return mode;
}

// Of a whole context, or of all where it is null.
void driver::refuse_unsafe(context const* of) {
  int const own = of == nullptr ? thread_capture_mode() : static_cast<int>(global);
  bool is_refused = false;
  for (stream_ptr const& one : all_streams()) {
    bool const is_concerned = of == nullptr || one->of.get() == of;
    if (is_active(*one) && is_concerned && own != relaxed && one->within->mode != relaxed &&
        (one->within->thread == this_thread() || (one->within->mode == global && own == global))) {
      invalidate(*one->within);
      is_refused = true;
    }
  }
  expect(!is_refused, status::capture_unsupported);
}

bool driver::record_in_capture(event& mark, stream& on) {
  mark.within = on.within;
  if (on.within == nullptr) {
    return false;
  }
  expect(is_active(on), status::capture_invalidated);
  mark.mark = nullptr;
  mark.captured = on.captured;
  return true;
}

// Joins `waiting` into the capture of the event; what is not captured must not get in.
bool driver::wait_in_capture(stream_ptr const& waiting, event& mark) {
  if (waiting->within != nullptr && waiting->within != mark.within) {
    expect(is_active(*waiting), status::capture_invalidated);
    invalidate(*waiting->within);
    if (mark.within != nullptr && mark.within->now == capture::state::active) {
      invalidate(*mark.within);
      refuse(status::capture_merge);
    }
    refuse(status::capture_isolation);
  }
  if (mark.within == nullptr) {
    return false;
  }
  expect(mark.within->now != capture::state::ended, status::captured_event);
  expect(mark.within->now == capture::state::active, status::capture_invalidated);
  if (waiting->within == nullptr) {
    expect(!waiting->is_legacy(), status::capture_implicit);
    waiting->within = mark.within;
    mark.within->streams.push_back(waiting);
  }
  waiting->captured.insert(mark.captured.begin(), mark.captured.end());
  return true;
}

}  // namespace simulated

// When works run: late, and those that nothing makes wait before those that they should wait for.
#include <algorithm>
#include <thread>

#include "driver.hpp"

namespace simulated {

// The streams that a new work of `on` comes after because of the legacy default stream.
std::vector<stream_ptr> driver::implied_before(stream const& on) const {
  std::vector<stream_ptr> before;
  if (on.is_legacy()) {
    for (stream_ptr const& one : on.of->streams) {
      if (one->is_blocking && one.get() != &on) {
        before.push_back(one);
      }
    }
  } else if (on.is_blocking) {
    before.push_back(on.of->legacy);
  }
  return before;
}

work_ptr driver::prepare(stream_ptr const& on, std::string name) {
  auto made = std::make_shared<work>();
  made->name = std::move(name);
  made->number = next_work_++;
  made->on = on;
  made->known = on->known;
  made->known.join(host_);
  for (stream_ptr const& before : implied_before(*on)) {
    made->known.join(before->known);
    if (!before->pending.empty()) {
      made->after.push_back(before->pending.back());
    }
  }
  return made;
}

void driver::submit(work_ptr const& ready, std::vector<access> const& touched) {
  stream& on = *ready->on;
  ready->tick = ++on.ticks;
  ready->known.reach(on.timeline, ready->tick);
  on.known = ready->known;
  raced.touch(*ready, touched);
  on.pending.push_back(ready);
}

// Null when the work was captured.
work_ptr driver::enqueue(stream_ptr const& on, std::string name, std::vector<access> touched,
                         std::function<void()> action, bool is_foreign) {
  refuse_legacy(*on);
  if (on->within != nullptr) {
    add_to_capture(*on);
    return nullptr;
  }
  work_ptr made = prepare(on, std::move(name));
  made->action = std::move(action);
  made->is_foreign = is_foreign;
  submit(made, touched);
  return made;
}

void driver::run_first(stream& of) {
  work_ptr const next = of.pending.front();
  next->now = work::state::running;
  if (next->is_foreign) {  // on a thread of the driver, as it may want locks that we know not
    lock.unlock();
    std::thread([&] {
      inside_host_function() = true;
      next->action();
    }).join();
    lock.lock();
  } else {
    next->action();
  }
  next->now = work::state::done;
  next->action = nullptr;
  next->after.clear();
  of.pending.pop_front();
  progress.notify_all();
}

void driver::complete(work_ptr const& wanted) {
  std::vector<work_ptr> needed{wanted};
  while (!needed.empty()) {
    work_ptr const last = needed.back();
    if (last->now == work::state::done) {
      needed.pop_back();
      continue;
    }
    work_ptr const first = last->on->pending.front();
    auto const before = std::find_if(first->after.begin(), first->after.end(),
                                     [](auto& one) { return one->now != work::state::done; });
    if (first->now == work::state::running) {  // by another thread, in a host function
      std::unique_lock<std::mutex> held(lock, std::adopt_lock);
      progress.wait(held);
      held.release();
    } else if (before != first->after.end()) {
      needed.push_back(*before);
    } else {
      run_first(*last->on);
    }
  }
}

// The newest work first, with all that it waits for: an order that every missing wait allows.
void driver::drain(std::vector<stream_ptr> const& streams_to_empty) {
  for (;;) {
    work_ptr newest;
    for (stream_ptr const& one : streams_to_empty) {
      if (!one->pending.empty() &&
          (newest == nullptr || one->pending.back()->number > newest->number)) {
        newest = one->pending.back();
      }
    }
    if (newest == nullptr) {
      return;
    }
    complete(newest);
  }
}

std::vector<stream_ptr> driver::all_streams() const {
  std::vector<stream_ptr> all;
  for (auto const& [handle, one] : contexts) {
    all.insert(all.end(), one->streams.begin(), one->streams.end());
  }
  return all;
}

void driver::drain() { drain(all_streams()); }

std::size_t driver::pending() const {
  std::size_t count = 0;
  for (stream_ptr const& one : all_streams()) {
    count += one->pending.size();
  }
  return count;
}

void driver::learn(clock const& done) {
  host_.join(done);
  raced.prune(host_);
}

}  // namespace simulated

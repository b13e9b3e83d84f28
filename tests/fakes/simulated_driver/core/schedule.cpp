// SPDX-License-Identifier: BSD-3-Clause
// The schedule: operations run as late as possible, and an operation without a required wait runs
// before the operation that it should wait for.
#include <algorithm>
#include <thread>

#include "driver.hpp"

namespace simulated {

// The streams that a new operation on `queue` is ordered after because of the legacy default
// stream.
std::vector<stream_ptr> driver::implicit_predecessors(stream const& queue) const {
  std::vector<stream_ptr> predecessors;
  if (queue.is_legacy()) {
    for (stream_ptr const& one : queue.owner->streams) {
      if (one->is_blocking && one.get() != &queue) {
        predecessors.push_back(one);
      }
    }
  } else if (queue.is_blocking) {
    predecessors.push_back(queue.owner->legacy);
  }
  return predecessors;
}

operation_ptr driver::prepare(stream_ptr const& queue, std::string name) {
  auto result = std::make_shared<operation>();
  result->name = std::move(name);
  result->number = next_operation_++;
  result->queue = queue;
  result->clock = queue->clock;
  result->clock.join(host_clock_);
  for (stream_ptr const& predecessor : implicit_predecessors(*queue)) {
    result->clock.join(predecessor->clock);
    if (!predecessor->pending.empty()) {
      result->dependencies.push_back(predecessor->pending.back());
    }
  }
  return result;
}

void driver::submit(operation_ptr const& item, std::vector<access> const& accesses) {
  stream& queue = *item->queue;
  item->tick = ++queue.ticks;
  item->clock.advance(queue.timeline, item->tick);
  queue.clock = item->clock;
  races.record_access(*item, accesses);
  queue.pending.push_back(item);
}

// Returns null if the operation was captured.
operation_ptr driver::enqueue(stream_ptr const& queue, std::string name,
                              std::vector<access> accesses, std::function<void()> action,
                              bool is_host_callback) {
  fail_if_implicit_dependency(*queue);
  if (queue->capture != nullptr) {
    add_to_capture(*queue,
                   {std::move(name), std::move(accesses), std::move(action), is_host_callback, {}});
    return nullptr;
  }
  operation_ptr result = prepare(queue, std::move(name));
  result->action = std::move(action);
  result->is_host_callback = is_host_callback;
  submit(result, accesses);
  return result;
}

void driver::run_front(stream& queue) {
  operation_ptr const next = queue.pending.front();
  next->current_state = operation::state::running;
  if (next->is_host_callback) {
    lock.unlock();  // the callback may wait for a thread that calls the driver
    std::thread([&] {
      is_in_host_callback() = true;
      next->action();
    }).join();
    lock.lock();
  } else {
    next->action();
  }
  next->current_state = operation::state::done;
  next->action = nullptr;
  next->dependencies.clear();
  queue.pending.pop_front();
  progress.notify_all();
}

void driver::complete(operation_ptr const& target) {
  std::vector<operation_ptr> stack{target};
  while (!stack.empty()) {
    operation_ptr const last = stack.back();
    if (last->current_state == operation::state::done) {
      stack.pop_back();
      continue;
    }
    operation_ptr const first = last->queue->pending.front();
    auto const dependency =
        std::find_if(first->dependencies.begin(), first->dependencies.end(),
                     [](auto& one) { return one->current_state != operation::state::done; });
    if (first->current_state == operation::state::running) {
      // Another thread runs a host callback.
      std::unique_lock<std::mutex> guard(lock, std::adopt_lock);
      progress.wait(guard);
      guard.release();
    } else if (dependency != first->dependencies.end()) {
      stack.push_back(*dependency);
    } else {
      run_front(*last->queue);
    }
  }
}

// Runs the newest operation first, after the operations that it waits for. The order of a program
// with a missing wait is therefore wrong.
void driver::run_pending(std::vector<stream_ptr> const& streams_to_run) {
  for (;;) {
    operation_ptr newest;
    for (stream_ptr const& one : streams_to_run) {
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

void driver::run_pending() { run_pending(all_streams()); }

std::size_t driver::pending() const {
  std::size_t count = 0;
  for (stream_ptr const& one : all_streams()) {
    count += one->pending.size();
  }
  return count;
}

void driver::order_host_after(vector_clock const& clock) {
  host_clock_.join(clock);
  races.prune(host_clock_);
}

}  // namespace simulated

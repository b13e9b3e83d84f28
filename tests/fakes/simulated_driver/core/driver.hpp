// The state of a driver under one lock, and what both faces do with it.
// floor 4
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "calls.hpp"
#include "memory.hpp"
#include "objects.hpp"
#include "races.hpp"
#include "status.hpp"

namespace simulated {

using context_ptr = std::shared_ptr<context>;
using stream_ptr = std::shared_ptr<stream>;
using event_ptr = std::shared_ptr<event>;
using work_ptr = std::shared_ptr<work>;
using allocation_ptr = std::shared_ptr<allocation>;

// One side of a copy, and whether its caller said that it is memory of a device.
struct location {
  std::uintptr_t start = 0;
  std::size_t pitch = 0;
  bool is_said_device = false;
};

class driver {
 public:
  static driver& get();  // never destroyed: libraries call drivers while the process ends

  // contexts.cpp
  int device_count() const { return device_count_; }
  void require_device(int device) const;
  context_ptr primary(int device);  // alive or not
  void retain(context& primary);
  void release(context& primary);
  context_ptr make_context(int device);
  context_ptr find_context(void* handle) const;  // dead ones among them; refuses unknown ones
  void destroy(context& gone);
  void enable_peer(context& from, context const& to);
  bool may_peer(int from, int to) const;
  void synchronize(context& whole);

  // streams.cpp
  stream_ptr make_stream(context_ptr const& of, bool is_blocking);
  stream_ptr default_stream(context_ptr const& of, bool per_thread);
  stream_ptr find_stream(void* handle) const;
  void destroy(stream_ptr const& gone);
  void synchronize(stream_ptr const& one);
  bool query(stream_ptr const& one);
  event_ptr make_event(context_ptr const& of);
  event_ptr find_event(void* handle) const;
  void destroy(event_ptr const& gone);
  void record(event_ptr const& mark, stream_ptr const& on);
  void wait(stream_ptr const& waiting, event_ptr const& mark);
  void synchronize(event_ptr const& mark);
  bool query(event_ptr const& mark);

  // schedule.cpp
  work_ptr enqueue(stream_ptr const& on, std::string name, std::vector<access> touched,
                   std::function<void()> action, bool is_foreign = false);
  void complete(work_ptr const& wanted);  // and all that it is ordered after
  void drain(std::vector<stream_ptr> const& streams);
  void drain();
  std::vector<stream_ptr> all_streams() const;
  std::size_t pending() const;
  void learn(clock const& done);  // the host is ordered after it

  // storage.cpp
  allocation_ptr allocate(context const& by, memory_kind kind, std::size_t bytes);
  allocation_ptr allocate_in_order(stream_ptr const& on, char const* name, std::size_t bytes);
  allocation_ptr adopt(context const& by, void* start, std::size_t bytes);
  void free(void* start, std::vector<memory_kind> const& kinds, char const* name);
  void free_in_order(stream_ptr const& on, char const* name, void* start);
  allocation_ptr lookup(void const* address) const;  // refuses what it does not know

  // copies.cpp
  void copy(stream_ptr const& on, char const* name, location to, location from, std::size_t width,
            std::size_t rows = 1);
  void fill(stream_ptr const& on, char const* name, void* to, unsigned char value,
            std::size_t bytes);
  void call_host(stream_ptr const& on, char const* name, void (*function)(void*), void* argument);

  // capture.cpp
  void begin_capture(stream_ptr const& on, int mode);
  void* end_capture(stream_ptr const& on);
  void destroy_graph(void* graph);
  std::size_t works_in(void* graph) const;
  void add_to_capture(stream& on);
  void refuse_synchronizing(stream& one);  // where it is capturing
  // Where it is the legacy one, and others capture; a mere question breaks no capture.
  void refuse_legacy(stream const& one, bool is_question = false);
  // By the mode that a thread has chosen for itself: global, thread-local, relaxed.
  static int& thread_capture_mode();
  void refuse_unsafe(context const* of);  // what a global capture forbids to everybody
  bool record_in_capture(event& mark, stream& on);
  bool wait_in_capture(stream_ptr const& waiting, event& mark);

  // control.cpp
  void reset();

  std::mutex lock;
  std::condition_variable progress;
  call_plan plan;
  memory storage;
  races raced;
  std::size_t memory_limit = 0;  // bytes on each device; 0: none
  std::map<std::pair<int, int>, bool> peer_rules;
  long host_synchronizations = 0;
  long device_synchronizations = 0;
  bool is_initialized = false;
  std::map<void*, context_ptr> contexts;
  std::map<void*, stream_ptr> streams;
  std::map<void*, event_ptr> events;
  std::map<void*, std::size_t> graphs;  // how many works each has
  std::map<int, context_ptr> primaries;

 private:
  driver();
  void* new_handle();
  void forget_finished(context& of);
  work_ptr prepare(stream_ptr const& on, std::string name);
  void submit(work_ptr const& ready, std::vector<access> const& touched);
  std::vector<stream_ptr> implied_before(stream const& on) const;
  void run_first(stream& of);
  void check_location(location const& one, std::size_t width, std::size_t rows, char const* name);
  bool is_pageable(location const& one) const;

  int device_count_ = 0;
  std::uintptr_t next_handle_;
  std::uint64_t next_work_ = 1;
  std::uint64_t next_capture_ = 1;
  std::size_t next_timeline_ = 0;
  std::vector<std::pair<std::size_t, std::uint64_t>> free_timelines_;  // and where they stand
  std::map<void*, status> dead_streams_;                               // whose context went away
  clock host_;  // all threads of the host together, whose order among themselves we do not see
};

// What the face tells the core: the stream that a handle means here, the current context, and that
// the calling thread shall have none.
stream_ptr stream_of_handle(driver& d, void* handle);
context_ptr current_context(driver& d);
void forget_current_context();

// A small number for the calling thread.
int this_thread();
// Whether the calling thread runs a host function, which must not call the driver.
bool& inside_host_function();

// The frame of every exported function: counts, fails where told so, and turns what its body
// refuses into a code.
template <class Body>
int call(function& called, Body body) {
  driver& d = driver::get();
  if (is_over()) {
    return static_cast<int>(status::deinitialized);
  }
  if (inside_host_function()) {
    return static_cast<int>(status::not_permitted);
  }
  std::unique_lock<std::mutex> const hold(d.lock);
  if (int const code = count_call(called, d.plan); code != 0) {
    return code;
  }
  try {
    body(d);
  } catch (refused const& because) {
    return static_cast<int>(because.why);
  }
  return 0;
}

}  // namespace simulated

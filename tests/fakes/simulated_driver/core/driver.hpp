// driver: the state of a simulated driver, under one lock, and the operations that CUDA's and HIP's
// functions share.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "entry_points.hpp"
#include "memory_map.hpp"
#include "objects.hpp"
#include "race_detector.hpp"
#include "status.hpp"

namespace simulated {

using context_ptr = std::shared_ptr<context>;
using stream_ptr = std::shared_ptr<stream>;
using event_ptr = std::shared_ptr<event>;
using operation_ptr = std::shared_ptr<operation>;
using allocation_ptr = std::shared_ptr<allocation>;

// One side of a copy, and whether its caller declared it to be device memory.
struct copy_operand {
  std::uintptr_t start = 0;
  std::size_t pitch = 0;
  bool is_declared_device = false;
};

class driver {
 public:
  static driver& get();  // never destroyed: destructors of other libraries may call the driver

  // contexts.cpp
  void* new_handle();
  int device_count() const { return device_count_; }
  void require_device(int device) const;
  context_ptr primary(int device);  // may not be alive
  void retain(context& primary);
  void release(context& primary);
  context_ptr make_context(int device);
  // May be destroyed; fails for an unknown handle. find_context reports the use of a destroyed one.
  context_ptr look_up_context(void* handle);
  context_ptr find_context(void* handle);
  void destroy(context& target);
  void enable_peer(context& from, context const& to);
  bool can_access_peer(int from, int to) const;
  void synchronize(context& target);

  // streams.cpp
  stream_ptr make_stream(context_ptr const& owner, bool is_blocking);
  stream_ptr default_stream(context_ptr const& owner, bool per_thread);
  stream_ptr find_stream(void* handle);
  void destroy(stream_ptr const& target);
  void synchronize(stream_ptr const& one);
  bool query(stream_ptr const& one);
  event_ptr make_event(context_ptr const& owner);
  event_ptr find_event(void* handle);
  void destroy(event_ptr const& target);
  void record(event_ptr const& marker, stream_ptr const& queue);
  void wait(stream_ptr const& consumer, event_ptr const& marker);
  void synchronize(event_ptr const& marker);
  bool query(event_ptr const& marker);
  void wait_for(stream_ptr const& consumer, operation_ptr const& earlier);
  void report_if_destroyed(void* handle);  // as a misuse

  // schedule.cpp
  operation_ptr enqueue(stream_ptr const& queue, std::string name, std::vector<access> accesses,
                        std::function<void()> action, bool is_host_callback = false);
  void complete(operation_ptr const& target);  // and the operations that it is ordered after
  void run_pending(std::vector<stream_ptr> const& streams);
  void run_pending();
  std::vector<stream_ptr> all_streams() const;
  std::size_t pending() const;
  void order_host_after(vector_clock const& clock);

  // allocations.cpp
  allocation_ptr allocate(context const& owner, memory_kind kind, std::size_t bytes);
  allocation_ptr allocate_in_order(stream_ptr const& queue, char const* name, std::size_t bytes);
  allocation_ptr register_host(context const& owner, void* start, std::size_t bytes);
  void free(void* start, std::vector<memory_kind> const& kinds, char const* name);
  void free_in_order(stream_ptr const& queue, char const* name, void* start);
  allocation_ptr lookup(void const* address) const;  // fails for an unknown address

  // copies.cpp
  void copy(stream_ptr const& queue, char const* name, copy_operand to, copy_operand from,
            std::size_t width, std::size_t rows = 1);
  void fill(stream_ptr const& queue, char const* name, void* to, unsigned char value,
            std::size_t bytes);
  // A prefetch or an advice: fails for memory that is not managed. Has no other effect.
  void require_managed(void const* start, std::size_t bytes) const;
  void launch_host_function(stream_ptr const& queue, char const* name, void (*callback)(void*),
                            void* argument);

  // capture.cpp
  void begin_capture(stream_ptr const& queue, int mode);
  void* end_capture(stream_ptr const& queue);
  std::size_t node_count(void* graph) const;
  void add_to_capture(stream& queue, graph_node node);
  [[noreturn]] void fail_in_capture(stream& one, status code);  // and invalidates the capture
  void fail_if_capturing(stream& one);                          // and invalidates the capture
  // Fails if the stream is the legacy default stream and a blocking stream of its context is being
  // captured. Invalidates the capture unless the call is a query.
  void fail_if_implicit_dependency(stream const& one, bool is_query = false);
  int query_capture(stream const& one);  // 0: none, 1: active, 2: invalidated
  // Stores the same in *status and, for an active capture, its properties in the other
  // variables, for pointers that are not null.
  void query_capture(stream const& one, int* status, unsigned long long* id, void** graph,
                     void const** dependencies, std::size_t* count);
  // The capture mode of the calling thread: global, thread-local or relaxed.
  static int& thread_capture_mode();
  // Fails if a capture forbids calls such as allocations to this thread, and invalidates it.
  void fail_if_unsafe_in_capture(
      context const* owner);  // what a global capture forbids to everybody
  bool record_in_capture(event& marker, stream& queue);
  bool wait_in_capture(stream_ptr const& consumer, event& marker);

  // graphs.cpp
  void destroy_graph(void* graph);
  void* instantiate(void* graph);
  void destroy_executable(void* handle);
  void launch(void* handle, stream_ptr const& queue);

  // control.cpp
  void reset();

  std::mutex lock;
  std::condition_variable progress;
  failure_plan failures;
  memory_map memory;
  race_detector races;
  std::size_t memory_limit = 0;  // bytes on each device; 0: none
  std::map<std::pair<int, int>, bool> peer_rules;
  long host_synchronizations = 0;
  long device_synchronizations = 0;
  bool is_initialized = false;
  std::map<void*, context_ptr> contexts;
  std::map<void*, stream_ptr> streams;
  std::map<void*, event_ptr> events;
  std::map<void*, graph> graphs;
  std::map<void*, executable_graph> executable_graphs;
  std::map<void*, context_ptr> green_contexts;     // by handle: what they are converted to
  std::map<void*, std::string> destroyed_handles;  // and what they referred to
  std::vector<std::string> misuses;                // reports
  std::string called_now;                          // the name of the function that runs
  std::map<int, context_ptr> primaries;

 private:
  driver();
  void release_finished_streams(context& owner);
  operation_ptr prepare(stream_ptr const& queue, std::string name);
  void submit(operation_ptr const& operation_to_submit, std::vector<access> const& accesses);
  std::vector<stream_ptr> implicit_predecessors(stream const& queue) const;
  void run_front(stream& owner);
  void check_operand(copy_operand const& one, std::size_t width, std::size_t rows,
                     char const* name);
  bool is_pageable(copy_operand const& one) const;

  int device_count_ = 0;
  std::uintptr_t next_handle_;
  std::uint64_t last_context_id_ = 0;
  std::uint64_t next_operation_ = 1;
  std::uint64_t next_capture_ = 1;
  std::size_t next_timeline_ = 0;
  std::vector<std::pair<std::size_t, std::uint64_t>> free_timelines_;  // each with its last tick
  std::map<void*, status> destroyed_streams_;  // with the error code of their handles
  // One clock for all host threads: the driver does not see the order between them.
  vector_clock host_clock_;
};

// Functions that the API (cuda/ or hip/) defines: the stream of a handle, the current context of
// the calling thread, and the removal of the latter.
stream_ptr stream_of_handle(driver& d, void* handle);
context_ptr current_context(driver& d);
void clear_current_context();

// A number that identifies the calling thread.
int thread_number();
// Whether a process that had initialised the driver was forked into this one. Nothing of the driver
// works in the child.
bool is_in_forked_child();
// Whether the calling thread runs a host callback, which must not call the driver.
bool& is_in_host_callback();

// Runs the body of an exported function: counts the call, fails on demand, and returns the code of
// a driver_error.
template <class Body>
int call(entry_point& called, Body body) {
  driver& d = driver::get();
  if (is_deinitialized()) {
    return static_cast<int>(status::deinitialized);
  }
  if (is_in_host_callback()) {
    return static_cast<int>(status::not_permitted);
  }
  if (is_in_forked_child()) {
    return static_cast<int>(status::not_initialized);
  }
  std::unique_lock<std::mutex> const hold(d.lock);
  if (int const code = count_call(called, d.failures); code != 0) {
    return code;
  }
  d.called_now = called.name;
  try {
    body(d);
  } catch (driver_error const& error) {
    return static_cast<int>(error.code);
  }
  return 0;
}

}  // namespace simulated

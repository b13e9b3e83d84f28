// SPDX-License-Identifier: BSD-3-Clause
// The control interface: kernels, peek and poke, running pending operations, configuration.
#include <cstring>

#include "../simulated.h"
#include "driver.hpp"

#define SIMULATED_CONTROL extern "C" __attribute__((visibility("default")))

namespace simulated {
namespace {

std::uintptr_t number(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Runs a control function, which is not counted and does not fail on demand.
template <class Body>
int controlled(Body body) {
  driver& d = driver::get();
  std::unique_lock<std::mutex> const hold(d.lock);
  try {
    body(d);
  } catch (driver_error const& error) {
    return static_cast<int>(error.code);
  }
  return 0;
}

stream_ptr stream_for_kernel(driver& d, void* handle) {
  stream_ptr stream_pointer = stream_of_handle(d, handle);
  require(&stream_pointer->owner->root() == &current_context(d)->root(), status::invalid_handle);
  return stream_pointer;
}

void check_kernel_access(driver& d, context const& from, void const* start, std::size_t bytes) {
  allocation_ptr const around = d.memory.find(number(start));
  require(around != nullptr && around->contains(number(start), bytes), status::illegal_address);
  bool const is_far = around->kind == memory_kind::device && around->device != from.device;
  require(!is_far || from.peers.count(around->device) != 0, status::illegal_address);
  if (around->freed_in_order) {
    d.races.report("a kernel uses memory that an earlier operation frees");
  }
}

bool is_known(driver& d, void const* start, std::size_t bytes) {
  allocation_ptr const around = d.memory.find(number(start));
  return around != nullptr && around->contains(number(start), bytes);
}

}  // namespace

void driver::reset() {
  run_pending();
  for (auto const& [handle, one] : std::map<void*, context_ptr>(contexts)) {
    if (one->is_alive) {
      destroy(*one);
    }
    one->streams.clear();  // breaks the reference cycle of context and streams
    one->legacy = nullptr;
  }
  for (auto const& [start, one] : std::map<std::uintptr_t, allocation_ptr>(memory.all())) {
    memory.free(*one);
  }
  primaries.clear();
  contexts.clear();
  graphs.clear();
  executable_graphs.clear();
  green_contexts.clear();
  destroyed_handles.clear();
  misuses.clear();
  failures = {};
  races = {};
  memory_limit = 0;
  peer_rules.clear();
  host_synchronizations = 0;
  device_synchronizations = 0;
  is_initialized = false;
  for (entry_point* one = entry_point::first(); one != nullptr; one = one->next) {
    one->calls = 0;
    one->forced_code = 0;
  }
  clear_current_context();
}

}  // namespace simulated

using namespace simulated;

SIMULATED_CONTROL int simulated_write(void* stream, void* to, unsigned char value, size_t bytes) {
  return controlled([&](driver& d) {
    stream_ptr const queue = stream_for_kernel(d, stream);
    check_kernel_access(d, *queue->owner, to, bytes);
    char* const target = d.memory.driver_address(number(to));
    d.enqueue(queue, "simulated_write", {writing(number(to), bytes)},
              [=] { std::memset(target, value, bytes); });
  });
}

SIMULATED_CONTROL int simulated_copy(void* stream, void* to, void const* from, size_t bytes) {
  return controlled([&](driver& d) {
    stream_ptr const queue = stream_for_kernel(d, stream);
    check_kernel_access(d, *queue->owner, to, bytes);
    check_kernel_access(d, *queue->owner, from, bytes);
    char* const target = d.memory.driver_address(number(to));
    char const* const source = d.memory.driver_address(number(from));
    d.enqueue(queue, "simulated_copy", {reading(number(from), bytes), writing(number(to), bytes)},
              [=] { std::memmove(target, source, bytes); });
  });
}

SIMULATED_CONTROL int simulated_read(void* stream, void const* from, size_t bytes) {
  return controlled([&](driver& d) {
    stream_ptr const queue = stream_for_kernel(d, stream);
    check_kernel_access(d, *queue->owner, from, bytes);
    d.enqueue(queue, "simulated_read", {reading(number(from), bytes)}, [] {});
  });
}

SIMULATED_CONTROL int simulated_peek(void const* from, void* out, size_t bytes) {
  return controlled([&](driver& d) {
    require(is_known(d, from, bytes));
    std::memcpy(out, d.memory.driver_address(number(from)), bytes);
  });
}

SIMULATED_CONTROL int simulated_poke(void* to, void const* from, size_t bytes) {
  return controlled([&](driver& d) {
    require(is_known(d, to, bytes));
    std::memcpy(d.memory.driver_address(number(to)), from, bytes);
  });
}

SIMULATED_CONTROL size_t simulated_pending_count(void) {
  size_t count = 0;
  controlled([&](driver& d) { count = d.pending(); });
  return count;
}

SIMULATED_CONTROL void simulated_run_pending(void) {
  controlled([](driver& d) { d.run_pending(); });
}

SIMULATED_CONTROL int simulated_run_stream(void* stream) {
  return controlled([&](driver& d) { d.run_pending({stream_of_handle(d, stream)}); });
}

SIMULATED_CONTROL void simulated_set_memory_limit(size_t bytes) {
  controlled([&](driver& d) { d.memory_limit = bytes; });
}

SIMULATED_CONTROL void simulated_set_peer_access(int from, int to, int is_possible) {
  controlled([&](driver& d) { d.peer_rules[{from, to}] = is_possible != 0; });
}

SIMULATED_CONTROL long simulated_graph_node_count(void* graph) {
  long count = -1;
  controlled([&](driver& d) { count = static_cast<long>(d.node_count(graph)); });
  return count;
}

SIMULATED_CONTROL void simulated_reset(void) {
  controlled([](driver& d) { d.reset(); });
}

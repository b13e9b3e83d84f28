// The control interface: kernels, looking, draining, circumstances.
#include <cstring>

#include "../simulated.h"
#include "driver.hpp"

#define SIMULATED_CONTROL extern "C" __attribute__((visibility("default")))

namespace simulated {
namespace {

std::uintptr_t number(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

// For calls that are not the driver's: neither counted nor made to fail.
template <class Body>
int controlled(Body body) {
  driver& d = driver::get();
  std::unique_lock<std::mutex> const hold(d.lock);
  try {
    body(d);
  } catch (refused const& because) {
    return static_cast<int>(because.why);
  }
  return 0;
}

stream_ptr stream_for_kernel(driver& d, void* handle) {
  stream_ptr found = stream_of_handle(d, handle);
  expect(found->of == current_context(d), status::invalid_handle);
  return found;
}

void check_reach(driver& d, context const& from, void const* start, std::size_t bytes) {
  allocation_ptr const around = d.storage.find(number(start));
  expect(around != nullptr && around->contains(number(start), bytes), status::illegal_address);
  bool const is_far = around->kind == memory_kind::device && around->device != from.device;
  expect(!is_far || from.peers.count(around->device) != 0, status::illegal_address);
  if (around->freed_in_order) {
    d.raced.report("a kernel uses memory whose free was enqueued before");
  }
}

bool is_known(driver& d, void const* start, std::size_t bytes) {
  allocation_ptr const around = d.storage.find(number(start));
  return around != nullptr && around->contains(number(start), bytes);
}

}  // namespace

void driver::reset() {
  drain();
  for (auto const& [handle, one] : std::map<void*, context_ptr>(contexts)) {
    if (one->is_alive) {
      destroy(*one);
    }
    one->streams.clear();  // they hold the context, and it them
    one->legacy = nullptr;
  }
  for (auto const& [start, one] : std::map<std::uintptr_t, allocation_ptr>(storage.all())) {
    storage.free(*one);
  }
  primaries.clear();
  contexts.clear();
  graphs.clear();
  plan = {};
  raced = {};
  memory_limit = 0;
  peer_rules.clear();
  host_synchronizations = 0;
  device_synchronizations = 0;
  is_initialized = false;
  for (function* one = function::first(); one != nullptr; one = one->next) {
    one->calls = 0;
    one->forced = 0;
  }
  forget_current_context();
}

}  // namespace simulated

using namespace simulated;

SIMULATED_CONTROL int simulated_write(void* stream, void* to, unsigned char value, size_t bytes) {
  return controlled([&](driver& d) {
    stream_ptr const on = stream_for_kernel(d, stream);
    check_reach(d, *on->of, to, bytes);
    char* const target = d.storage.reach(number(to));
    d.enqueue(on, "simulated_write", {writing(number(to), bytes)},
              [=] { std::memset(target, value, bytes); });
  });
}

SIMULATED_CONTROL int simulated_copy(void* stream, void* to, void const* from, size_t bytes) {
  return controlled([&](driver& d) {
    stream_ptr const on = stream_for_kernel(d, stream);
    check_reach(d, *on->of, to, bytes);
    check_reach(d, *on->of, from, bytes);
    char* const target = d.storage.reach(number(to));
    char const* const source = d.storage.reach(number(from));
    d.enqueue(on, "simulated_copy", {reading(number(from), bytes), writing(number(to), bytes)},
              [=] { std::memmove(target, source, bytes); });
  });
}

SIMULATED_CONTROL int simulated_read(void* stream, void const* from, size_t bytes) {
  return controlled([&](driver& d) {
    stream_ptr const on = stream_for_kernel(d, stream);
    check_reach(d, *on->of, from, bytes);
    d.enqueue(on, "simulated_read", {reading(number(from), bytes)}, [] {});
  });
}

SIMULATED_CONTROL int simulated_peek(void const* from, void* out, size_t bytes) {
  return controlled([&](driver& d) {
    expect(is_known(d, from, bytes));
    std::memcpy(out, d.storage.reach(number(from)), bytes);
  });
}

SIMULATED_CONTROL int simulated_poke(void* to, void const* from, size_t bytes) {
  return controlled([&](driver& d) {
    expect(is_known(d, to, bytes));
    std::memcpy(d.storage.reach(number(to)), from, bytes);
  });
}

SIMULATED_CONTROL size_t simulated_pending(void) {
  size_t count = 0;
  controlled([&](driver& d) { count = d.pending(); });
  return count;
}

SIMULATED_CONTROL void simulated_drain(void) {
  controlled([](driver& d) { d.drain(); });
}

SIMULATED_CONTROL int simulated_drain_stream(void* stream) {
  return controlled([&](driver& d) { d.drain({stream_of_handle(d, stream)}); });
}

SIMULATED_CONTROL void simulated_set_memory_limit(size_t bytes) {
  controlled([&](driver& d) { d.memory_limit = bytes; });
}

SIMULATED_CONTROL void simulated_set_peer_access(int from, int to, int is_possible) {
  controlled([&](driver& d) { d.peer_rules[{from, to}] = is_possible != 0; });
}

SIMULATED_CONTROL long simulated_graph_works(void* graph) {
  long count = -1;
  controlled([&](driver& d) { count = static_cast<long>(d.works_in(graph)); });
  return count;
}

SIMULATED_CONTROL void simulated_reset(void) {
  controlled([](driver& d) { d.reset(); });
}

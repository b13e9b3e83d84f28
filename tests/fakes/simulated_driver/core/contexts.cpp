// Devices and contexts: counting retains, peers, and the end of all that a context owns.
#include <cstdlib>

#include "driver.hpp"

namespace simulated {
namespace {

int devices_asked_for() {
  char const* const asked = std::getenv("SIMULATED_DEVICES");
  return asked == nullptr ? 2 : std::atoi(asked);
}

#ifdef SIMULATED_HIP
constexpr std::uintptr_t first_handle = 0x6a0000000000;
#else
constexpr std::uintptr_t first_handle = 0x6c0000000000;
#endif

}  // namespace

driver::driver() : next_handle_(first_handle) { device_count_ = devices_asked_for(); }

driver& driver::get() {
  static driver* const only = new driver;
  return *only;
}

// Handles are addresses of nothing, and none comes twice: who reads through one, or keeps one for
// too long, is found out.
void* driver::new_handle() {
  next_handle_ += 64;
  return reinterpret_cast<void*>(next_handle_);
}

void driver::require_device(int device) const {
  expect(device >= 0 && device < device_count_, status::invalid_device);
}

context_ptr driver::make_context(int device) {
  require_device(device);
  auto made = std::make_shared<context>();
  made->handle = new_handle();
  made->device = device;
  contexts[made->handle] = made;
  made->legacy = make_stream(made, true);
  streams.erase(made->legacy->handle);
  made->legacy->handle = reinterpret_cast<void*>(1);
  return made;
}

context_ptr driver::primary(int device) {
  require_device(device);
  context_ptr& found = primaries[device];
  if (found == nullptr) {
    found = make_context(device);
    found->is_primary = true;
    found->is_alive = false;
  }
  return found;
}

void driver::retain(context& primary) {
  ++primary.retains;
  primary.is_alive = true;
}

void driver::release(context& primary) {
  expect(primary.retains > 0, status::invalid_context);
  if (--primary.retains == 0) {
    destroy(primary);
  }
}

context_ptr driver::find_context(void* handle) const {
  auto const found = contexts.find(handle);
  expect(found != contexts.end(), status::invalid_context);
  return found->second;
}

void driver::destroy(context& gone) {
  expect(gone.is_alive, status::context_is_destroyed);
  synchronize(gone);
  for (stream_ptr const& one : gone.streams) {
    if (one == gone.legacy) {
      continue;  // a primary context may come back
    }
    if (streams.erase(one->handle) != 0) {
      dead_streams_[one->handle] = status::context_is_destroyed;
    }
    one->is_destroyed = true;
  }
  forget_finished(gone);
  for (auto next = events.begin(); next != events.end();) {
    next = next->second->of.get() == &gone ? events.erase(next) : std::next(next);
  }
  std::vector<allocation_ptr> owned;
  for (auto const& [start, one] : storage.all()) {
    if (one->context == gone.handle) {
      owned.push_back(one);
    }
  }
  for (allocation_ptr const& one : owned) {
    storage.free(*one);
  }
  if (!gone.is_primary) {
    gone.streams.clear();
    gone.legacy = nullptr;
  }
  gone.per_thread.clear();
  gone.peers.clear();
  gone.is_alive = false;
}

bool driver::may_peer(int from, int to) const {
  auto const rule = peer_rules.find({from, to});
  return from != to && (rule == peer_rules.end() || rule->second);
}

void driver::enable_peer(context& from, context const& to) {
  expect(may_peer(from.device, to.device), status::peer_access_unsupported);
  expect(from.peers.insert(to.device).second, status::peer_access_already_enabled);
}

void driver::synchronize(context& whole) {
  ++host_synchronizations;
  ++device_synchronizations;
  std::vector<stream_ptr> const all = whole.streams;
  drain(all);
  for (stream_ptr const& one : all) {
    learn(one->known);
  }
  forget_finished(whole);
}

// Drops destroyed streams of whose end the host knows; others may have their timelines.
void driver::forget_finished(context& of) {
  for (auto next = of.streams.begin(); next != of.streams.end();) {
    stream& one = **next;
    if (one.is_destroyed && one.pending.empty() && host_.covers(one.timeline, one.ticks)) {
      free_timelines_.emplace_back(one.timeline, one.ticks);
      next = of.streams.erase(next);
    } else {
      ++next;
    }
  }
}

}  // namespace simulated

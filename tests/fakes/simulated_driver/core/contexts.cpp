// SPDX-License-Identifier: BSD-3-Clause
// Devices and contexts: retained primary contexts, peer access, and the destruction of what a
// context owns.
#include <cstdlib>

#include "driver.hpp"

namespace simulated {
namespace {

int devices_asked_for() {
  char const* const address = std::getenv("SIMULATED_DEVICES");
  return address == nullptr ? 2 : std::atoi(address);
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

// Handles are invalid addresses, and are never reused. Code that dereferences a handle, or uses one
// after its destruction, therefore fails.
void* driver::new_handle() {
  next_handle_ += 64;
  return reinterpret_cast<void*>(next_handle_);
}

void driver::require_device(int device) const {
  require(device >= 0 && device < device_count_, status::invalid_device);
}

context_ptr driver::make_context(int device) {
  require_device(device);
  auto result = std::make_shared<context>();
  result->handle = new_handle();
  result->id = ++last_context_id_;
  result->device = device;
  contexts[result->handle] = result;
  result->legacy = make_stream(result, true);
  streams.erase(result->legacy->handle);
  result->legacy->handle = reinterpret_cast<void*>(1);
  return result;
}

context_ptr driver::primary(int device) {
  require_device(device);
  context_ptr& entry = primaries[device];
  if (entry == nullptr) {
    entry = make_context(device);
    entry->is_primary = true;
    entry->is_alive = false;
  }
  return entry;
}

void driver::retain(context& primary) {
  ++primary.retains;
  if (!primary.is_alive) {
    primary.is_alive = true;
    primary.id = ++last_context_id_;
  }
}

void driver::release(context& primary) {
  require(primary.retains > 0, status::invalid_context);
  if (--primary.retains == 0) {
    destroy(primary);
  }
}

context_ptr driver::look_up_context(void* handle) {
  auto const entry = contexts.find(handle);
  require(entry != contexts.end(), status::invalid_context);
  return entry->second;
}

context_ptr driver::find_context(void* handle) {
  context_ptr const found = look_up_context(handle);
  if (!found->is_alive && !found->is_primary) {
    report_if_destroyed(handle);
  }
  return found;
}

void driver::destroy(context& target) {
  require(target.is_alive, status::context_is_destroyed);
  synchronize(target);
  for (stream_ptr const& one : target.streams) {
    if (one == target.legacy) {
      continue;  // the primary context may be retained again
    }
    if (streams.erase(one->handle) != 0) {
      destroyed_handles[one->handle] = "stream";
      destroyed_streams_[one->handle] = status::context_is_destroyed;
    }
    one->is_destroyed = true;
  }
  release_finished_streams(target);
  for (auto next = events.begin(); next != events.end();) {
    bool const is_owned = next->second->owner.get() == &target;
    if (is_owned) {
      destroyed_handles[next->first] = "event";
    }
    next = is_owned ? events.erase(next) : std::next(next);
  }
  destroyed_handles[target.handle] = "context";
  std::vector<allocation_ptr> owned;
  for (auto const& [start, one] : memory.all()) {
    if (one->context == target.handle) {
      owned.push_back(one);
    }
  }
  for (allocation_ptr const& one : owned) {
    memory.free(*one);
  }
  if (!target.is_primary) {
    target.streams.clear();
    target.legacy = nullptr;
  }
  target.per_thread.clear();
  target.peers.clear();
  target.is_alive = false;
}

bool driver::can_access_peer(int from, int to) const {
  auto const rule = peer_rules.find({from, to});
  return from != to && (rule == peer_rules.end() || rule->second);
}

void driver::enable_peer(context& from, context const& to) {
  require(can_access_peer(from.device, to.device), status::peer_access_unsupported);
  require(from.peers.insert(to.device).second, status::peer_access_already_enabled);
}

void driver::synchronize(context& target) {
  ++host_synchronizations;
  ++device_synchronizations;
  std::vector<stream_ptr> const all = target.streams;
  run_pending(all);
  for (stream_ptr const& one : all) {
    order_host_after(one->clock);
  }
  release_finished_streams(target);
}

// Releases destroyed streams whose operations the host is ordered after. New streams reuse their
// timelines.
void driver::release_finished_streams(context& owner) {
  for (auto next = owner.streams.begin(); next != owner.streams.end();) {
    stream& one = **next;
    if (one.is_destroyed && one.pending.empty() && host_clock_.covers(one.timeline, one.ticks)) {
      free_timelines_.emplace_back(one.timeline, one.ticks);
      next = owner.streams.erase(next);
    } else {
      ++next;
    }
  }
}

}  // namespace simulated

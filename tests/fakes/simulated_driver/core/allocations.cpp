// SPDX-License-Identifier: BSD-3-Clause
// Memory: allocation, registration and freeing, immediately or in stream order.
#include <algorithm>

#include "driver.hpp"

namespace simulated {
namespace {

std::uintptr_t number(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

access all_bytes_of(allocation const& one) { return writing(one.start, one.bytes); }

}  // namespace

allocation_ptr driver::allocate(context const& owner, memory_kind kind, std::size_t bytes) {
  if (memory_limit != 0 && kind == memory_kind::device) {
    std::size_t const used = memory.bytes_of(kind, owner.device);
    require(used <= memory_limit && bytes <= memory_limit - used, status::out_of_memory);
  }
  allocation_ptr result = memory.allocate(kind, owner.device, bytes);
  require(result != nullptr, status::out_of_memory);
  result->context = owner.handle;
  return result;
}

// The memory belongs to no context. Any operation that is ordered after the allocation may use it.
// During a capture it belongs to the graph.
allocation_ptr driver::allocate_in_order(stream_ptr const& queue, char const* name,
                                         std::size_t bytes) {
  allocation_ptr result = allocate(*queue->owner, memory_kind::device, bytes);
  result->context = nullptr;
  result->is_stream_ordered = true;
  result->graph = queue->capture != nullptr ? queue->capture->graph : nullptr;
  enqueue(queue, name, {all_bytes_of(*result)}, [] {});
  return result;
}

allocation_ptr driver::register_host(context const& owner, void* start, std::size_t bytes) {
  require(start != nullptr && bytes != 0);
  require(!memory.is_in_mapping(number(start)));
  allocation_ptr result = memory.register_host(number(start), bytes, owner.device);
  require(result != nullptr, status::host_memory_already_registered);
  result->context = owner.handle;
  return result;
}

// The documentation of the real drivers promises no wait: "may perform implicit synchronization",
// and for stream-ordered memory "will not perform any". So an unfinished operation on the memory is
// a race, and the call orders nothing. It runs all operations, so that none of them uses the memory
// later.
void driver::free(void* start, std::vector<memory_kind> const& kinds, char const* name) {
  allocation_ptr const target = memory.find(number(start));
  bool const is_freeable = target != nullptr && target->start == number(start) &&
                           !target->freed_in_order &&
                           std::count(kinds.begin(), kinds.end(), target->kind) != 0;
  if (!is_freeable) {
    fail(kinds.front() == memory_kind::registered ? status::host_memory_not_registered
                                                  : status::invalid_value);
  }
  context_ptr const owner =
      target->context != nullptr ? find_context(target->context) : primary(target->device);
  fail_if_unsafe_in_capture(nullptr);
  races.check_host_access(name, all_bytes_of(*target), host_clock_);
  run_pending();
  if (!target->is_stream_ordered) {
    ++host_synchronizations;
    ++device_synchronizations;
  }
  release_finished_streams(*owner);
  races.discard_accesses(all_bytes_of(*target));
  memory.free(*target);
}

void driver::free_in_order(stream_ptr const& queue, char const* name, void* start) {
  allocation_ptr const target = memory.find(number(start));
  require(target != nullptr && target->start == number(start) && !target->freed_in_order &&
          target->kind == memory_kind::device);
  // In a capture the call becomes a free node, which takes only memory of its own graph.
  if (queue->capture != nullptr && target->graph != queue->capture->graph) {
    fail_in_capture(*queue, status::invalid_value);
  }
  operation_ptr const result = enqueue(queue, name, {all_bytes_of(*target)}, [this, target] {
    if (target->live) {
      races.discard_accesses(all_bytes_of(*target));
      memory.free(*target);
    }
  });
  target->freed_in_order = result != nullptr;
}

allocation_ptr driver::lookup(void const* address) const {
  allocation_ptr entry = memory.find(number(address));
  require(entry != nullptr);
  return entry;
}

}  // namespace simulated

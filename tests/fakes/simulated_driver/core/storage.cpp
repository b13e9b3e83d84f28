// Allocating, registering and freeing, at once or in the order of a stream.
#include <algorithm>

#include "driver.hpp"

namespace simulated {
namespace {

std::uintptr_t number(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

access all_of(allocation const& one) { return writing(one.start, one.bytes); }

}  // namespace

allocation_ptr driver::allocate(context const& by, memory_kind kind, std::size_t bytes) {
  if (memory_limit != 0 && kind == memory_kind::device) {
    std::size_t const used = storage.bytes_of(kind, by.device);
    expect(used <= memory_limit && bytes <= memory_limit - used, status::out_of_memory);
  }
  allocation_ptr made = storage.allocate(kind, by.device, bytes);
  expect(made != nullptr, status::out_of_memory);
  made->context = by.handle;
  return made;
}

// The memory is anybody's whose work comes after the allocation.
allocation_ptr driver::allocate_in_order(stream_ptr const& on, char const* name,
                                         std::size_t bytes) {
  allocation_ptr made = allocate(*on->of, memory_kind::device, bytes);
  made->context = nullptr;
  enqueue(on, name, {all_of(*made)}, [] {});
  return made;
}

allocation_ptr driver::adopt(context const& by, void* start, std::size_t bytes) {
  expect(start != nullptr && bytes != 0);
  expect(!storage.is_ours(number(start)));
  allocation_ptr made = storage.adopt(number(start), bytes, by.device);
  expect(made != nullptr, status::host_memory_already_registered);
  made->context = by.handle;
  return made;
}

// Waits for the whole device, as the real ones do. For memory of the host they do not promise it,
// so who relies on that is reported.
void driver::free(void* start, std::vector<memory_kind> const& kinds, char const* name) {
  allocation_ptr const gone = storage.find(number(start));
  bool const is_free = gone != nullptr && gone->start == number(start) && !gone->freed_in_order &&
                       std::count(kinds.begin(), kinds.end(), gone->kind) != 0;
  if (!is_free) {
    refuse(kinds.front() == memory_kind::registered ? status::host_memory_not_registered
                                                    : status::invalid_value);
  }
  context_ptr const owner =
      gone->context != nullptr ? find_context(gone->context) : primary(gone->device);
  refuse_unsafe(nullptr);
  bool const is_of_host = kinds.front() != memory_kind::device;
  if (is_of_host) {
    raced.touch_by_host(name, all_of(*gone), host_);
    drain();
  }
  synchronize(*owner);
  raced.touch_by_host(name, all_of(*gone), host_);
  raced.forget_memory(all_of(*gone));
  storage.free(*gone);
}

void driver::free_in_order(stream_ptr const& on, char const* name, void* start) {
  allocation_ptr const gone = storage.find(number(start));
  expect(gone != nullptr && gone->start == number(start) && !gone->freed_in_order &&
         gone->kind == memory_kind::device);
  work_ptr const made = enqueue(on, name, {all_of(*gone)}, [this, gone] {
    if (gone->live) {
      raced.forget_memory(all_of(*gone));
      storage.free(*gone);
    }
  });
  gone->freed_in_order = made != nullptr;
}

allocation_ptr driver::lookup(void const* address) const {
  allocation_ptr found = storage.find(number(address));
  expect(found != nullptr);
  return found;
}

}  // namespace simulated

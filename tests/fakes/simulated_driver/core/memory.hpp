// Memory of devices, which the host cannot touch, and memory of the host that a driver knows.
// floor 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace simulated {

enum class memory_kind { device, managed, pinned, registered };

struct allocation {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  memory_kind kind = memory_kind::device;
  int device = 0;
  void* context = nullptr;      // handle; null for what came from a pool
  std::uint64_t id = 0;         // unique in the process
  bool freed_in_order = false;  // by a work on a stream, which may not have run yet
  bool live = true;

  std::uintptr_t end() const { return start + bytes; }
  bool contains(std::uintptr_t address, std::size_t size) const {
    return address >= start && size <= bytes && address - start <= bytes - size;
  }
};

// A range of addresses on one memory file: the user's side, and that of the driver.
struct window {
  char* user = nullptr;
  char* own = nullptr;
  int file = -1;
  std::size_t next = 0;  // where to look for room; what was freed before it rests until the end
};

class memory {
 public:
  // Bytes of which nobody knows the content. Null when the window is full.
  std::shared_ptr<allocation> allocate(memory_kind kind, int device, std::size_t bytes);
  // Memory that the host allocated itself; null when a part of it is known already.
  std::shared_ptr<allocation> adopt(std::uintptr_t start, std::size_t bytes, int device);
  // What was in it is gone afterwards.
  void free(allocation& gone);

  // The live allocation around an address, or null.
  std::shared_ptr<allocation> find(std::uintptr_t address) const;
  // Whether an address lies where only allocations of ours are, freed ones among them.
  bool is_ours(std::uintptr_t address) const;
  // Where the driver itself finds what the user knows by `address`.
  char* reach(std::uintptr_t address) const;

  std::size_t bytes_of(memory_kind kind, int device = -1) const;
  std::size_t count_of(memory_kind kind) const;
  std::map<std::uintptr_t, std::shared_ptr<allocation>> const& all() const { return live_; }

 private:
  window& window_of(int device);
  char* find_room(window& in, std::size_t bytes) const;
  window const* window_around(std::uintptr_t address) const;

  std::map<int, window> windows_;  // by device; -1: what the host can read too
  std::map<std::uintptr_t, std::shared_ptr<allocation>> live_;  // by start
  std::uint64_t next_id_ = 1;
};

}  // namespace simulated

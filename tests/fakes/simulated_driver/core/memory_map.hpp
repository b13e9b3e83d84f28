// memory_map: the memory of devices, which the host cannot access, and the host memory that the
// driver has allocated or registered.
// SPDX-License-Identifier: BSD-3-Clause
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
  void* context = nullptr;      // handle; null after a stream-ordered allocation
  std::uint64_t id = 0;         // unique in the process
  bool freed_in_order = false;  // by an enqueued operation, which may not have run yet
  bool is_stream_ordered = false;
  void* graph = nullptr;  // the graph that owns the memory, after an allocation during a capture
  bool live = true;

  std::uintptr_t end() const { return start + bytes; }
  bool contains(std::uintptr_t address, std::size_t size) const {
    return address >= start && size <= bytes && address - start <= bytes - size;
  }
};

// One memory file, at the addresses that the user sees and at those that the driver uses.
struct mapping {
  char* user_view = nullptr;
  char* driver_view = nullptr;
  int file = -1;
  std::size_t next =
      0;  // where the search for a free range starts, so that addresses are reused late
};

class memory_map {
 public:
  // Allocates memory with unspecified content. Returns null if no addresses are free.
  std::shared_ptr<allocation> allocate(memory_kind kind, int device, std::size_t bytes);
  // Registers memory that the user has allocated. Returns null if a part of it is already known.
  std::shared_ptr<allocation> register_host(std::uintptr_t start, std::size_t bytes, int device);
  // Frees memory, and overwrites its content.
  void free(allocation& target);

  // The allocation that contains an address, or null.
  std::shared_ptr<allocation> find(std::uintptr_t address) const;
  // Whether an address lies in a mapping: in an allocation, in freed memory or in a gap.
  bool is_in_mapping(std::uintptr_t address) const;
  // The driver's address of a byte whose address the user sees as `address`.
  char* driver_address(std::uintptr_t address) const;

  std::size_t bytes_of(memory_kind kind, int device = -1) const;
  std::size_t count_of(memory_kind kind) const;
  std::map<std::uintptr_t, std::shared_ptr<allocation>> const& all() const { return live_; }

 private:
  mapping& mapping_of(int device);
  char* find_free_range(mapping& in, std::size_t bytes) const;
  mapping const* mapping_around(std::uintptr_t address) const;

  std::map<int, mapping> mappings_;  // by device; -1: managed and pinned memory
  std::map<std::uintptr_t, std::shared_ptr<allocation>> live_;  // by start address
  std::uint64_t next_id_ = 1;
};

}  // namespace simulated

// SPDX-License-Identifier: BSD-3-Clause
// Memory files that are mapped twice: without access rights for the user of the driver, and with
// read and write access for the driver.
#include "memory_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

namespace simulated {
namespace {

constexpr std::size_t mapping_bytes = std::size_t{1} << 36;  // only written pages use memory
constexpr std::size_t alignment = 512;
constexpr std::size_t page = 4096;
constexpr int readable = -1;               // the key of the mapping of managed and pinned memory
constexpr unsigned char poison = 0xDD;     // bytes of freed memory
constexpr unsigned char unwritten = 0xCD;  // bytes of new memory, except of very large allocations
constexpr std::size_t very_large = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

mapping make_mapping(bool readable_by_host) {
  mapping result;
  result.file = memfd_create("simulated device", MFD_CLOEXEC);
  if (result.file < 0 || ftruncate(result.file, static_cast<off_t>(mapping_bytes)) != 0) {
    return {};
  }
  int const user_rights = readable_by_host ? PROT_READ | PROT_WRITE : PROT_NONE;
  int const flags = MAP_SHARED | MAP_NORESERVE;
  void* const user_view = mmap(nullptr, mapping_bytes, user_rights, flags, result.file, 0);
  void* const driver_view =
      mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE, flags, result.file, 0);
  if (user_view == MAP_FAILED || driver_view == MAP_FAILED) {
    return {};
  }
  result.user_view = static_cast<char*>(user_view);
  result.driver_view = static_cast<char*>(driver_view);
  return result;
}

}  // namespace

mapping& memory_map::mapping_of(int device) {
  mapping& entry = mappings_[device];
  if (entry.user_view == nullptr) {
    entry = make_mapping(device == readable);
  }
  return entry;
}

mapping const* memory_map::mapping_around(std::uintptr_t address) const {
  for (auto const& [device, one] : mappings_) {
    auto const first = reinterpret_cast<std::uintptr_t>(one.user_view);
    if (one.user_view != nullptr && address >= first && address - first < mapping_bytes) {
      return &one;
    }
  }
  return nullptr;
}

// Finds the next free range of addresses, and starts again at the beginning of the mapping after
// its end. Returns null if there is none. A gap follows each allocation, so that an overrun by a
// few bytes is outside of every allocation.
char* memory_map::find_free_range(mapping& in, std::size_t bytes) const {
  std::size_t const step =
      bytes >= page ? page : alignment;  // so that free() can release whole pages
  auto const base = reinterpret_cast<std::uintptr_t>(in.user_view);
  bool is_again = in.next == 0;
  for (std::size_t start = round_up(in.next, step);;) {
    if (bytes > mapping_bytes - alignment || start > mapping_bytes - alignment - bytes) {
      if (is_again) {
        return nullptr;
      }
      is_again = true;
      start = 0;
      continue;
    }
    auto const after = live_.upper_bound(base + start + bytes + alignment);
    bool const is_occupied = after != live_.begin() && std::prev(after)->first >= base &&
                             std::prev(after)->second->end() + alignment > base + start;
    if (!is_occupied) {
      in.next = start + bytes + alignment;
      return in.user_view + start;
    }
    start = round_up(std::prev(after)->second->end() - base + alignment, step);
  }
}

std::shared_ptr<allocation> memory_map::allocate(memory_kind kind, int device, std::size_t bytes) {
  mapping& from = mapping_of(kind == memory_kind::device ? device : readable);
  char* const start = from.user_view == nullptr ? nullptr : find_free_range(from, bytes);
  if (start == nullptr) {
    return nullptr;
  }
  auto result = std::make_shared<allocation>();
  result->start = reinterpret_cast<std::uintptr_t>(start);
  result->bytes = bytes;
  result->kind = kind;
  result->device = device;
  result->id = next_id_++;
  live_[result->start] = result;
  if (bytes <= very_large) {
    std::memset(driver_address(result->start), unwritten, bytes);
  }
  return result;
}

std::shared_ptr<allocation> memory_map::register_host(std::uintptr_t start, std::size_t bytes,
                                                      int device) {
  auto const after = live_.lower_bound(start);
  bool const hits_next = after != live_.end() && after->first - start < bytes;
  if (hits_next || find(start) != nullptr) {
    return nullptr;
  }
  auto result = std::make_shared<allocation>();
  result->start = start;
  result->bytes = bytes;
  result->kind = memory_kind::registered;
  result->device = device;
  result->id = next_id_++;
  live_[start] = result;
  return result;
}

void memory_map::free(allocation& target) {
  target.live = false;
  if (target.kind != memory_kind::registered) {
    mapping const& from = *mapping_around(target.start);
    std::size_t const whole_pages = target.bytes / page * page;
    auto const offset = target.start - reinterpret_cast<std::uintptr_t>(from.user_view);
    if (whole_pages != 0) {
      fallocate(from.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(whole_pages));
    }
    std::memset(from.driver_view + offset + whole_pages, poison, target.bytes - whole_pages);
  }
  live_.erase(target.start);
}

std::shared_ptr<allocation> memory_map::find(std::uintptr_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) {
    return nullptr;
  }
  auto const& before = std::prev(after)->second;
  return before->contains(address, 1) ? before : nullptr;
}

bool memory_map::is_in_mapping(std::uintptr_t address) const {
  return mapping_around(address) != nullptr;
}

char* memory_map::driver_address(std::uintptr_t address) const {
  mapping const* const around = mapping_around(address);
  if (around == nullptr) {
    return reinterpret_cast<char*>(address);
  }
  return around->driver_view + (address - reinterpret_cast<std::uintptr_t>(around->user_view));
}

std::size_t memory_map::bytes_of(memory_kind kind, int device) const {
  std::size_t sum = 0;
  for (auto const& [start, one] : live_) {
    sum += one->kind == kind && (device < 0 || one->device == device) ? one->bytes : 0;
  }
  return sum;
}

std::size_t memory_map::count_of(memory_kind kind) const {
  std::size_t count = 0;
  for (auto const& [start, one] : live_) {
    count += one->kind == kind ? std::size_t{1} : 0;
  }
  return count;
}

}  // namespace simulated

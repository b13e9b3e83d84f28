// Memory files mapped twice: without any right for the user, readable and writable for the driver.
#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

namespace simulated {
namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 36;  // of addresses, not of memory
constexpr std::size_t alignment = 512;
constexpr std::size_t page = 4096;
constexpr int readable = -1;               // the window of managed and pinned memory
constexpr unsigned char poison = 0xDD;     // of freed memory
constexpr unsigned char unwritten = 0xCD;  // of new memory, where it is not very large
constexpr std::size_t very_large = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

window make_window(bool readable_by_host) {
  window made;
  made.file = memfd_create("simulated device", MFD_CLOEXEC);
  if (made.file < 0 || ftruncate(made.file, static_cast<off_t>(window_bytes)) != 0) {
    return {};
  }
  int const user_rights = readable_by_host ? PROT_READ | PROT_WRITE : PROT_NONE;
  int const flags = MAP_SHARED | MAP_NORESERVE;
  void* const user = mmap(nullptr, window_bytes, user_rights, flags, made.file, 0);
  void* const own = mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, flags, made.file, 0);
  if (user == MAP_FAILED || own == MAP_FAILED) {
    return {};
  }
  made.user = static_cast<char*>(user);
  made.own = static_cast<char*>(own);
  return made;
}

}  // namespace

window& memory::window_of(int device) {
  window& found = windows_[device];
  if (found.user == nullptr) {
    found = make_window(device == readable);
  }
  return found;
}

window const* memory::window_around(std::uintptr_t address) const {
  for (auto const& [device, one] : windows_) {
    auto const first = reinterpret_cast<std::uintptr_t>(one.user);
    if (one.user != nullptr && address >= first && address - first < window_bytes) {
      return &one;
    }
  }
  return nullptr;
}

// The next room for so many bytes; once through the window, from its beginning again. Null where
// there is none. An overrun by a few bytes is outside of every allocation.
char* memory::find_room(window& in, std::size_t bytes) const {
  std::size_t const step = bytes >= page ? page : alignment;  // whole pages can be given back
  auto const base = reinterpret_cast<std::uintptr_t>(in.user);
  bool is_again = in.next == 0;
  for (std::size_t start = round_up(in.next, step);;) {
    if (bytes > window_bytes - alignment || start > window_bytes - alignment - bytes) {
      if (is_again) {
        return nullptr;
      }
      is_again = true;
      start = 0;
      continue;
    }
    auto const after = live_.upper_bound(base + start + bytes + alignment);
    bool const is_taken = after != live_.begin() && std::prev(after)->first >= base &&
                          std::prev(after)->second->end() + alignment > base + start;
    if (!is_taken) {
      in.next = start + bytes + alignment;
      return in.user + start;
    }
    start = round_up(std::prev(after)->second->end() - base + alignment, step);
  }
}

std::shared_ptr<allocation> memory::allocate(memory_kind kind, int device, std::size_t bytes) {
  window& from = window_of(kind == memory_kind::device ? device : readable);
  char* const start = from.user == nullptr ? nullptr : find_room(from, bytes);
  if (start == nullptr) {
    return nullptr;
  }
  auto made = std::make_shared<allocation>();
  made->start = reinterpret_cast<std::uintptr_t>(start);
  made->bytes = bytes;
  made->kind = kind;
  made->device = device;
  made->id = next_id_++;
  live_[made->start] = made;
  if (bytes <= very_large) {
    std::memset(reach(made->start), unwritten, bytes);
  }
  return made;
}

std::shared_ptr<allocation> memory::adopt(std::uintptr_t start, std::size_t bytes, int device) {
  auto const after = live_.lower_bound(start);
  bool const hits_next = after != live_.end() && after->first - start < bytes;
  if (hits_next || find(start) != nullptr) {
    return nullptr;
  }
  auto made = std::make_shared<allocation>();
  made->start = start;
  made->bytes = bytes;
  made->kind = memory_kind::registered;
  made->device = device;
  made->id = next_id_++;
  live_[start] = made;
  return made;
}

void memory::free(allocation& gone) {
  gone.live = false;
  if (gone.kind != memory_kind::registered) {
    window const& from = *window_around(gone.start);
    std::size_t const whole_pages = gone.bytes / page * page;
    auto const offset = gone.start - reinterpret_cast<std::uintptr_t>(from.user);
    if (whole_pages != 0) {
      fallocate(from.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(whole_pages));
    }
    std::memset(from.own + offset + whole_pages, poison, gone.bytes - whole_pages);
  }
  live_.erase(gone.start);
}

std::shared_ptr<allocation> memory::find(std::uintptr_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) {
    return nullptr;
  }
  auto const& before = std::prev(after)->second;
  return before->contains(address, 1) ? before : nullptr;
}

bool memory::is_ours(std::uintptr_t address) const { return window_around(address) != nullptr; }

char* memory::reach(std::uintptr_t address) const {
  window const* const around = window_around(address);
  if (around == nullptr) {
    return reinterpret_cast<char*>(address);
  }
  return around->own + (address - reinterpret_cast<std::uintptr_t>(around->user));
}

std::size_t memory::bytes_of(memory_kind kind, int device) const {
  std::size_t sum = 0;
  for (auto const& [start, one] : live_) {
    sum += one->kind == kind && (device < 0 || one->device == device) ? one->bytes : 0;
  }
  return sum;
}

std::size_t memory::count_of(memory_kind kind) const {
  std::size_t count = 0;
  for (auto const& [start, one] : live_) {
    count += one->kind == kind ? std::size_t{1} : 0;
  }
  return count;
}

}  // namespace simulated

// Copies, fills and host functions: what they touch, and what memory of the host does to them.
#include <cstring>

#include "driver.hpp"

namespace simulated {
namespace {

void move_rows(char* to, std::size_t to_pitch, char const* from, std::size_t from_pitch,
               std::size_t width, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::memmove(to + i * to_pitch, from + i * from_pitch, width);
  }
}

}  // namespace

bool driver::is_pageable(location const& one) const {
  return storage.find(one.start) == nullptr && !storage.is_ours(one.start);
}

void driver::check_location(location const& one, std::size_t width, std::size_t rows,
                            char const* name) {
  if (!one.is_said_device && is_pageable(one)) {
    expect(one.start != 0);
    return;
  }
  expect(rows < 2 || one.pitch >= width);
  allocation_ptr const around = storage.find(one.start);
  if (around == nullptr && storage.is_ours(one.start)) {
    raced.report(std::string(name) + " uses memory that was freed");
  }
  expect(around != nullptr);
  expect(around->contains(one.start, (rows - 1) * one.pitch + width));
  if (around->freed_in_order) {
    raced.report(std::string(name) + " uses memory whose free was enqueued before");
  }
}

// From pageable memory the bytes are taken at once; to pageable memory the host waits for them.
void driver::copy(stream_ptr const& on, char const* name, location to, location from,
                  std::size_t width, std::size_t rows) {
  if (width == 0 || rows == 0) {
    return;
  }
  check_location(to, width, rows, name);
  check_location(from, width, rows, name);
  bool const is_staged = is_pageable(from);
  bool const is_awaited = is_pageable(to);
  if (is_staged || is_awaited) {
    refuse_synchronizing(*on);
  }
  std::vector<access> touched;
  auto staged = std::make_shared<std::vector<char>>();
  if (is_staged) {
    staged->resize(width * rows);
    move_rows(staged->data(), width, storage.reach(from.start), from.pitch, width, rows);
    from.pitch = width;
  } else {
    touched.push_back({from.start, width, from.pitch, rows, false});
  }
  if (!is_awaited) {
    touched.push_back({to.start, width, to.pitch, rows, true});
  }
  char const* const source = is_staged ? staged->data() : storage.reach(from.start);
  char* const target = storage.reach(to.start);
  work_ptr const made = enqueue(on, name, touched, [=] {
    move_rows(target, to.pitch, source, from.pitch, width, rows);
    staged->clear();  // which the work has kept alive until here
  });
  if (is_awaited) {
    ++host_synchronizations;
    complete(made);
    learn(made->known);
  }
}

void driver::fill(stream_ptr const& on, char const* name, void* to, unsigned char value,
                  std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  auto const start = reinterpret_cast<std::uintptr_t>(to);
  check_location({start, bytes, true}, bytes, 1, name);
  char* const target = storage.reach(start);
  enqueue(on, name, {writing(start, bytes)}, [=] { std::memset(target, value, bytes); });
}

void driver::call_host(stream_ptr const& on, char const* name, void (*called)(void*),
                       void* argument) {
  expect(called != nullptr);
  enqueue(on, name, {}, [=] { called(argument); }, true);
}

}  // namespace simulated

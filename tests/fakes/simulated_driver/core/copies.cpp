// SPDX-License-Identifier: BSD-3-Clause
// Copies, fills and host callbacks: which bytes they access, and how copies treat pageable memory.
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

bool driver::is_pageable(copy_operand const& one) const {
  return memory.find(one.start) == nullptr && !memory.is_in_mapping(one.start);
}

void driver::check_operand(copy_operand const& one, std::size_t width, std::size_t rows,
                           char const* name) {
  if (!one.is_declared_device && is_pageable(one)) {
    require(one.start != 0);
    return;
  }
  require(rows < 2 || one.pitch >= width);
  allocation_ptr const around = memory.find(one.start);
  if (around == nullptr && memory.is_in_mapping(one.start)) {
    races.report(std::string(name) + " uses memory that was freed");
  }
  require(around != nullptr);
  require(around->contains(one.start, (rows - 1) * one.pitch + width));
  if (around->freed_in_order) {
    races.report(std::string(name) + " uses memory that an earlier operation frees");
  }
}

// A copy from pageable memory reads the bytes immediately. A copy to pageable memory makes the host
// wait.
void driver::copy(stream_ptr const& queue, char const* name, copy_operand to, copy_operand from,
                  std::size_t width, std::size_t rows) {
  if (width == 0 || rows == 0) {
    return;
  }
  check_operand(to, width, rows, name);
  check_operand(from, width, rows, name);
  bool const is_staged = is_pageable(from);
  bool const is_awaited = is_pageable(to);
  if (is_staged || is_awaited) {
    fail_if_capturing(*queue);
  }
  std::vector<access> accesses;
  auto staged = std::make_shared<std::vector<char>>();
  if (is_staged) {
    staged->resize(width * rows);
    move_rows(staged->data(), width, memory.driver_address(from.start), from.pitch, width, rows);
    from.pitch = width;
  } else {
    accesses.push_back({from.start, width, from.pitch, rows, false});
  }
  if (!is_awaited) {
    accesses.push_back({to.start, width, to.pitch, rows, true});
  }
  char const* const source = is_staged ? staged->data() : memory.driver_address(from.start);
  char* const target = memory.driver_address(to.start);
  operation_ptr const result = enqueue(queue, name, accesses, [=] {
    move_rows(target, to.pitch, source, from.pitch, width, rows);
    staged->clear();  // the operation owns the staged bytes
  });
  if (is_awaited) {
    ++host_synchronizations;
    complete(result);
    order_host_after(result->clock);
  }
}

void driver::fill(stream_ptr const& queue, char const* name, void* to, unsigned char value,
                  std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  auto const start = reinterpret_cast<std::uintptr_t>(to);
  check_operand({start, bytes, true}, bytes, 1, name);
  char* const target = memory.driver_address(start);
  enqueue(queue, name, {writing(start, bytes)}, [=] { std::memset(target, value, bytes); });
}

void driver::require_managed(void const* start, std::size_t bytes) const {
  allocation_ptr const around = lookup(start);
  require(around->kind == memory_kind::managed &&
          around->contains(reinterpret_cast<std::uintptr_t>(start), bytes));
}

void driver::launch_host_function(stream_ptr const& queue, char const* name,
                                  void (*callback)(void*), void* argument) {
  require(callback != nullptr);
  enqueue(queue, name, {}, [=] { callback(argument); }, true);
}

}  // namespace simulated

// SPDX-License-Identifier: BSD-3-Clause
// The control interface: race reports, failures on demand, counters.
#include <algorithm>
#include <cstring>

#include "../simulated.h"
#include "driver.hpp"

#define SIMULATED_CONTROL extern "C" __attribute__((visibility("default")))

namespace simulated {
namespace {

std::unique_lock<std::mutex> locked() { return std::unique_lock<std::mutex>(driver::get().lock); }

long long bytes(memory_kind kind) {
  return static_cast<long long>(driver::get().memory.bytes_of(kind));
}

long long count_contexts(bool retains) {
  long long sum = 0;
  for (auto const& [handle, one] : driver::get().contexts) {
    sum += retains ? one->retains : static_cast<int>(one->is_alive);
  }
  return sum;
}

template <class Table>
long long size_of(Table const& table) {
  return static_cast<long long>(table.size());
}

struct counter {
  char const* name;
  long long (*read)(driver const& d);
};

constexpr counter counters[] = {
    {"contexts", [](driver const&) { return count_contexts(false); }},
    {"retains", [](driver const&) { return count_contexts(true); }},
    {"streams", [](driver const& d) { return size_of(d.streams); }},
    {"events", [](driver const& d) { return size_of(d.events); }},
    {"graphs", [](driver const& d) { return size_of(d.graphs); }},
    {"allocations",
     [](driver const& d) {
       return static_cast<long long>(d.memory.count_of(memory_kind::device));
     }},
    {"device_bytes", [](driver const&) { return bytes(memory_kind::device); }},
    {"managed_bytes", [](driver const&) { return bytes(memory_kind::managed); }},
    {"pinned_bytes", [](driver const&) { return bytes(memory_kind::pinned); }},
    {"registered_bytes", [](driver const&) { return bytes(memory_kind::registered); }},
    {"pending", [](driver const& d) { return static_cast<long long>(d.pending()); }},
    {"host_synchronizations",
     [](driver const& d) { return static_cast<long long>(d.host_synchronizations); }},
    {"device_synchronizations",
     [](driver const& d) { return static_cast<long long>(d.device_synchronizations); }},
    {"races", [](driver const& d) { return size_of(d.races.reports()); }},
    {"misuses", [](driver const& d) { return size_of(d.misuses); }},
};

size_t copy_report(std::vector<std::string> const& reports, size_t index, char* out, size_t size) {
  if (index >= reports.size()) {
    return 0;
  }
  std::string const& text = reports[index];
  if (size != 0) {
    size_t const copied = std::min(size - 1, text.size());
    std::memcpy(out, text.data(), copied);
    out[copied] = '\0';
  }
  return text.size() + 1;
}

}  // namespace
}  // namespace simulated

using namespace simulated;

SIMULATED_CONTROL size_t simulated_race_count(void) {
  auto const hold = locked();
  return driver::get().races.reports().size();
}

SIMULATED_CONTROL size_t simulated_race_report(size_t index, char* out, size_t size) {
  auto const hold = locked();
  return copy_report(driver::get().races.reports(), index, out, size);
}

SIMULATED_CONTROL void simulated_clear_races(void) {
  auto const hold = locked();
  driver::get().races.clear_reports();
}

SIMULATED_CONTROL size_t simulated_misuse_count(void) {
  auto const hold = locked();
  return driver::get().misuses.size();
}

SIMULATED_CONTROL size_t simulated_misuse_report(size_t index, char* out, size_t size) {
  auto const hold = locked();
  return copy_report(driver::get().misuses, index, out, size);
}

SIMULATED_CONTROL void simulated_clear_misuses(void) {
  auto const hold = locked();
  driver::get().misuses.clear();
}

SIMULATED_CONTROL void simulated_fail_call(long count, int code) {
  auto const hold = locked();
  driver::get().failures.calls_until_failure = count;
  driver::get().failures.code = code;
}

SIMULATED_CONTROL int simulated_fail_function(char const* name, int code) {
  auto const hold = locked();
  entry_point* const entry = entry_point::find(name);
  if (entry != nullptr) {
    entry->forced_code = code;
  }
  return entry == nullptr ? 1 : 0;
}

SIMULATED_CONTROL void simulated_clear_failures(void) {
  auto const hold = locked();
  driver::get().failures.calls_until_failure = 0;
  for (entry_point* one = entry_point::first(); one != nullptr; one = one->next) {
    one->forced_code = 0;
  }
}

SIMULATED_CONTROL long simulated_call_count(char const* name) {
  auto const hold = locked();
  if (name == nullptr) {
    return driver::get().failures.calls;
  }
  entry_point* const entry = entry_point::find(name);
  return entry == nullptr ? -1 : entry->calls;
}

SIMULATED_CONTROL void simulated_reset_call_counts(void) {
  auto const hold = locked();
  driver::get().failures.calls = 0;
  for (entry_point* one = entry_point::first(); one != nullptr; one = one->next) {
    one->calls = 0;
  }
}

SIMULATED_CONTROL char const* simulated_function_name(size_t index) {
  entry_point* one = entry_point::first();
  while (one != nullptr && index-- != 0) {
    one = one->next;
  }
  return one == nullptr ? nullptr : one->name;
}

SIMULATED_CONTROL long long simulated_counter(char const* name) {
  auto const hold = locked();
  for (counter const& one : counters) {
    if (std::strcmp(one.name, name) == 0) {
      return one.read(driver::get());
    }
  }
  return -1;
}

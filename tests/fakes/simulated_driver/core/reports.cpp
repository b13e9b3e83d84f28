// The control interface: races, failures on demand, counters.
#include <algorithm>
#include <cstring>

#include "../simulated.h"
#include "driver.hpp"

#define SIMULATED_CONTROL extern "C" __attribute__((visibility("default")))

namespace simulated {
namespace {

std::unique_lock<std::mutex> locked() { return std::unique_lock<std::mutex>(driver::get().lock); }

long long bytes(memory_kind kind) {
  return static_cast<long long>(driver::get().storage.bytes_of(kind));
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
       return static_cast<long long>(d.storage.count_of(memory_kind::device));
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
    {"races", [](driver const& d) { return size_of(d.raced.reports()); }},
};

}  // namespace
}  // namespace simulated

using namespace simulated;

SIMULATED_CONTROL size_t simulated_race_count(void) {
  auto const hold = locked();
  return driver::get().raced.reports().size();
}

SIMULATED_CONTROL size_t simulated_race(size_t index, char* out, size_t size) {
  auto const hold = locked();
  auto const& reports = driver::get().raced.reports();
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

SIMULATED_CONTROL void simulated_forget_races(void) {
  auto const hold = locked();
  driver::get().raced.forget_reports();
}

SIMULATED_CONTROL void simulated_fail_call(long count, int code) {
  auto const hold = locked();
  driver::get().plan.until_failure = count;
  driver::get().plan.code = code;
}

SIMULATED_CONTROL int simulated_fail_function(char const* name, int code) {
  auto const hold = locked();
  function* const found = function::find(name);
  if (found != nullptr) {
    found->forced = code;
  }
  return found == nullptr ? 1 : 0;
}

SIMULATED_CONTROL void simulated_stop_failing(void) {
  auto const hold = locked();
  driver::get().plan.until_failure = 0;
  for (function* one = function::first(); one != nullptr; one = one->next) {
    one->forced = 0;
  }
}

SIMULATED_CONTROL long simulated_calls(char const* name) {
  auto const hold = locked();
  if (name == nullptr) {
    return driver::get().plan.calls;
  }
  function* const found = function::find(name);
  return found == nullptr ? -1 : found->calls;
}

SIMULATED_CONTROL void simulated_forget_calls(void) {
  auto const hold = locked();
  driver::get().plan.calls = 0;
  for (function* one = function::first(); one != nullptr; one = one->next) {
    one->calls = 0;
  }
}

SIMULATED_CONTROL char const* simulated_function_name(size_t index) {
  function* one = function::first();
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

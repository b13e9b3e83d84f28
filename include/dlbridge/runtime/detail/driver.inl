// The inline bodies of driver.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/runtime/detail/driver.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_COLD report missing_function(char const* library, char const* name) noexcept;

template <class Table>
report failed_call(Table const& driver, char const* call, driver_result result) noexcept {
  report r = refusal(errc::runtime_failed, call, "");
  r.expected.append(" to succeed");
  for (driver_failure_row const& each : driver_failure_rows) {
    if (result >= each.first && result <= each.last) {
      r = refusal(each.code, r.expected.c_str(), "", each.advice);
      break;
    }
  }
  bool const may_be_foreign = result == driver_invalid_value || result == driver_invalid_handle ||
                              result == driver_context_destroyed;
  if (may_be_foreign && Table::advice_for_copies != nullptr &&
      driver.library().has_several_copies()) {
    r.advice = Table::advice_for_copies;
  }
  char const* const name = driver.error_name(result);
  char const* const text = driver.error_text(result);
  r.got.append(name != nullptr ? name : "error").append(" (").append(std::int64_t{result});
  r.got.append(")");
  if (text != nullptr && (name == nullptr || std::strcmp(name, text) != 0)) {
    r.got.append(", ").append(text);
  }
  driver.clear_error();
  return r;
}
}  // namespace detail

template <class Table, class... Parameters, class... Arguments>
report try_call(Table const& driver, driver_function<Parameters...> const& function,
                Arguments... arguments) noexcept {
  if (!function) {
    return detail::missing_function(driver.library().name(), function.name());
  }
  driver_result const result = function(arguments...);
  return result == driver_success ? report{} : detail::failed_call(driver, function.name(), result);
}

template <class Table, class... Parameters, class... Arguments>
bool succeeds(Table const& driver, driver_function<Parameters...> const& function,
              Arguments... arguments) noexcept {
  bool const is_success = function && function(arguments...) == driver_success;
  if (!is_success) {
    driver.clear_error();
  }
  return is_success;
}

namespace detail {
template <class Table>
loaded_driver<Table>::loaded_driver(library_names const& names) noexcept
    : table(driver_source(open(names, status))) {
  if (status.ok() && table.missing() != nullptr) {
    status = missing_function(table.library().name(), table.missing());
  }
  driver_result const result = status.ok() ? table.init(0U) : driver_success;
  can_start_later = result != driver_success;
  if (can_start_later) {
    status = failed_call(table, table.init.name(), result);
    char const* const advice = advice_at_start(result);
    status.advice = advice != nullptr ? advice : status.advice;
  }
}

template <class Table>
inline shared_library loaded_driver<Table>::open(library_names const& names,
                                                 report& status) noexcept {
  shared_library library;
  status = shared_library::try_open(names, library);
  return library;
}

// The driver of a table after a first attempt that failed: one that other code of the process has
// loaded since then, for example from a wheel that contains a copy of it. A driver that did not
// start is started again, because the reason may be temporary, such as a service that is starting.
template <class Table>
DLBRIDGE_LOCAL DLBRIDGE_COLD DLBRIDGE_NOINLINE loaded_driver<Table> const& find_driver_again(
    loaded_driver<Table> const& first, library_names const& names) noexcept {
  static std::atomic<loaded_driver<Table> const*> found{nullptr};
  loaded_driver<Table> const* known = found.load(std::memory_order_acquire);
  if (known == nullptr && !first.is_loaded() && shared_library::is_loaded(names)) {
    static loaded_driver<Table> const loaded_later(names);
    known = &loaded_later;
    found.store(known, std::memory_order_release);
  }
  loaded_driver<Table> const& driver = known != nullptr ? *known : first;
  if (!driver.can_start_later || !succeeds(driver.table, driver.table.init, 0U)) {
    return driver;
  }
  static loaded_driver<Table> const started_later(driver.table);
  found.store(&started_later, std::memory_order_release);
  return started_later;
}

template <class Table>
loaded_driver<Table> const& find_driver(library_names const& names) noexcept {
  static loaded_driver<Table> const driver(names);
  return driver.status.ok() ? driver : find_driver_again(driver, names);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

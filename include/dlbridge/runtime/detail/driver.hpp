// driver_function, driver_source: look up and call the functions of a driver, and report failed
// calls.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/driver_errors.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/stream_ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace detail {
// The enumerators and flags that CUDA and HIP share, also compared with both headers.
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr int attribute_device_ordinal = 9;
constexpr unsigned event_disable_timing = 2;
constexpr unsigned allocation_portable = 1;  // pinned: in every context; managed: on every device
constexpr int capture_mode_relaxed = 2;

// Whether a handle names a default stream: null, 1 (legacy) or 2 (per thread). These handles are
// the same on every device; all other handles are unique.
inline bool is_default_stream(stream_ref stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream.native_handle()) <= 2;
}
}  // namespace detail

/// The library in which a table looks up its functions. Records the first required function that
/// the library lacks.
class driver_source {
 public:
  driver_source() noexcept = default;
  explicit driver_source(shared_library library) noexcept : library_(library) {}

  shared_library const& library() const noexcept { return library_; }
  /// The name of the first required function that the library lacks, or null.
  char const* missing() const noexcept { return missing_; }

  /// Looks up a function by its exact name.
  /// @param required whether missing() records the name if the library lacks it.
  /// @return its address, or null.
  any_function find(char const* name, bool required) noexcept {
    any_function const address = library_.try_find(name);
    if (address == nullptr && required && missing_ == nullptr) {
      missing_ = name;
    }
    return address;
  }

 private:
  shared_library library_;
  char const* missing_ = nullptr;
};

/// Whether a table is usable without a function.
enum class presence : std::uint8_t { required, optional };

/// A function of a driver, with its exact name. Converts to false if the driver lacks it.
template <class... Parameters>
class driver_function {
 public:
  using pointer = driver_result (*)(Parameters...);

  driver_function(driver_source& source, char const* name,
                  presence need = presence::required) noexcept
      : address_(reinterpret_cast<pointer>(source.find(name, need == presence::required))),
        name_(name) {}
  driver_function(char const* name, pointer address) noexcept : address_(address), name_(name) {}

  explicit operator bool() const noexcept { return address_ != nullptr; }
  char const* name() const noexcept { return name_; }
  /// Calls the function.
  /// @pre the driver has it.
  driver_result operator()(Parameters... arguments) const noexcept {
    return address_(arguments...);
  }

 private:
  pointer address_;
  char const* name_;
};

/// The number of devices of a runtime whose contexts and events are cached. Devices with a higher
/// ordinal work without a cache.
constexpr int max_devices = 64;

/// A pool of up to eight events of one device, which makes the creation of an event rare. An event
/// may be recorded again as soon as the waits for it are enqueued, so a thread needs one event at a
/// time.
///
/// The pool never destroys an event: at process exit the runtime may end before the pool.
/// @par Thread and GIL
/// Any thread may call all functions. They do not lock.
class event_pool {
 public:
  /// Removes an event from the pool.
  /// @return an event that the caller owns, or null if the pool is empty.
  void* try_take() noexcept {
    for (std::atomic<void*>& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) != nullptr) {
        if (void* const event = slot.exchange(nullptr, std::memory_order_acquire)) {
          return event;
        }
      }
    }
    return nullptr;
  }

  /// Adds an event to the pool.
  /// @return false if the pool is full. The caller then still owns the event.
  bool try_put(void* event) noexcept {
    for (std::atomic<void*>& slot : slots_) {
      void* empty = nullptr;
      if (slot.compare_exchange_strong(empty, event, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t capacity = 8;
  std::atomic<void*> slots_[capacity] = {};
};

/// Makes the context of a stream or of a device current on this thread, and restores the previous
/// one on destruction. Each table has a specialisation.
template <class Table>
class context_guard;

/// The processor that accesses memory. Both the host and the devices access managed memory.
enum class memory_side : std::uint8_t { host, device, managed };

/// A copy of `height` rows of `width` bytes. Each pitch is the number of bytes from one row to the
/// next; a copy of one row ignores it.
struct block_copy {
  void* to;
  void const* from;
  std::size_t width;
  std::size_t height = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  memory_side to_side = memory_side::device;
  memory_side from_side = memory_side::device;
};

namespace detail {
template <class Table>
DLBRIDGE_COLD report failed_call(Table const& driver, char const* call,
                                 driver_result result) noexcept {
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

DLBRIDGE_COLD inline report missing_function(char const* library, char const* name) noexcept {
  report r = refusal(errc::runtime_missing, name, library, "Update the driver");
  r.expected.append(" in ").append(library);
  r.got.append(" without it");
  return r;
}
}  // namespace detail

/// Calls a function of a table.
/// @return a report: runtime_missing (the driver lacks the function), runtime_failed,
/// out_of_memory, capturing, not_permitted.
template <class Table, class... Parameters, class... Arguments>
report try_call(Table const& driver, driver_function<Parameters...> const& function,
                Arguments... arguments) noexcept {
  if (!function) {
    return detail::missing_function(driver.library().name(), function.name());
  }
  driver_result const result = function(arguments...);
  return result == driver_success ? report{} : detail::failed_call(driver, function.name(), result);
}

/// Calls a function whose failure the caller handles. Clears the error of a failed call, so that
/// other code in the process does not see it.
/// @return whether the driver has the function and the call succeeded.
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
inline void require_success(report const& status) {
  if (!status.ok()) {
    raise(status);
  }
}

// A driver, its functions, and the result of its initialisation. The table is usable if status is
// ok().
template <class Table>
struct loaded_driver {
  report status{};
  Table table;
  bool can_start_later = false;  // whether the library has all functions, but did not start

  DLBRIDGE_COLD explicit loaded_driver(library_names const& names) noexcept
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
  // A driver that has started.
  explicit loaded_driver(Table const& started) noexcept : table(started) {}
  bool is_loaded() const noexcept { return static_cast<bool>(table.library()); }

 private:
  static shared_library open(library_names const& names, report& status) noexcept {
    shared_library library;
    status = shared_library::try_open(names, library);
    return library;
  }
};

// The driver of a table after a first attempt that failed: one that other code of the process has
// loaded since then, for example from a wheel that contains a copy of it. A driver that did not
// start is started again, because the reason may be temporary, such as a service that is starting.
template <class Table>
DLBRIDGE_LOCAL DLBRIDGE_COLD loaded_driver<Table> const& find_driver_again(
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

// Loads the driver of a table on the first call. If that fails, a later call tries it again as
// find_driver_again states.
template <class Table>
DLBRIDGE_LOCAL loaded_driver<Table> const& find_driver(library_names const& names) noexcept {
  static loaded_driver<Table> const driver(names);
  return driver.status.ok() ? driver : find_driver_again(driver, names);
}

// The runtime of a table. Each table has a specialisation.
template <class Table>
constexpr runtime_kind runtime_of_table() noexcept;
}  // namespace detail

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

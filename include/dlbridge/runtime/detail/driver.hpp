// driver_function, driver_source: look up and call the functions of a driver, and report failed
// calls.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/driver_errors.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
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
bool is_default_stream(stream_ref stream) noexcept;
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
  any_function find(char const* name, bool required) noexcept;

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
  void* try_take() noexcept;

  /// Adds an event to the pool.
  /// @return false if the pool is full. The caller then still owns the event.
  bool try_put(void* event) noexcept;

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
DLBRIDGE_COLD DLBRIDGE_NOINLINE report failed_call(Table const& driver, char const* call,
                                                   driver_result result) noexcept;
}  // namespace detail

/// Calls a function of a table.
/// @return a report: runtime_missing (the driver lacks the function), runtime_failed,
/// out_of_memory, capturing, not_permitted.
template <class Table, class... Parameters, class... Arguments>
report try_call(Table const& driver, driver_function<Parameters...> const& function,
                Arguments... arguments) noexcept;

/// Calls a function whose failure the caller handles. Clears the error of a failed call, so that
/// other code in the process does not see it.
/// @return whether the driver has the function and the call succeeded.
template <class Table, class... Parameters, class... Arguments>
bool succeeds(Table const& driver, driver_function<Parameters...> const& function,
              Arguments... arguments) noexcept;

namespace detail {
void require_success(report const& status);

// A driver, its functions, and the result of its initialisation. The table is usable if status is
// ok().
template <class Table>
struct loaded_driver {
  report status{};
  Table table;
  bool can_start_later = false;  // whether the library has all functions, but did not start

  DLBRIDGE_COLD DLBRIDGE_NOINLINE explicit loaded_driver(library_names const& names) noexcept;
  // A driver that has started.
  explicit loaded_driver(Table const& started) noexcept : table(started) {}
  bool is_loaded() const noexcept { return static_cast<bool>(table.library()); }

 private:
  static shared_library open(library_names const& names, report& status) noexcept;
};

// Loads the driver of a table on the first call. If that fails, a later call tries it again as
// find_driver_again states.
template <class Table>
DLBRIDGE_LOCAL loaded_driver<Table> const& find_driver(library_names const& names) noexcept;

// The runtime of a table. Each table has a specialisation.
template <class Table>
constexpr runtime_kind runtime_of_table() noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/detail/driver.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/driver.ipp>
#endif

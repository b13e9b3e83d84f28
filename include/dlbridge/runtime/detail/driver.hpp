// What a table of a driver's functions is made of: a function with its exact name, the source it is
// looked up in, and the report of a call that failed.
// layer: runtime · side road: to the device runtimes
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/detail/library.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// What every function of a driver answers: 0, or one of its error codes. CUDA and HIP share the
/// codes that are named here.
using driver_result = int;
constexpr driver_result driver_success = 0;
constexpr driver_result driver_out_of_memory = 2;
constexpr driver_result driver_no_device = 100;
constexpr driver_result driver_invalid_device = 101;
constexpr driver_result driver_not_supported = 801;

/// Where the functions of a table come from. Remembers the first that is missing.
class driver_source {
 public:
  driver_source() noexcept = default;
  explicit driver_source(shared_library from) noexcept : library_(from) {}

  shared_library const& library() const noexcept { return library_; }
  /// The first function that was needed and not found, or null.
  char const* missing() const noexcept { return missing_; }

  any_function find(char const* name, bool needed) noexcept {
    any_function const found = library_.try_find(name);
    if (found == nullptr && needed && missing_ == nullptr) {
      missing_ = name;
    }
    return found;
  }

 private:
  shared_library library_;
  char const* missing_ = nullptr;
};

/// Whether a table is of use without a function.
enum class presence : std::uint8_t { needed, optional };

/// A function of a driver under its exact name. Null when it was not found.
template <class... Parameters>
class driver_function {
 public:
  using pointer = driver_result (*)(Parameters...);

  driver_function(driver_source& from, char const* name, presence what = presence::needed) noexcept
      : address_(reinterpret_cast<pointer>(from.find(name, what == presence::needed))),
        name_(name) {}
  driver_function(char const* name, pointer address) noexcept : address_(address), name_(name) {}

  explicit operator bool() const noexcept { return address_ != nullptr; }
  char const* name() const noexcept { return name_; }
  driver_result operator()(Parameters... arguments) const noexcept {
    return address_(arguments...);
  }

 private:
  pointer address_;
  char const* name_;
};

/// State is cached for this many devices of a runtime; devices beyond work without a cache.
constexpr int max_devices = 64;

/// Up to eight events of one device, so that a wait seldom creates one. An event may be recorded
/// anew as soon as the waits on it have been enqueued; one event for each thread that orders
/// streams at the same moment is enough. thread: any, without a lock. Never destroys an event: at
/// exit the runtime may be gone first.
class event_pool {
 public:
  /// An event, now the caller's; null when none is kept.
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

  /// Keeps an event; false when there is no room, and it stays the caller's.
  bool try_put(void* event) noexcept {
    for (std::atomic<void*>& slot : slots_) {
      void* none = nullptr;
      if (slot.compare_exchange_strong(none, event, std::memory_order_release,
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

/// Makes the context of a stream, or of a device, the current one of this thread, and puts back
/// what was current before. Specialised for each table.
template <class Table>
class context_guard;

/// A block of rows, from one place to another. Pitches are the bytes from row to row, width the
/// bytes of one; with one row they mean nothing. Managed memory is on neither side alone.
enum class memory_side : std::uint8_t { host, device, managed };
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
// What is known about an error code, and what its reader can do about it. The first row that fits
// counts; codes from first to last.
struct driver_failure_row {
  driver_result first;
  driver_result last;
  errc code;
  char const* advice;
};
DLBRIDGE_LOCAL inline constexpr driver_failure_row driver_failure_rows[] = {
    {driver_out_of_memory, driver_out_of_memory, errc::out_of_memory,
     "Free memory of the device, or take the tensor in parts"},
    {3, 4, errc::runtime_failed,
     "A process that was forked, or that is ending, cannot use the runtime; start it afresh"},
    {driver_no_device, driver_invalid_device, errc::runtime_failed,
     "Name a device that the runtime has; they count from 0"},
    {201, 201, errc::runtime_failed, "The context of this device was destroyed"},
    {400, 400, errc::runtime_failed,
     "A stream must be one of this runtime, and live until the call returns"},
    {709, 709, errc::runtime_failed,
     "A stream, and the context it was made in, must live until the call returns"},
    {900, 908, errc::capturing,
     "Hand tensors over before the capture begins, or pass stream=-1 and order the streams "
     "yourself"},
    {1, 999, errc::runtime_failed,
     "It may be the fault of earlier work on the device, which is reported late"},
};

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
  char const* const name = driver.error_name(result);
  char const* const text = driver.error_text(result);
  r.got.append(name != nullptr ? name : "error").append(" (").append(std::int64_t{result});
  r.got.append(")");
  if (text != nullptr && (name == nullptr || std::strcmp(name, text) != 0)) {
    r.got.append(", ").append(text);
  }
  driver.forget_error();
  return r;
}

DLBRIDGE_COLD inline report missing_function(char const* library, char const* name) noexcept {
  report r = refusal(errc::runtime_missing, name, library, "Update the driver");
  r.expected.append(" in ").append(library);
  r.got.append(" without it");
  return r;
}
}  // namespace detail

/// Calls a function of a table. reports: runtime_missing (the driver lacks it), runtime_failed,
/// out_of_memory, capturing.
template <class Table, class... Parameters, class... Arguments>
report try_call(Table const& driver, driver_function<Parameters...> const& function,
                Arguments... arguments) noexcept {
  if (!function) {
    return detail::missing_function(driver.library().name(), function.name());
  }
  driver_result const result = function(arguments...);
  return result == driver_success ? report{} : detail::failed_call(driver, function.name(), result);
}

/// Calls a function whose failure has an answer of its own. Nothing of it is left for others to
/// see.
template <class Table, class... Parameters, class... Arguments>
bool succeeds(Table const& driver, driver_function<Parameters...> const& function,
              Arguments... arguments) noexcept {
  bool const done = function && function(arguments...) == driver_success;
  if (!done) {
    driver.forget_error();
  }
  return done;
}

namespace detail {
inline void require_success(report const& why) {
  if (!why.ok()) {
    raise(why);
  }
}

// A driver as it was found, once for this library; why says what for it is of no use.
template <class Table>
struct loaded_driver {
  report why;
  Table table;

  explicit loaded_driver(library_names const& names) noexcept
      : table(driver_source(open(names, why))) {
    if (why.ok() && table.missing() != nullptr) {
      why = missing_function(table.library().name(), table.missing());
    }
    driver_result const result = why.ok() ? table.init(0U) : driver_success;
    if (result != driver_success) {
      why = failed_call(table, table.init.name(), result);
      if (result == driver_no_device || result == driver_invalid_device) {
        why.advice =
            "The driver is here, but sees no device. Give it one, or keep to memory that "
            "the CPU can reach";
      }
    }
  }
  bool is_here() const noexcept { return static_cast<bool>(table.library()); }

 private:
  static shared_library open(library_names const& names, report& why) noexcept {
    shared_library found;
    why = shared_library::try_open(names, found);
    return found;
  }
};
}  // namespace detail

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// The bodies of hip.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>

#include <dlbridge/runtime/hip.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

DLBRIDGE_NOINLINE DLBRIDGE_API hip_table::hip_table(driver_source const& source) noexcept
    : driver_source(source),
      error_name_(as_text(find("hipGetErrorName", false))),
      error_text_(as_text(find("hipGetErrorString", false))) {}

DLBRIDGE_API char const* hip_table::error_name(driver_result result) const noexcept {
  return error_name_ != nullptr ? error_name_(result) : nullptr;
}

DLBRIDGE_API char const* hip_table::error_text(driver_result result) const noexcept {
  return error_text_ != nullptr ? error_text_(result) : nullptr;
}

DLBRIDGE_API void hip_table::clear_error() const noexcept {
  if (get_last_error) {
    static_cast<void>(get_last_error());
  }
}

DLBRIDGE_API hip_table::text_function hip_table::as_text(any_function address) noexcept {
  return reinterpret_cast<text_function>(address);
}

namespace detail {
DLBRIDGE_API loaded_driver<hip_table> const& hip_driver() noexcept {
#if defined(_WIN32)
  static constexpr char const* files[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"};
#else
  static constexpr char const* files[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5", "libamdhip64.so"};
#endif
  static constexpr library_names names{
      "libamdhip64", files, sizeof files / sizeof files[0],
      "Install ROCm's runtime, or use memory that the CPU can access"};
  return find_driver<hip_table>(names);
}

DLBRIDGE_LOCAL DLBRIDGE_API event_pool* hip_events() noexcept {
  static event_pool events[max_devices];
  return events;
}

// hipMemcpyKind. For managed memory it is hipMemcpyDefault, with which HIP decides by the address.
inline int hip_copy_kind(memory_side from, memory_side to) noexcept {
  constexpr int host_to_host = 0, host_to_device = 1, device_to_host = 2, device_to_device = 3;
  constexpr int by_address = 4;
  if (from == memory_side::managed || to == memory_side::managed) {
    return by_address;
  }
  bool const from_device = from == memory_side::device;
  return to == memory_side::device ? (from_device ? device_to_device : host_to_device)
                                   : (from_device ? device_to_host : host_to_host);
}
}  // namespace detail

DLBRIDGE_API hip_table const* hip() noexcept {
  auto const& driver = detail::hip_driver();
  return driver.status.ok() ? &driver.table : nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report
context_guard<hip_table>::try_enter_device(int ordinal) noexcept {
  leave();
  report status = try_call(driver_, driver_.get_device, &previous_);
  if (status.ok() && previous_ != ordinal) {
    status = try_call(driver_, driver_.set_device, ordinal);
    is_changed_ = status.ok();
  }
  context_ = status.ok() ? ordinal : -1;
  return status;
}

DLBRIDGE_API void context_guard<hip_table>::leave() noexcept {
  // A failed call may report the error of an earlier operation, so the guard tries again once.
  if (is_changed_ && !succeeds(driver_, driver_.set_device, previous_)) {
    static_cast<void>(succeeds(driver_, driver_.set_device, previous_));
  }
  is_changed_ = false;
  context_ = -1;
}

DLBRIDGE_API event_pool* context_guard<hip_table>::events() const noexcept {
  return context_ >= 0 && context_ < max_devices ? &detail::hip_events()[context_] : nullptr;
}

DLBRIDGE_API stream_ref in_current_context(hip_table const&, stream_ref stream) noexcept {
  return stream;
}

namespace detail {
DLBRIDGE_API event_pool* events_at_hand(hip_table const& driver, stream_ref consumer,
                                        stream_ref producer) noexcept {
  for (stream_ref const stream : {consumer, producer}) {
    int current = -1;
    if (is_default_stream(stream) &&
        (!succeeds(driver, driver.get_device, &current) || current != stream.device().id)) {
      return nullptr;
    }
  }
  int const ordinal = producer.device().id;
  return ordinal >= 0 && ordinal < max_devices ? &hip_events()[ordinal] : nullptr;
}
}  // namespace detail

DLBRIDGE_API report try_copy(hip_table const& driver, block_copy const& copy,
                             void* stream) noexcept {
  int const kind = detail::hip_copy_kind(copy.from_side, copy.to_side);
  if (copy.height == 1) {
    return try_call(driver, driver.copy_async, copy.to, copy.from, copy.width, kind, stream);
  }
  return try_call(driver, driver.copy_block_async, copy.to, copy.to_pitch, copy.from,
                  copy.from_pitch, copy.width, copy.height, kind, stream);
}

DLBRIDGE_API report try_copy_peer(hip_table const& driver, void* to, int to_device,
                                  void const* from, int from_device, std::size_t bytes,
                                  void* stream) noexcept {
  return try_call(driver, driver.copy_peer_async, to, to_device, from, from_device, bytes, stream);
}

DLBRIDGE_API report try_copy_peer_block(hip_table const& driver, block_copy const& copy,
                                        int to_device, int from_device, void* stream) noexcept {
  report status;
  for (std::size_t i = 0; i < copy.height && status.ok(); ++i) {
    status = try_copy_peer(driver, static_cast<char*>(copy.to) + i * copy.to_pitch, to_device,
                           static_cast<char const*>(copy.from) + i * copy.from_pitch, from_device,
                           copy.width, stream);
  }
  return status;
}

DLBRIDGE_API bool try_locate(hip_table const& driver, void const* address, device& out) noexcept {
  auto const query = [&](auto* value, int attribute) {
    return succeeds(driver, driver.pointer_get_attribute, value, attribute, address);
  };
  unsigned type = 0;
  int version = 0;
  if (!query(&type, detail::attribute_memory_type) ||
      !succeeds(driver, driver.runtime_get_version, &version)) {
    return false;
  }
  unsigned const type_host = version >= 60000000 ? 1 : 0;  // ROCm 6 changed the enumerators
  unsigned is_managed = 0;
  int ordinal = 0;
  bool const is_host =
      (query(&is_managed, detail::attribute_is_managed) && is_managed != 0) || type == type_host;
  if (!is_host && !query(&ordinal, detail::attribute_device_ordinal)) {
    return false;
  }
  out = is_host ? device(kDLROCMHost, 0) : device(kDLROCM, ordinal);
  return true;
}

DLBRIDGE_END_NAMESPACE

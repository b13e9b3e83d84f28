// The bodies of driver_errors.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/runtime/detail/driver_errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API char const* advice_at_start(driver_result result) noexcept {
  if (result == driver_no_device || result == driver_invalid_device) {
    return "The driver is installed but finds no device. Provide a device, or use memory that the "
           "CPU can access";
  }
  constexpr std::size_t last = sizeof driver_failure_rows / sizeof driver_failure_rows[0] - 1;
  for (std::size_t i = 0; i < last; ++i) {
    if (result >= driver_failure_rows[i].first && result <= driver_failure_rows[i].last) {
      return nullptr;
    }
  }
  return "The driver is installed but does not start: the log of the kernel may state the reason";
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

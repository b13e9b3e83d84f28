// The bodies of device.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/device.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_NOINLINE DLBRIDGE_API device_text name_of(device where) noexcept {
  device_text text;
  append_name(text, where);
  return text;
}

DLBRIDGE_API bool try_parse_device(char const* name, device& out) noexcept {
  char const* const colon = std::strchr(name, ':');
  std::size_t const length =
      colon != nullptr ? static_cast<std::size_t>(colon - name) : std::strlen(name);
  std::int64_t id = 0;
  if (colon != nullptr) {
    char const* digit = colon + 1;
    for (; *digit >= '0' && *digit <= '9' && id <= INT32_MAX; ++digit) {
      id = id * 10 + (*digit - '0');
    }
    if (*digit != '\0' || digit == colon + 1 || id > INT32_MAX) {
      return false;
    }
  }
  for (device_row const& each : device_rows) {
    if (std::strlen(each.name) == length && std::strncmp(each.name, name, length) == 0) {
      out = device(each.type, static_cast<std::int32_t>(id));
      return true;
    }
  }
  return false;
}

DLBRIDGE_END_NAMESPACE

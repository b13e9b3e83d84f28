// The inline bodies of device.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class Text>
constexpr Text& append_name(Text& text, device where) noexcept {
  for (device_row const& each : device_rows) {
    if (each.type == where.type) {
      text.append(each.name);
      return where == cpu ? text : text.append(":").append(std::int64_t{where.id});
    }
  }
  return text.append("(device type ")
      .append(std::int64_t{where.type})
      .append(", id ")
      .append(std::int64_t{where.id})
      .append(")");
}

DLBRIDGE_END_NAMESPACE

// The bodies of device_copy.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/detail/device_copy.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API bool is_packed(tensor_view const& source, tensor_view const& destination) noexcept {
  return is_sub_byte(source.dtype()) && !(source.is_padded() && destination.is_padded());
}

DLBRIDGE_API bool copy_route::is_peer() const noexcept {
  return from == memory_side::device && to == memory_side::device && from_device != to_device;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

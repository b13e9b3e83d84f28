// The bodies of cuda_copies.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/detail/cuda_copies.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// Enqueues one copy for each row.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report try_copy_rows(cuda_table const& driver,
                                                            block_copy const& copy,
                                                            void* stream) noexcept {
  report status;
  for (std::size_t i = 0; i < copy.height && status.ok(); ++i) {
    status =
        try_call(driver, driver.copy_async, static_cast<char*>(copy.to) + i * copy.to_pitch,
                 static_cast<char const*>(copy.from) + i * copy.from_pitch, copy.width, stream);
  }
  return status;
}
}  // namespace detail

DLBRIDGE_API report try_copy(cuda_table const& driver, block_copy const& copy,
                             void* stream) noexcept {
  if (copy.height == 1) {
    return try_call(driver, driver.copy_async, copy.to, copy.from, copy.width, stream);
  }
  auto const type = [](memory_side side) {
    return side == memory_side::host ? 1 : side == memory_side::device ? 2 : 4;
  };
  cuda_block_copy block{};
  block.from_type = type(copy.from_side);
  block.from_host = copy.from;  // the driver reads the address that the type selects
  block.from_device = copy.from;
  block.from_pitch = copy.from_pitch;
  block.to_type = type(copy.to_side);
  block.to_host = copy.to;
  block.to_device = copy.to;
  block.to_pitch = copy.to_pitch;
  block.width = copy.width;
  block.height = copy.height;
  driver_result const result = driver.copy_block_async(&block, stream);
  if (result == driver_success) {
    return report{};
  }
  bool const is_on_device =
      copy.from_side != memory_side::host && copy.to_side != memory_side::host;
  return result == driver_invalid_value && is_on_device
             ? detail::try_copy_rows(driver, copy, stream)
             : detail::failed_call(driver, driver.copy_block_async.name(), result);
}

DLBRIDGE_API report try_copy_peer(cuda_table const& driver, void* to, void* to_context,
                                  void const* from, void* from_context, std::size_t bytes,
                                  void* stream) noexcept {
  return try_call(driver, driver.copy_peer_async, to, to_context, from, from_context, bytes,
                  stream);
}

DLBRIDGE_API report try_copy_peer_block(cuda_table const& driver, block_copy const& copy,
                                        void* to_context, void* from_context,
                                        void* stream) noexcept {
  constexpr int type_device = 2;
  cuda_peer_block_copy block{};
  block.from_type = type_device;
  block.from_device = copy.from;
  block.from_context = from_context;
  block.from_pitch = copy.from_pitch;
  block.to_type = type_device;
  block.to_device = copy.to;
  block.to_context = to_context;
  block.to_pitch = copy.to_pitch;
  block.width = copy.width;
  block.height = copy.height;
  block.depth = 1;
  return try_call(driver, driver.copy_peer_block_async, &block, stream);
}

DLBRIDGE_END_NAMESPACE

// The bodies of memory.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/build.hpp>
#include <dlbridge/runtime/detail/memory.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_API memory_side side_of(device where) noexcept {
  memory_kind const kind = memory_of(where);
  return kind == memory_kind::device    ? memory_side::device
         : kind == memory_kind::managed ? memory_side::managed
                                        : memory_side::host;
}
}  // namespace detail

DLBRIDGE_API bool try_record_stream(managed_tensor const& tensor, stream_ref stream,
                                    std::shared_ptr<void const> owner) noexcept {
  if (!tensor) {
    return false;
  }
  auto* const in_cuda = detail::find_owner<driver_memory<cuda_table>>(tensor);
  auto* const in_hip = detail::find_owner<driver_memory<hip_table>>(tensor);
  return in_cuda != nullptr  ? in_cuda->try_record_stream(stream, std::move(owner))
         : in_hip != nullptr ? in_hip->try_record_stream(stream, std::move(owner))
                             : false;
}

DLBRIDGE_API device located(tensor_view const& view) noexcept {
  device where = view.device();
  runtime_kind const runtime = runtime_of_memory(where);
  if (runtime != runtime_kind::none && !view.empty()) {
    static_cast<void>(with_driver(runtime, [&](auto const& driver) noexcept {
      static_cast<void>(try_locate(driver, view.data(), where));
      return report{};
    }));
  }
  return where;
}

DLBRIDGE_END_NAMESPACE

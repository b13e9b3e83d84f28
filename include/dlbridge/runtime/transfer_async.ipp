// The bodies of transfer_async.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/order.hpp>
#include <dlbridge/runtime/transfer_async.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor transfer_async(shared_tensor const& owner,
                                                             tensor_view const& source,
                                                             device where, stream_ref stream,
                                                             transfer_options const& options) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(detail::find_copy_path(source.device(), where, stream, runtime));
  if (detail::side_of(source.device()) == memory_side::host && where.type == kDLCPU) {
    return transfer(source, where, stream, options);
  }
  managed_tensor result;
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    result = transfer_async(driver, owner, source, where, stream, options);
    return report{};
  }));
  return result;
}

DLBRIDGE_END_NAMESPACE

// The bodies of transfer.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/order.hpp>
#include <dlbridge/runtime/transfer.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API description describe_copy(tensor_view const& source, device where,
                                                         transfer_options const& options) noexcept {
  auto const rank = static_cast<std::size_t>(source.rank());
  description d;
  d.type = source.dtype();
  d.shape = dims::from(source.shape(), rank);
  if (!options.row_major && source.strides() != nullptr && source.is_compact() &&
      !source.is_row_major()) {
    d.strides = dims::from(source.strides(), rank);
  }
  d.device = where;
  d.flags = flag_is_copied | (source.flags() & flag_padded);
  return d;
}

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor copy_on_host(tensor_view const& source, device where,
                                                           transfer_options const& options) {
  retired_owners().collect();
  managed_tensor result =
      build_compact(describe_copy(source, where, options), options.kind, default_allocator());
  if (!source.empty()) {
    copy_disjoint(source, result.view(), copy_method::to_new_memory());
  }
  return result;
}

DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report no_copy_path(device from, device to) noexcept {
  report r = refusal(errc::device_mismatch, "memory of the CPU, and of CUDA or of ROCm, to copy",
                     "", "Copy through the CPU, or request a copy from the producer");
  append_name(append_name(r.got, from).append(" and "), to);
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report find_copy_path(device from, device to, stream_ref stream,
                                                     runtime_kind& out,
                                                     copy_target target) noexcept {
  runtime_kind const runtime_from = runtime_of_memory(from);
  runtime_kind const runtime_to = runtime_of_memory(to);
  bool const is_one_runtime = runtime_from == runtime_to || runtime_from == runtime_kind::none ||
                              runtime_to == runtime_kind::none;
  auto const has_copy_path = [](device where, runtime_kind runtime) {
    return runtime != runtime_kind::none || is_host_accessible(where);
  };
  bool const can_allocate = target == copy_target::existing_memory || to.type == kDLCPU ||
                            runtime_to != runtime_kind::none;
  if (!is_one_runtime || !can_allocate || !has_copy_path(from, runtime_from) ||
      !has_copy_path(to, runtime_to)) {
    return no_copy_path(from, to);
  }
  bool const is_host_copy = side_of(from) == memory_side::host && side_of(to) == memory_side::host;
  runtime_kind const runtime = runtime_from != runtime_kind::none ? runtime_from : runtime_to;
  runtime_kind const stream_runtime = runtime_of(stream.device());
  out = runtime;
  bool const is_ordered = stream_runtime != runtime_kind::none && stream_runtime == runtime;
  bool const needs_no_order = is_host_copy && stream_runtime == runtime_kind::none &&
                              stream.native_handle() == nullptr;  // not a queue of another runtime
  if (is_ordered || needs_no_order) {
    return report{};
  }
  report r = refusal(errc::bad_stream, "a stream of one of the two devices, ", "a stream on ");
  append_name(append_name(r.expected, from).append(" and "), to);
  append_name(r.got, stream.device());
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report no_path_of_driver(device from, device to,
                                                        runtime_kind driver) noexcept {
  bool const is_cuda = driver == runtime_kind::cuda;
  report r =
      refusal(errc::device_mismatch,
              is_cuda ? "a device of CUDA, as the driver is" : "a device of ROCm, as the driver is",
              "", "Leave the driver out, and dlbridge selects it");
  append_name(append_name(r.got, from).append(" and "), to);
  return r;
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API managed_tensor transfer(tensor_view const& source, device where,
                                                       stream_ref stream,
                                                       transfer_options const& options) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(detail::find_copy_path(source.device(), where, stream, runtime));
  if (where.type == kDLCPU && detail::side_of(source.device()) == memory_side::host) {
    detail::require_success(try_host_wait(stream));
    return detail::copy_on_host(source, where, options);
  }
  managed_tensor result;
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    result = transfer(driver, source, where, stream, options);
    return report{};
  }));
  return result;
}

DLBRIDGE_API void transfer_into(tensor_view const& source, tensor_view const& destination,
                                stream_ref stream, bool source_outlives_copy) {
  runtime_kind runtime = runtime_kind::none;
  detail::require_success(detail::find_copy_path(source.device(), destination.device(), stream,
                                                 runtime, detail::copy_target::existing_memory));
  if (runtime == runtime_kind::none) {
    detail::retired_owners().collect();
    copy(source, destination);
    return;
  }
  detail::require_success(with_driver(runtime, [&](auto const& driver) {
    transfer_into(driver, source, destination, stream, source_outlives_copy);
    return report{};
  }));
}

DLBRIDGE_END_NAMESPACE

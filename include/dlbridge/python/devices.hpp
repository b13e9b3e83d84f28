// use_devices: installs the operations that order streams and copy tensors between devices.
// layer: interpreter · the link to the device runtimes
#pragma once

#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/runtime/transfer.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/version.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// Whether a runtime copies between two devices, and its driver is installed.
inline bool has_copy_path(device from, device to) noexcept {
  runtime_kind const kind = runtime_of_memory(from) != runtime_kind::none ? runtime_of_memory(from)
                                                                          : runtime_of_memory(to);
  runtime_kind copier = runtime_kind::none;
  stream_ref const stream = stream_ref::default_of(runtime_of(to) == kind ? to : from);
  return dlbridge::detail::find_copy_path(from, to, stream, copier).ok() &&
         copier != runtime_kind::none &&
         with_driver(copier, [](auto const&) { return report{}; }).ok();
}
}  // namespace detail
}  // namespace python

/// Installs device_operations for this module, so that its Tensors and classes are ordered on
/// streams of CUDA and ROCm and copied between devices and the CPU. A module calls it once, in its
/// initialization. A driver is loaded when it is first needed; without one, tensors in host memory
/// work as they did before.
/// @par Thread and GIL
/// The caller holds the GIL. The operations release it while they wait for a stream or copy.
inline void use_devices() noexcept {
  python::device_operations& operations = python::device_operations::get();
  operations.order_after = [](stream_ref consumer, stream_ref producer) {
    python::gil_release const released;
    return try_order_after(consumer, producer);
  };
  operations.host_wait = [](stream_ref stream) {
    python::gil_release const released;
    return try_host_wait(stream);
  };
  operations.can_move = [](device from, device to) {
    return python::detail::has_copy_path(from, to);
  };
  operations.located = [](tensor_view const& view) { return located(view); };
  operations.move = [](tensor_view const& source, device to, stream_ref on, struct_kind kind) {
    python::gil_release const released;
    transfer_options options;
    options.kind = kind;
    return transfer(source, to, on, options);
  };
  operations.copy_host = [](tensor_view const& source, struct_kind kind) {
    return copy_of(source, layout::row_major, kind);
  };
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// use_devices: gives a module the code that orders streams and moves tensors between devices.
// layer: interpreter · side road: to the device runtimes
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
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
// Whether copies between two devices have a road, and its driver is here.
inline bool has_copy_path(device from, device to) noexcept {
  runtime_kind const kind = runtime_of_memory(from) != runtime_kind::none ? runtime_of_memory(from)
                                                                          : runtime_of_memory(to);
  runtime_kind found = runtime_kind::none;
  stream_ref const on = stream_ref::default_of(runtime_of(to) == kind ? to : from);
  return dlbridge::detail::find_copy_path(from, to, on, found).ok() &&
         found != runtime_kind::none &&
         with_driver(found, [](auto const&) { return report{}; }).ok();
}
}  // namespace detail
}  // namespace python

/// Lets this module's Tensors and classes be ordered on streams of CUDA and ROCm, and moved between
/// devices and the CPU. Once, where the module is made. The drivers are looked for when first
/// needed; without one everything on the CPU is as before.
/// GIL: held. It is released while a stream is waited for.
inline void use_devices() noexcept {
  python::device_operations& work = python::device_operations::get();
  work.order_after = [](stream_ref consumer, stream_ref producer) {
    python::gil_release const released;
    return try_order_after(consumer, producer);
  };
  work.host_wait = [](stream_ref stream) {
    python::gil_release const released;
    return try_host_wait(stream);
  };
  work.can_move = [](device from, device to) { return python::detail::has_copy_path(from, to); };
  work.located = [](tensor_view const& view) { return located(view); };
  work.move = [](tensor_view const& source, device to, stream_ref on, struct_kind kind) {
    python::gil_release const released;
    transfer_options how;
    how.kind = kind;
    return transfer(source, to, on, how);
  };
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

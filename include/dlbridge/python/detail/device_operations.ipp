// The bodies of device_operations.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/device_operations.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API device_operations& device_operations::get() noexcept {
  static device_operations operations;
  return operations;
}

namespace detail {
DLBRIDGE_API managed_tensor copy_on_host(tensor_view const& view, struct_kind kind) {
  auto* const operation = device_operations::get().copy_host;
  return operation != nullptr ? operation(view, kind) : dlbridge::detail::copy_plainly(view, kind);
}

DLBRIDGE_API bool is_on_device(device actual, device requested) noexcept {
  return actual.type == requested.type && (actual.id == requested.id || is_host_accessible(actual));
}

DLBRIDGE_API device destination(device requested) noexcept {
  return requested.type == kDLCPU ? cpu : requested;
}

DLBRIDGE_API device destination(device requested, device own) noexcept {
  return requested != cpu && is_on_device(own, requested) ? own : destination(requested);
}

DLBRIDGE_NOINLINE DLBRIDGE_API report no_device_operations(device where) noexcept {
  report r = refusal(errc::runtime_missing, "a module that works with the streams of ", "",
                     "Its author calls dlbridge::use_devices() where the module is made; until "
                     "then pass stream=-1 and order the streams yourself");
  append_name(r.expected, where);
  r.got.append("one that does not");
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report cannot_reach(device from, device to) noexcept {
  report r = refusal(errc::device_mismatch, "", name_of(from).c_str(),
                     "The producer did not move it; move it with its own library first");
  append_name(r.expected, to);
  return r;
}

DLBRIDGE_NOINLINE DLBRIDGE_API report forbidden_move(device where, device target) noexcept {
  report why =
      refusal(errc::copy_forbidden, "no copy", "", "Leave copy= out if a copy is acceptable");
  append_name(append_name(why.got.append("one from "), where).append(" to "), target);
  return why;
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API report try_order_after(stream_ref consumer,
                                                      stream_ref producer) noexcept {
  if (consumer == producer || runtime_of(producer.device()) == runtime_kind::none) {
    return report{};
  }
  auto* const operation = device_operations::get().order_after;
  return operation != nullptr ? operation(consumer, producer)
                              : detail::no_device_operations(producer.device());
}

DLBRIDGE_NOINLINE DLBRIDGE_API void order_after(stream_ref consumer, stream_ref producer) {
  report const why = python::try_order_after(consumer, producer);
  if (!why.ok()) {
    raise(why);
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API report try_host_wait(stream_ref stream) noexcept {
  auto* const operation = device_operations::get().host_wait;
  return operation != nullptr ? operation(stream) : detail::no_device_operations(stream.device());
}

DLBRIDGE_API void host_wait(stream_ref stream) {
  if (runtime_of(stream.device()) == runtime_kind::none) {
    return;
  }
  report const why = python::try_host_wait(stream);
  if (!why.ok()) {
    raise(why);
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void current_device::enter(stream_ref stream) noexcept {
  leave();
  if (device_operations::get().enter != nullptr &&
      runtime_of(stream.device()) != runtime_kind::none) {
    leave_ = device_operations::get().enter(stream, room_);
  }
}

DLBRIDGE_API void current_device::leave() noexcept {
  if (leave_ != nullptr) {
    std::exchange(leave_, nullptr)(room_);
  }
}

DLBRIDGE_API stream_ref in_current_context(stream_ref stream) noexcept {
  auto* const operation = device_operations::get().in_current_context;
  return operation != nullptr ? operation(stream) : stream;
}

DLBRIDGE_API void record_lasting_stream(managed_tensor const& tensor, stream_ref stream,
                                        PyObject* stream_object) noexcept {
  auto* const operation = device_operations::get().record_stream;
  bool const is_default = stream.canonical_handle() <= 2;
  if (operation != nullptr && runtime_of(stream.device()) != runtime_kind::none &&
      (is_default || stream_object != nullptr)) {
    static_cast<void>(operation(tensor, stream, stream_object));
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API report check_move(device from, device to) noexcept {
  auto* const operation = device_operations::get().check_move;
  return operation != nullptr ? operation(from, to) : detail::cannot_reach(from, to);
}

DLBRIDGE_API bool can_copy_in_kind(device where) noexcept {
  return runtime_of_memory(where) != runtime_kind::none && can_move(where, where);
}

DLBRIDGE_API bool lacks_driver(report const& why) noexcept {
  return why.has(errc::runtime_missing) || why.has(errc::runtime_failed) ||
         why.has(errc::not_permitted);
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool forbids_move(copy_policy copy, device from, device to,
                                                 report const& why) noexcept {
  return copy == copy_policy::never &&
         (why.ok() || lacks_driver(check_move(from, device(to.type, 0))));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

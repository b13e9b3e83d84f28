// The bodies of produce.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/lend.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/read_device.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// The last value of max_version=: consumers pass the same tuple each time.
struct last_max_version {
  PyObject* value = nullptr;  // a tuple of two int, of which a reference is held
  struct_kind kind = struct_kind::legacy;

  DLBRIDGE_LOCAL static last_max_version& get() noexcept {
    static last_max_version last;
    return last;
  }
};

inline bool read_new_struct_kind(PyObject* value, struct_kind& out) noexcept {
  version max_version;
  if (!read_version(value, max_version)) {
    return false;
  }
  out = struct_kind_for(max_version);
#if !defined(Py_GIL_DISABLED)
  if (PyTuple_CheckExact(value) && PyLong_CheckExact(detail::tuple_item(value, 0)) &&
      PyLong_CheckExact(detail::tuple_item(value, 1))) {
    last_max_version& last = last_max_version::get();
    last.kind = out;
    Py_INCREF(value);
    xdecref(std::exchange(last.value, value));
  }
#endif
  return true;
}

DLBRIDGE_INLINE bool read_struct_kind(PyObject* value, struct_kind& out) noexcept {
#if !defined(Py_GIL_DISABLED)
  if (value == last_max_version::get().value) {
    out = last_max_version::get().kind;
    return true;
  }
#endif
  return read_new_struct_kind(value, out);
}

DLBRIDGE_API void order_unnamed(device where, export_request& out) noexcept {
  if (where.type != kDLCPU) {
    out.order = unnamed_stream(where);
    out.host_reads = is_host_accessible(where);
  }
}

// Reads stream=, whose value names a stream of device where; None means its default stream. With
// dl_device=(1, 0) for a tensor that is not on the CPU, None alone is accepted (spec 4.3, 4.4).
inline bool read_order(PyObject* stream, bool to_cpu, device where, export_request& out) noexcept {
  if (stream == nullptr || stream == Py_None) {
    order_unnamed(where, out);
    return true;
  }
  if (to_cpu) {
    return refuse_value(stream, "stream",
                        "None with dl_device=(1, 0), as the data is then safe on "
                        "return",
                        errc::bad_stream);
  }
  if (where.type == kDLOneAPI && !PyLong_Check(stream) &&
      device_operations::get().order_queues != nullptr) {
    out.queue = stream;
    return true;
  }
  std::int64_t value = 0;
  if (!read_stream(stream, stream_device(where), value)) {
    return false;
  }
  return succeeded(try_read_stream(stream_device(where), value, out.order), "__dlpack__");
}

// Whether a tensor can be copied to the device that dl_device names. If not, sets a BufferError
// (spec 4.3). Its cause states why the driver of the device is not usable, if that is the reason.
inline bool can_reach(device own, device target, copy_policy copy) noexcept {
  report const why = check_move(own, target);
  if (forbids_move(copy, own, target, why)) {
    set_error(forbidden_move(own, target), "__dlpack__");
    return false;
  }
  if (why.ok()) {
    return true;
  }
  if (lacks_driver(why)) {
    set_error(why);
  }
  report r = refusal(errc::device_mismatch, "a device to which a tensor on ", "dl_device ",
                     "Move the tensor with a library that works on both devices");
  append_name(r.expected, own).append(" can be copied");
  append_name(r.got, target);
  set_error(r, "__dlpack__");
  return false;
}
}  // namespace detail

DLBRIDGE_API bool read_export_request(PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                                      device own, export_request& out) noexcept {
  names const& n = names::get();
  out.target = own;
  if (count == 0 && keywords != nullptr && detail::tuple_size(keywords) == 1 &&
      detail::tuple_item(keywords, 0) == n.max_version && args[0] != Py_None) {  // the common call
    detail::order_unnamed(own, out);
    return detail::read_struct_kind(args[0], out.kind);
  }
  PyObject* const accepted[] = {n.stream, n.max_version, n.dl_device, n.copy};
  PyObject* values[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!read_keywords("__dlpack__", 0, args, count, keywords, accepted, 4, values)) {
    return false;
  }
  out.kind = struct_kind::legacy;
  if (values[1] != Py_None && !detail::read_struct_kind(values[1], out.kind)) {
    return false;
  }
  if (values[2] != Py_None) {
    if (!read_device_pair(values[2], "dl_device", out.target)) {
      return false;
    }
    out.target = detail::destination(out.target, own);
  }
  if (!read_copy(values[3], out.copy)) {
    return false;
  }
  if (out.target != own && out.target != cpu && !detail::can_reach(own, out.target, out.copy)) {
    return false;
  }
  bool const to_cpu = values[2] != Py_None && out.target == cpu && own != cpu;
  return detail::read_order(values[0], to_cpu, to_cpu ? own : out.target, out);
}

DLBRIDGE_API void order_export(export_request const& request, stream_ref const& ready) {
  if (request.host_reads) {
    python::host_wait(ready);
  } else if (request.order.ordered) {
    python::order_after(request.order.stream, ready);
  }
}

namespace detail {
// Legacy structs have no flag for read-only memory. An array of a library whose arrays never change
// becomes one all the same, as its library makes them, too.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline read_only_policy policy_of(
    shared_tensor const& owner) noexcept {
  shared_tensor const* const first = dlbridge::detail::find_owner<shared_tensor>(owner.get());
  managed_tensor const& tensor = first != nullptr ? first->get() : owner.get();
  return find_immutable(tensor) != nullptr ? read_only_policy::drop : read_only_policy::refuse;
}

inline managed_tensor lend_as(shared_tensor const& owner, tensor_view const& view,
                              export_request const& request) {
  bool const loses_flag = request.kind == struct_kind::legacy && view.read_only();
  return lend(owner, view, request.kind, loses_flag ? policy_of(owner) : request.read_only);
}

DLBRIDGE_API bool is_served_by_host(device own, export_request const& request) noexcept {
  bool const stays = request.target == own;
  return is_host_accessible(own) && (request.target == cpu || (stays && !can_copy_in_kind(own)));
}

// Exports host-accessible memory to the CPU or to its own device: a copy, or the same memory.
inline managed_tensor export_from_host(shared_tensor const& owner, tensor_view const& view,
                                       stream_ref const& ready, export_request const& request) {
  python::host_wait(ready);
  return request.copy == copy_policy::always
             ? copy_on_host(view, request.kind)
             : lend_as(owner, view.on_device(request.target), request);
}

// Copies to the requested device: on the consumer's stream where streams work on that device (spec
// 4.3), else on the tensor's own stream.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline managed_tensor export_moved(shared_tensor const& owner,
                                                                   tensor_view const& view,
                                                                   stream_ref const& ready,
                                                                   export_request const& request) {
  device const own = view.device();
  if (request.copy == copy_policy::never || !can_move(own, request.target)) {
    raise(refusal(request.copy == copy_policy::never ? errc::copy_forbidden : errc::device_mismatch,
                  "memory that the CPU can read", name_of(own).c_str(),
                  "Move the tensor with its own library first"));
  }
  stream_request const& order = request.order;
  bool const on_consumer = order.ordered && runtime_of(request.target) != runtime_kind::none;
  stream_ref const stream = on_consumer ? order.stream
                            : runtime_of(own) != runtime_kind::none
                                ? ready
                                : stream_ref::default_of(request.target);
  python::order_after(stream, ready);
  managed_tensor moved = device_operations::get().move(
      move_request{owner, view, request.target, stream, request.kind});
  record_lasting_stream(moved, order.stream);
  return moved;
}

// Exports what is not the memory as it is on its device. Not DLBRIDGE_API, as exports of that are
// common.
DLBRIDGE_NOINLINE inline managed_tensor export_changed(shared_tensor const& owner,
                                                       tensor_view const& view,
                                                       stream_ref const& ready,
                                                       export_request const& request) {
  return is_served_by_host(view.device(), request) ? export_from_host(owner, view, ready, request)
                                                   : export_moved(owner, view, ready, request);
}
}  // namespace detail

DLBRIDGE_API managed_tensor export_tensor(shared_tensor const& owner, tensor_view const& view,
                                          stream_ref const& ready, export_request const& request) {
  device const own = view.device();
  bool const stays = request.target == own;
  if (stays && request.copy != copy_policy::always) {
    if (own.type != kDLCPU) {
      order_export(request, ready);
      record_lasting_stream(owner.get(), request.order.stream);
    }
    return detail::lend_as(owner, view, request);
  }
  return detail::export_changed(owner, view, ready, request);
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API void raise_to_consumer(report why) {
  if (why.has(errc::read_only)) {
    why.advice =
        "Give the consumer dlbridge.to_dlpack(x, copy=True) where it takes capsules, or else "
        "dlbridge.as_tensor(x, copy=True); or dlbridge.as_tensor(x, readonly=False) if it does not "
        "write. Callers of __dlpack__ and to_dlpack can pass max_version=(1, 0)";
  } else if (why.has(errc::version_mismatch)) {
    why.advice = "Pass max_version=(1, 1)";
  }
  raise(why);
}
}  // namespace detail

DLBRIDGE_API ref produce(shared_tensor const& owner, tensor_view const& view,
                         stream_ref const& ready, export_request const& request,
                         char const* caller) noexcept {
  managed_tensor tensor;
  auto const build = [&] { return export_tensor(owner, view, ready, request); };
  if (!guarded([&] { tensor = build_for_consumer(build); }, caller)) {
    return ref();
  }
  return wrap_capsule(std::move(tensor));
}

DLBRIDGE_API ref device_pair(device where) noexcept {
  static lazy_object cpu_pair;
  auto const make_pair = [where]() noexcept {
    return ref::steal(api<Py_BuildValue>("(ii)", int{where.type}, int{where.id}));
  };
  return where == cpu ? ref::borrow(cpu_pair.get(make_pair)) : make_pair();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

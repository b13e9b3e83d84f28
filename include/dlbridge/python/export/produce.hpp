// The producer algorithm behind __dlpack__ and __dlpack_device__: parse, decide, copy, wrap.
// layer: export · OUT: from a tensor that Python holds to a capsule
#pragma once

#include <utility>

#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/version.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What a consumer asked for, decided for a tensor on a given device.
struct export_request {
  struct_kind kind = struct_kind::legacy;
  copy_policy copy = copy_policy::if_needed;
  device target = cpu;
  stream_request order;
  read_only_policy read_only = read_only_policy::refuse;
};

namespace detail {
// stream=: None means the default stream of the device the data will be on, and anything but None
// is wrong together with the CPU as dl_device (spec 4.3, 4.4).
inline bool read_order(PyObject* stream, bool to_cpu, device where, export_request& out) noexcept {
  if (stream == nullptr || stream == Py_None) {
    out.order = unnamed_stream(where);
    return true;
  }
  if (to_cpu) {
    return refuse_value(stream, "stream",
                        "None with dl_device=(1, 0), as the data is then safe on "
                        "return",
                        errc::bad_stream);
  }
  std::int64_t value = 0;
  if (!read_stream(stream, where, value)) {
    return false;
  }
  report const why = try_read_stream(where, value, out.order);
  if (!why.ok()) {
    set_error(why, "__dlpack__");
  }
  return why.ok();
}
}  // namespace detail

/// Reads the arguments of __dlpack__(*, stream, max_version, dl_device, copy) for a tensor on
/// device own (spec 4.3). False with TypeError for a positional argument or an unknown keyword,
/// ValueError for a bad value, BufferError for a device that the tensor cannot be brought to.
inline bool read_export_request(PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                                device own, export_request& out) noexcept {
  names const& n = names::get();
  PyObject* const accepted[] = {n.stream, n.max_version, n.dl_device, n.copy};
  PyObject* given[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!read_keywords("__dlpack__", 0, args, count, keywords, accepted, 4, given)) {
    return false;
  }
  version max_version;
  if (given[1] != Py_None && !read_version(given[1], max_version)) {
    return false;
  }
  out.kind = struct_kind_for(max_version);
  out.target = own;
  if (given[2] != Py_None && !read_device_pair(given[2], "dl_device", out.target)) {
    return false;
  }
  if (out.target != own && out.target != cpu && !can_move(own, out.target)) {
    report r = refusal(errc::device_mismatch, name_of(own).c_str(), "dl_device ",
                       "Move the tensor with a library that works on both devices");
    r.expected.append(own != cpu ? " or cpu" : "");
    r.got.append(name_of(out.target).c_str());
    set_error(r, "__dlpack__");
    return false;
  }
  bool const to_cpu = given[2] != Py_None && out.target == cpu && own != cpu;
  return read_copy(given[3], out.copy) &&
         detail::read_order(given[0], to_cpu, to_cpu ? own : out.target, out);
}

namespace detail {
// A copy, or the same memory, for a consumer on the CPU's side of what the CPU can read.
inline managed_tensor export_from_host(shared_tensor const& owner, tensor_view const& view,
                                       stream_ref ready, export_request const& request) {
  python::host_wait(ready);
  return request.copy == copy_policy::always
             ? copy_of(view, layout::row_major, request.kind)
             : lend(owner, view.on_device(request.target), request.kind, request.read_only);
}

// A copy where it was asked for: on another device made on the consumer's stream, else on the
// tensor's own.
inline managed_tensor export_moved(tensor_view const& view, stream_ref ready,
                                   export_request const& request) {
  device const own = view.device();
  if (request.copy == copy_policy::never || !can_move(own, request.target)) {
    raise(refusal(request.copy == copy_policy::never ? errc::copy_forbidden : errc::device_mismatch,
                  "memory that the CPU can read", name_of(own).c_str(),
                  "Move the tensor with its own library first"));
  }
  stream_request const& order = request.order;
  bool const to_runtime = runtime_of(request.target) != runtime_kind::none;
  bool const on_theirs = order.ordered && to_runtime && request.target != own;
  stream_ref const on = on_theirs ? order.stream
                        : runtime_of(own) != runtime_kind::none
                            ? ready
                            : stream_ref::default_of(request.target);
  python::order_after(on, ready);
  managed_tensor moved = device_operations::get().move(view, request.target, on, request.kind);
  if (order.ordered && to_runtime) {
    python::order_after(order.stream, on);
  }
  return moved;
}
}  // namespace detail

/// A managed tensor for the request, on what view shows of a tensor that owner shares, or a copy.
/// ready is the stream on which its elements are; the consumer's stream is made to wait for it.
/// owns: a share of the owner. thread and GIL: not needed by what it gives.
/// fails: read_only, version_mismatch, out_of_memory; copy_forbidden, device_mismatch (the CPU
/// cannot read it, and nothing moves it); as try_order, try_wait and device_operations::move.
inline managed_tensor export_tensor(shared_tensor const& owner, tensor_view const& view,
                                    stream_ref ready, export_request const& request) {
  device const own = view.device();
  bool const stays = request.target == own;
  if (stays && request.copy != copy_policy::always) {
    if (request.order.ordered) {
      python::order_after(request.order.stream, ready);
    }
    return lend(owner, view, request.kind, request.read_only);
  }
  return is_host_accessible(own) && (stays || request.target == cpu)
             ? detail::export_from_host(owner, view, ready, request)
             : detail::export_moved(view, ready, request);
}

/// The capsule for a request; none with a Python exception set.
inline ref produce(shared_tensor const& owner, tensor_view const& view, stream_ref ready,
                   export_request const& request) noexcept {
  managed_tensor made;
  if (!guarded([&] { made = export_tensor(owner, view, ready, request); }, "__dlpack__")) {
    return ref();
  }
  return wrap_capsule(std::move(made));
}

/// What __dlpack_device__ gives: (type, id). The CPU's is made once.
DLBRIDGE_LOCAL inline ref device_pair(device where) noexcept {
  static PyObject* const cpu_pair = Py_BuildValue("(ii)", int{kDLCPU}, 0);
  return where == cpu ? ref::borrow(cpu_pair)
                      : ref::steal(Py_BuildValue("(ii)", int{where.type}, int{where.id}));
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

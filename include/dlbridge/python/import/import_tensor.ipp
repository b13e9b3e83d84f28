// The bodies of import_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/import_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Copies a tensor to another device, or one that the CPU cannot read, in the order of a stream.
// named: the stream that the caller named, or null. Sets ready to the stream on which the copy is
// ready; the caller records that stream for the memory (record_lasting_stream), as it knows the
// object that owns it. Throws.
inline managed_tensor move_tensor(managed_tensor m, device to, stream_ref on, PyObject* named,
                                  stream_ref& ready) {
  python::order_after(on, ready);
  tensor_view const source = m.view();
  shared_tensor const owner(std::move(m));
  managed_tensor moved = device_operations::get().move(
      move_request{owner, source, to, on, struct_kind::versioned, named == nullptr});
  ready = runtime_of(to) == runtime_kind::none ? stream_ref::default_of(to) : on;
  return moved;
}

// The tensor on device cpu: on the same memory, which is host-accessible (pinned or managed), or a
// copy. Throws.
inline managed_tensor fulfil_on_host(managed_tensor m, bool wants_copy, stream_ref& ready) {
  python::host_wait(ready);
  ready = stream_ref::default_of(cpu);
  if (wants_copy) {
    return copy_on_host(m.view(), struct_kind::versioned);
  }
  description d = describe(m);
  d.device = cpu;
  return build_on(std::move(m), d);
}

DLBRIDGE_API managed_tensor fulfil_request(managed_tensor m, import_request const& request,
                                           bool wants_copy, stream_ref& ready) noexcept {
  device const where = m.view().device();
  device const target = request.has_target ? request.target : where;
  bool const elsewhere = !is_on_device(where, target);
  if (!elsewhere && !wants_copy) {
    return m;
  }
  bool const on_host = stays_on_host(where, target);
  report why = on_host ? report{} : check_move(where, target);
  if (!why.ok() && !elsewhere && !lacks_driver(why)) {
    why = refusal(errc::device_mismatch, "memory that the CPU can read, to copy it",
                  name_of(where).c_str(), "Copy the tensor with its own library first");
  } else if (!on_host && elsewhere && forbids_move(request.copy, where, target, why)) {
    why = forbidden_move(where, target);
  }
  if (!why.ok()) {
    m = managed_tensor();
    set_error(why);
    return m;
  }
  managed_tensor result;
  stream_ref on = ready;
  bool const is_named = request.names_stream();
  bool const chooses = runtime_of(target) != runtime_kind::none && (elsewhere || is_named);
  std::int64_t value = -1;  // of stream=; -1 for no order
  bool const done = (!chooses || choose_stream(request.stream, target, on, &value)) && guarded([&] {
                      PyObject* const named = is_named && value != -1 ? request.stream : nullptr;
                      result = on_host ? fulfil_on_host(std::move(m), wants_copy, ready)
                                       : move_tensor(std::move(m), target, on, named, ready);
                    });
  error_keeper const pending;
  m = managed_tensor();
  if (!done) {
    result = managed_tensor();
  }
  return result;
}

// Chooses the stream on which the elements of a capsule are ready. A capsule states none, so they
// are ready on the default stream, after which the stream that the caller named is ordered. A named
// stream of another device, to which the tensor then moves, is ordered by that move.
inline bool order_capsule(device where, import_request const& request, stream_ref& ready) noexcept {
  ready = stream_ref::default_of(where);
  bool const is_named = request.names_stream();
  bool const moves = request.has_target && !is_on_device(where, request.target);
  device const worker = stream_device(where);
  if (!is_named || runtime_of(worker) == runtime_kind::none ||
      (moves && runtime_of(request.target) != runtime_kind::none)) {
    return true;
  }
  stream_ref named = ready;
  std::int64_t value = 0;
  return choose_stream(request.stream, worker, named, &value) && guarded([&] {
           if (value != -1) {
             python::order_after(named, ready);
           }
           ready = named;
         });
}

DLBRIDGE_API managed_tensor import_by_call(PyObject* producer, import_request const& request,
                                           stream_ref& ready) noexcept {
  bool wants_copy = request.copy == copy_policy::always;
  managed_tensor tensor;
  if (PyCapsule_CheckExact(producer)) {
    tensor = import_capsule(producer);
    if (tensor && !order_capsule(tensor.view().device(), request, ready)) {
      error_keeper const pending;
      tensor = managed_tensor();
    }
  } else {
    dlpack_import call(producer, request);
    tensor = call.run();
    if (tensor) {
      tensor = call.complete(std::move(tensor), ready, wants_copy);
    }
  }
  return tensor && !request.takes_as_it_is()
             ? fulfil_request(std::move(tensor), request, wants_copy, ready)
             : std::move(tensor);
}
}  // namespace detail

DLBRIDGE_API managed_tensor import_tensor(PyObject* producer, import_request const& request,
                                          stream_ref& ready) noexcept {
  if (!PyCapsule_CheckExact(producer) && request.takes_as_it_is()) {
    managed_tensor tensor = detail::import_by_table(type_cache::get(Py_TYPE(producer)), producer,
                                                    request.stream, ready);
    if (tensor || PyErr_Occurred() != nullptr) {
      return tensor;
    }
  }
  return detail::import_by_call(producer, request, ready);
}

DLBRIDGE_API managed_tensor import_tensor(PyObject* producer,
                                          import_request const& request) noexcept {
  stream_ref ready = stream_ref::default_of(cpu);
  return import_tensor(producer, request, ready);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

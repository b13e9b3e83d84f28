// consume: imports the tensor of a DLPack producer, or of a raw capsule.
// layer: import · from a Python object to a managed tensor
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/by_table.hpp>
#include <dlbridge/python/import/detail/import_call.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// Imports the tensor of a raw capsule, as its producer exported it. Returns an empty tensor, with
// an exception set, on failure.
inline managed_tensor consume_capsule(PyObject* capsule) noexcept {
  report why;
  managed_tensor tensor = steal_capsule(capsule, why);
  if (!why.ok()) {
    set_error(why);
  }
  return tensor;
}

// As consume() by __dlpack__, for the argument of a function, which requests neither a device nor a
// copy nor a stream.
inline managed_tensor consume_argument(PyObject* producer) noexcept {
  if (PyCapsule_CheckExact(producer)) {
    return consume_capsule(producer);
  }
  consume_request const request;
  return import_call<true>(producer, request).run();
}
}  // namespace detail

/// Imports the tensor of a producer, or of a raw capsule.
/// @param producer the producer or the capsule.
/// @param request the requested device, copy and stream.
/// @param[out] ready the stream of the tensor's device on which its elements are ready: the
///   requested stream, or the default stream.
/// @return the tensor; empty, with a Python exception set, on failure. The exception is the
///   producer's own, unchanged; CopyForbiddenError when copy=False cannot be fulfilled; else that
///   of not_a_producer, not_a_capsule, capsule_used, producer_failed, device_mismatch, bad_stream,
///   bad_argument, or as for managed_tensor::steal and device_operations::move.
/// @par Ownership
/// The caller owns the result. On failure the producer still owns its tensor, or it has been freed.
/// @par Stream order
/// The caller enqueues work on the elements on ready, or orders it after ready.
/// @par Thread and GIL
/// The caller holds the GIL. The function calls Python code, which may release it.
inline managed_tensor consume(PyObject* producer, consume_request const& request,
                              stream_ref& ready) noexcept {
  if (!PyCapsule_CheckExact(producer)) {
    managed_tensor tensor;
    if (!request.by_protocol && request.takes_as_it_is()) {
      type_entry storage;
      tensor = detail::import_by_table(type_cache::get(Py_TYPE(producer), storage), producer,
                                       request.stream, ready);
      if (tensor || PyErr_Occurred() != nullptr) {
        return tensor;
      }
    }
    detail::import_call<false> call(producer, request);
    tensor = call.run();
    ready = call.ready_on();
    return tensor;
  }
  managed_tensor tensor = detail::consume_capsule(producer);
  if (!tensor) {
    return tensor;
  }
  ready = stream_ref::default_of(tensor.view().device());  // a capsule states no stream
  if (request.fulfil == nullptr) {
    return tensor;
  }
  return request.fulfil(std::move(tensor), request, request.copy == copy_policy::always, ready);
}
/// The same for callers that do not need the stream.
inline managed_tensor consume(PyObject* producer, consume_request const& request) noexcept {
  stream_ref ready = stream_ref::default_of(cpu);
  return consume(producer, request, ready);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// consume: imports the tensor of a DLPack producer, or of a raw capsule.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/fulfil.hpp>
#include <dlbridge/python/import/detail/import_call.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
// Chooses the stream on which the elements of a capsule are ready. A capsule states none, so they
// are ready on the default stream, after which the stream that the caller named is ordered. A named
// stream of another device, to which the tensor then moves, is ordered by that move.
inline bool order_capsule(device where, consume_request const& request,
                          stream_ref& ready) noexcept {
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

// As consume(), without the table of the type.
inline managed_tensor consume_by_call(PyObject* producer, consume_request const& request,
                                      stream_ref& ready) noexcept {
  bool wants_copy = request.copy == copy_policy::always;
  managed_tensor tensor;
  if (PyCapsule_CheckExact(producer)) {
    tensor = consume_capsule(producer);
    if (tensor && !order_capsule(tensor.view().device(), request, ready)) {
      error_keeper const pending;
      tensor = managed_tensor();
    }
  } else {
    import_call call(producer, request);
    tensor = call.run();
    if (tensor) {
      tensor = call.complete(std::move(tensor), ready, wants_copy);
    }
  }
  return tensor ? fulfil_request(std::move(tensor), request, wants_copy, ready) : std::move(tensor);
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
  if (!PyCapsule_CheckExact(producer) && request.takes_as_it_is()) {
    type_cache::storage uncached;
    managed_tensor tensor = detail::consume_by_table(type_cache::get(Py_TYPE(producer), uncached),
                                                     producer, request.stream, ready);
    if (tensor || PyErr_Occurred() != nullptr) {
      return tensor;
    }
  }
  return detail::consume_by_call(producer, request, ready);
}
/// The same for callers that do not need the stream.
inline managed_tensor consume(PyObject* producer, consume_request const& request) noexcept {
  stream_ref ready = stream_ref::default_of(cpu);
  return consume(producer, request, ready);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

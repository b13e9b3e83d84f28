// queue_of, order_queues: stream= on oneAPI, where a stream is a queue object such as dpctl's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// Whether stream= of a device is a SYCL queue (spec 4.8). dlbridge calls the methods of the object
/// and does not load SYCL, whose C++ interface has no stable ABI.
constexpr bool has_queues(device where) noexcept { return where.type == kDLOneAPI; }

/// Whether an object is a queue: it has submit_barrier, as dpctl.SyclQueue has.
/// @return false, with or without an exception set.
inline bool is_queue(PyObject* object) noexcept {
  return object != nullptr && object != Py_None && !PyLong_Check(object) &&
         optional_attribute(object, "submit_barrier");
}

/// Reads stream= on a device without streams: None, -1 or, on oneAPI, a queue; on a device whose
/// memory the CPU can read, anything.
/// @param queue set to the queue, borrowed; null where the caller named none.
/// @return false, with an exception set, for another value.
DLBRIDGE_COLD inline bool read_queue(PyObject* named, device where, PyObject*& queue) noexcept {
  queue = nullptr;
  if (named == nullptr || named == Py_None || is_host_accessible(where)) {
    return true;
  }
  if (has_queues(where) && !PyLong_Check(named)) {
    queue = named;
    return is_queue(named) ||
           refuse_value(named, "stream", "None, -1 or a SYCL queue with submit_barrier",
                        errc::bad_stream);
  }
  std::int64_t value = 0;
  stream_request request;
  return read_stream(named, where, value) && succeeded(try_read_stream(where, value, request));
}

/// The queue after whose work the elements of an imported tensor are ready: the one that the caller
/// named as stream=, else the attribute sycl_queue of the producer, as the arrays of dpctl and dpnp
/// have it.
/// @return the queue; empty if there is none, or with an exception set that is not suppressible.
inline ref queue_of(PyObject* producer, PyObject* named) noexcept {
  if (named != nullptr && named != Py_None) {
    return is_queue(named) ? ref::borrow(named) : ref();
  }
  ref queue = producer != nullptr ? optional_attribute(producer, "sycl_queue") : ref();
  bool const is_usable = queue && is_queue(queue.get());
  static_cast<void>(suppress_exception());  // the import itself has succeeded
  return is_usable ? std::move(queue) : ref();
}

// Returns false, with bad_stream set, where the queue of a tensor is null.
DLBRIDGE_COLD inline bool knows_queue(PyObject* queue) noexcept {
  return queue != nullptr ||
         succeeded(
             refusal(errc::bad_stream, "a tensor whose queue is known",
                     "one that was imported without stream=",
                     "Import it with stream=queue, or order the queues yourself and pass -1"));
}

/// Makes the host wait for the work that a queue has received.
/// @param queue null if it is not known, which is an error.
/// @return false, with an exception set: bad_stream, or that of the queue.
DLBRIDGE_COLD inline bool wait_for_queue(PyObject* queue) noexcept {
  return knows_queue(queue) &&
         static_cast<bool>(ref::steal(api<PyObject_CallMethod>(queue, "wait", nullptr)));
}

/// Makes later work of a queue wait for the work that another queue has received.
/// @param earlier null if it is not known, which is an error.
/// @return false, with an exception set: bad_stream, or that of a queue.
inline bool order_queues(PyObject* later, PyObject* earlier) noexcept {
  if (!knows_queue(earlier)) {
    return false;
  }
  ref const event = ref::steal(api<PyObject_CallMethod>(earlier, "submit_barrier", nullptr));
  ref const done =
      event ? ref::steal(api<PyObject_CallMethod>(later, "submit_barrier", "([O])", event.get()))
            : ref();
  return static_cast<bool>(done);
}

/// As device_operations::order_queues.
inline bool order_named_queue(PyObject* named, PyObject* earlier) noexcept {
  PyObject* queue = nullptr;
  return read_queue(named, device(kDLOneAPI, 0), queue) && order_queues(queue, earlier);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

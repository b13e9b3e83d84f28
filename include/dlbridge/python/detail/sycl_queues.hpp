// queue_of, order_queues: stream= on oneAPI, where a stream is a queue object such as dpctl's.
// layer: interpreter · values of Python arguments
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
/// Whether stream= of a device is a SYCL queue (spec 4.8). dlbridge calls the methods of the object
/// and does not load SYCL, whose C++ interface has no stable ABI.
constexpr bool has_queues(device where) noexcept { return where.type == kDLOneAPI; }

/// Whether an object is a queue: it has submit_barrier, as dpctl.SyclQueue has.
/// @return false, with or without an exception set.
inline bool is_queue(PyObject* object) noexcept {
  return object != nullptr && object != Py_None && !PyLong_Check(object) &&
         optional_attribute(object, "submit_barrier");
}

/// The queue after whose work the elements of an imported tensor are ready: the one that the caller
/// named as stream=, else the attribute sycl_queue of the producer, as the arrays of dpctl and dpnp
/// have it.
/// @return the queue; empty if there is none, or with an exception set that is not forgivable.
inline ref queue_of(PyObject* producer, PyObject* named) noexcept {
  if (named != nullptr && named != Py_None) {
    return is_queue(named) ? ref::borrow(named) : ref();
  }
  ref queue = producer != nullptr ? optional_attribute(producer, "sycl_queue") : ref();
  bool const is_usable = queue && is_queue(queue.get());
  static_cast<void>(forgive_exception());  // the import itself has succeeded
  return is_usable ? std::move(queue) : ref();
}

/// Makes later work of a queue wait for the work that another queue has received.
/// @param earlier null if it is not known, which is an error.
/// @return false, with an exception set: bad_stream, or that of a queue.
inline bool order_queues(PyObject* later, PyObject* earlier) noexcept {
  if (earlier == nullptr) {
    set_error(refusal(errc::bad_stream, "a tensor whose queue is known",
                      "one that was imported without stream=",
                      "Import it with stream=queue, or order the queues yourself and pass -1"));
    return false;
  }
  ref const event = ref::steal(api<PyObject_CallMethod>(earlier, "submit_barrier", nullptr));
  ref const done =
      event ? ref::steal(api<PyObject_CallMethod>(later, "submit_barrier", "([O])", event.get()))
            : ref();
  return static_cast<bool>(done);
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

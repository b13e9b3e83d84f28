// import_described_memory: imports the memory of an object without DLPack.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>

#include "core.hpp"
#include "tensor/remedies.hpp"

namespace core DLBRIDGE_LOCAL {
// Reads the stream of a __cuda_array_interface__, and orders the stream that the caller named, if
// any, after it; -1 names none. An interface without a stream requires no order: its elements are
// ready.
DLBRIDGE_COLD inline bool order_interface(PyObject* described, device memory, PyObject* named,
                                          stream_ref& ready) noexcept {
  device const where = stream_device(memory);
  ref const stream = dict_item(described, names::get().stream);
  stream_ref elements = stream_ref::default_of(where);
  std::int64_t value = 0;
  if (PyErr_Occurred() != nullptr || !choose_stream(stream.get(), where, elements)) {
    if (stream && PyErr_ExceptionMatches(PyExc_ValueError)) {
      refuse_interface(stream.get(), "stream", "None, 1, 2 or a handle");
    }
    return false;
  }
  return choose_stream(named, where, ready, &value) && guarded([&] {
           if (named == nullptr || named == Py_None || value == -1) {
             ready = elements;
           } else if (stream && stream.get() != Py_None) {
             python::order_after(ready, elements);
           }
         });
}

// CUDA memory that __cuda_array_interface__ describes, on the device that the driver reports: the
// interface states none.
inline managed_tensor from_cuda_interface(PyObject* object, PyObject* described, PyObject* named,
                                          stream_ref& ready) noexcept {
  managed_tensor tensor = from_array_interface(object, described, device(kDLCUDA, 0));
  device_operations const& operations = device_operations::get();
  if (!tensor) {
    return tensor;
  }
  bool const done = guarded([&] {
    description d = describe(tensor);
    d.device = operations.located != nullptr ? operations.located(tensor.view()) : d.device;
    tensor = build_on(std::move(tensor), d);
  });
  if (!done || !order_interface(described, tensor.view().device(), named, ready)) {
    error_keeper const pending;
    tensor = managed_tensor();
  }
  return tensor;
}
// Imports the memory of an object without DLPack by the buffer protocol, `__array_interface__`,
// `__cuda_array_interface__`, or Arrow's PyCapsule interface: the first of these that it has.
// @param named the stream= argument of the caller, or None.
// @param ready set to the stream on which the elements are ready. For stream=-1 that is the stream
//   of the interface, which code that reads the elements requires.
// @return the tensor; empty on failure, with an exception set as by from_buffer,
//   from_array_interface, from_arrow and order_after, or that of bad_stream; not_a_producer when
//   the object has none of them.
// @par Ownership
// The tensor holds the object, or its exported buffer.
// @par Thread and GIL
// The caller holds the GIL. Python code runs.
inline managed_tensor import_described_memory(PyObject* object, PyObject* named,
                                              stream_ref& ready) noexcept {
  ready = stream_ref::default_of(cpu);
  if (PyObject_CheckBuffer(object)) {
    return may_read_buffer(object) ? from_buffer(object) : managed_tensor();
  }
  names const& n = names::get();
  if (ref const described = optional_attribute(object, n.array_interface)) {
    return from_array_interface(object, described.get(), cpu);
  }
  if (PyErr_Occurred() != nullptr) {
    return managed_tensor();
  }
  if (ref const described = optional_attribute(object, n.cuda_array_interface)) {
    return from_cuda_interface(object, described.get(), named, ready);
  }
  if (PyErr_Occurred() != nullptr) {
    return managed_tensor();
  }
  if (has_arrow(object)) {
    return from_arrow(object);
  }
  set_no_producer(object, false, &remedy_for_import,
                  ", a buffer, an array interface, or an Arrow array");
  return managed_tensor();
}
}  // namespace core DLBRIDGE_LOCAL

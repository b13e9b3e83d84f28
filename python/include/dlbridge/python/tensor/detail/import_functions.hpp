// from_dlpack, as_tensor: import an object to a Tensor, by the first way that serves it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/detail/sycl_queues.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/consume.hpp>
#include <dlbridge/python/import/detail/fulfil.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/described_memory.hpp>
#include <dlbridge/python/tensor/detail/direct_imports.hpp>
#include <dlbridge/python/tensor/detail/remedies.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/python/tensor/text_types.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>

namespace core DLBRIDGE_LOCAL {
// The keyword arguments of from_dlpack and as_tensor.
struct import_arguments {
  consume_request request{};
  PyObject* readonly = Py_None;
  PyObject* producer = nullptr;  // borrowed: the object to import, for the queue that it has
  stream_ref ready = stream_ref::default_of(cpu);  // set by the import: where elements are ready
};

// Reads device=, where every ordinal of the CPU names the CPU.
inline void read_target(PyObject* value, device& out) {
  require(read_known_device(value, out));
  out = destination(out);
}

inline void read_import_arguments(char const* function, PyObject* const* args, Py_ssize_t count,
                                  PyObject* keywords, import_arguments& out) {
  if (count == 1 && keywords == nullptr) {
    return;
  }
  names const& n = names::get();
  PyObject* const accepted[] = {n.device, n.copy, n.stream, n.readonly};
  PyObject* values[4] = {Py_None, Py_None, Py_None, Py_None};
  require(read_keywords(function, 1, args, count, keywords, accepted, 4, values));
  out.request.has_target = values[0] != Py_None;
  out.request.stream = values[2];
  out.readonly = values[3];
  require(out.readonly == Py_None || PyBool_Check(out.readonly) ||
          refuse_value(out.readonly, "readonly", "True, False or None"));
  if (out.request.has_target) {
    read_target(values[0], out.request.target);
  }
  require(read_copy(values[1], out.request.copy));
}

// Names the CPU by ordinal 0 where device= names the CPU, whatever the ordinal of the producer.
inline ref at_target(ref tensor, consume_request const& request) noexcept {
  if (tensor && request.has_target && request.target == cpu) {
    tensor_view& view = tensor_in(tensor.get()).view;
    view = view.device().type == kDLCPU ? view.on_device(cpu) : view;
  }
  return tensor;
}

inline ref wrap_imported(managed_tensor m, import_arguments const& arguments) {
  ref tensor = checked(wrap_tensor(std::move(m)));
  tensor_object& self = tensor_in(tensor.get());
  if (runtime_of(arguments.ready.device()) != runtime_kind::none) {
    be_ready_on(self, arguments.ready, arguments.request.stream);
  }
  if (has_queues(self.view.device())) {
    set_queue(self, queue_of(arguments.producer, arguments.request.stream));
    require(PyErr_Occurred() == nullptr);
  }
  return ref::steal(
      apply_readonly(at_target(std::move(tensor), arguments.request), arguments.readonly));
}

// Imports without a call of the producer: reads the fields of an ndarray, or shares the owner of a
// Tensor. Returns an empty reference where that is not possible.
inline ref import_without_call(PyObject* object, import_arguments const& arguments) {
  consume_request const& request = arguments.request;
  if (can_share(object, request)) {
    return at_target(checked(share_imported(object, arguments.readonly, request.stream)), request);
  }
  if (request.has_target || request.copy == copy_policy::never) {
    return ref();
  }
  type_cache::storage uncached;
  type_entry const& type = type_cache::get(Py_TYPE(object), uncached);
  ref tensor = request.copy != copy_policy::always ? import_array(type, object)
               : is_tensor(object)                 ? copy_of_tensor(object)
                                                   : copy_of_array(type, object);
  require(tensor || PyErr_Occurred() == nullptr);
  return ref::steal(apply_readonly(std::move(tensor), arguments.readonly));
}

// Whether a Tensor is copied to a device on a stream that the caller named, without its __dlpack__,
// which would wait for the copy. Requests for which this is false go to __dlpack__.
// @pre can_share returned false.
inline bool moves_on_stream(PyObject* object, consume_request const& request) noexcept {
  bool const is_named = request.stream != nullptr && request.stream != Py_None;
  if (!is_named || !is_tensor(object) || request.copy == copy_policy::never) {
    return false;
  }
  device const where = tensor_in(object).view.device();
  device const target = request.has_target ? request.target : where;
  return runtime_of(target) != runtime_kind::none && can_move(where, target);
}

// As consume(). Moves such a Tensor without a call of its __dlpack__.
inline managed_tensor import_managed(PyObject* object, consume_request const& request,
                                     stream_ref& ready) {
  if (!moves_on_stream(object, request)) {
    return consume(object, request, ready);
  }
  tensor_object& self = tensor_in(object);
  ready = self.ready_on();
  return fulfil_request(dlbridge::lend(share(self), self.view, struct_kind::versioned), request,
                        request.copy == copy_policy::always, ready);
}

// Imports a producer, or a capsule.
inline ref import_producer(PyObject* object, import_arguments& arguments) {
  ref direct = arguments.request.must_call_dlpack ? ref() : import_without_call(object, arguments);
  if (direct) {
    return direct;
  }
  arguments.producer = object;
  return wrap_imported(import_managed(object, arguments.request, arguments.ready), arguments);
}

DLBRIDGE_NOINLINE inline ref from_dlpack_with(PyObject* const* args, Py_ssize_t count,
                                              PyObject* keywords, bool must_call_dlpack) {
  import_arguments arguments;
  arguments.request.must_call_dlpack = must_call_dlpack;
  read_import_arguments("from_dlpack", args, count, keywords, arguments);
  arguments.request.remedy = &remedy_for_import;
  return import_producer(args[0], arguments);
}

inline PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t count,
                             PyObject* keywords) noexcept {
  bool must_call_dlpack = false;
  if (count == 1 && keywords == nullptr) {
    ref tensor = import_plainly(args[0], must_call_dlpack);
    if (tensor || PyErr_Occurred() != nullptr) {
      return tensor.release();
    }
  }
  return entry<&from_dlpack_with>::call(args, count, keywords, must_call_dlpack);
}

// Whether an object is a capsule, or has __dlpack__ or an exchange table.
inline bool has_dlpack(PyObject* object) {
  if (PyCapsule_CheckExact(object)) {
    return true;
  }
  type_entry const type = type_cache::get_copy(Py_TYPE(object));
  if (type.takes_self || type.defines_table) {
    return true;
  }
  ref const method = optional_attribute(object, names::get().dlpack);
  require(method || PyErr_Occurred() == nullptr);
  return method && method.get() != Py_None;
}

// Whether the pending exception of a producer may be due to a legacy struct, which has no flag for
// read-only memory, and the object has a buffer, which has one. NumPy before 2.1 refuses read-only
// arrays by BufferError, and up to 1.23 by TypeError.
inline bool prefers_buffer(PyObject* object) noexcept {
  return (PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_TypeError)) &&
         PyObject_CheckBuffer(object) && !PyCapsule_CheckExact(object);
}

// After stream=-1, where the caller orders the streams, a tensor is ready on the default stream.
// Returns false with an exception set if stream= cannot be read.
inline bool forget_unordered(PyObject* named, stream_ref& ready) noexcept {
  stream_ref chosen = ready;
  std::int64_t value = 0;
  if (stream_object_in(named) == nullptr && !choose_stream(named, ready.device(), chosen, &value)) {
    return false;
  }
  ready = value == -1 ? chosen : ready;
  return true;
}

// Imports what a buffer or an array interface describes. If it describes nothing, an exception that
// is pending before stays the one to report.
DLBRIDGE_COLD inline managed_tensor import_described(PyObject* object,
                                                     import_arguments& arguments) noexcept {
  consume_request const& request = arguments.request;
  ref first = take_exception();
  managed_tensor tensor = consume_described(object, request.stream, arguments.ready);
  if (!tensor && first && suppress_exception()) {
    set_exception(std::move(first));
  }
  if (!tensor) {
    return tensor;
  }
  tensor = fulfil_request(std::move(tensor), request, request.copy == copy_policy::always,
                          arguments.ready);
  if (tensor && !forget_unordered(request.stream, arguments.ready)) {
    error_keeper const pending;
    tensor = managed_tensor();
  }
  return tensor;
}

// Imports an object by the first protocol that it supports.
inline ref import_any(PyObject* object, import_arguments& arguments) {
  arguments.producer = object;
  if (ref direct = import_without_call(object, arguments)) {
    return direct;
  }
  if (has_dlpack(object)) {
    managed_tensor tensor = import_managed(object, arguments.request, arguments.ready);
    if (tensor || !prefers_buffer(object)) {
      return wrap_imported(std::move(tensor), arguments);
    }
  }
  return wrap_imported(import_described(object, arguments), arguments);
}

inline ref as_tensor(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  import_arguments arguments;
  read_import_arguments("as_tensor", args, count, keywords, arguments);
  return import_any(args[0], arguments);
}
}  // namespace core DLBRIDGE_LOCAL

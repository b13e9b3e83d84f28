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
inline bool read_target(PyObject* value, device& out) noexcept {
  bool const is_read = read_known_device(value, out);
  out = destination(out);
  return is_read;
}

inline bool read_import_arguments(char const* function, PyObject* const* args, Py_ssize_t count,
                                  PyObject* keywords, import_arguments& out) noexcept {
  if (count == 1 && keywords == nullptr) {
    return true;
  }
  names const& n = names::get();
  PyObject* const accepted[] = {n.device, n.copy, n.stream, n.readonly};
  PyObject* values[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!read_keywords(function, 1, args, count, keywords, accepted, 4, values)) {
    return false;
  }
  out.request.has_target = values[0] != Py_None;
  out.request.stream = values[2];
  out.readonly = values[3];
  if (out.readonly != Py_None && !PyBool_Check(out.readonly)) {
    return refuse_value(out.readonly, "readonly", "True, False or None");
  }
  return (values[0] == Py_None || read_target(values[0], out.request.target)) &&
         read_copy(values[1], out.request.copy);
}

// Names the CPU by ordinal 0 where device= names the CPU, whatever the ordinal of the producer.
inline ref at_target(ref tensor, consume_request const& request) noexcept {
  if (tensor && request.has_target && request.target == cpu) {
    tensor_view& view = tensor_in(tensor.get()).view;
    view = view.device().type == kDLCPU ? view.on_device(cpu) : view;
  }
  return tensor;
}

inline PyObject* wrap_imported(managed_tensor m, import_arguments const& arguments) noexcept {
  ref tensor = m ? wrap_tensor(std::move(m)) : ref();
  if (tensor && runtime_of(arguments.ready.device()) != runtime_kind::none) {
    be_ready_on(tensor_in(tensor.get()), arguments.ready, arguments.request.stream);
  }
  if (tensor && has_queues(tensor_in(tensor.get()).view.device())) {
    set_queue(tensor_in(tensor.get()), queue_of(arguments.producer, arguments.request.stream));
    tensor = PyErr_Occurred() == nullptr ? std::move(tensor) : ref();
  }
  return apply_readonly(at_target(std::move(tensor), arguments.request), arguments.readonly);
}

// Imports without a call of the producer: reads the fields of an ndarray, or shares the owner of a
// Tensor. Returns null, with or without an exception, where that is not possible.
inline PyObject* import_without_call(PyObject* object, import_arguments const& arguments) noexcept {
  consume_request const& request = arguments.request;
  if (can_share(object, request)) {
    ref tensor = ref::steal(share_imported(object, arguments.readonly, request.stream));
    return at_target(std::move(tensor), request).release();
  }
  if (request.has_target || request.copy == copy_policy::never) {
    return nullptr;
  }
  type_cache::storage uncached;
  type_entry const& type = type_cache::get(Py_TYPE(object), uncached);
  ref tensor = request.copy != copy_policy::always ? import_array(type, object)
               : is_tensor(object)                 ? copy_of_tensor(object)
                                                   : copy_of_array(type, object);
  return apply_readonly(std::move(tensor), arguments.readonly);
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

// Moves such a Tensor, without a call of its __dlpack__.
inline managed_tensor move_on_stream(PyObject* object, consume_request const& request,
                                     stream_ref& ready) noexcept {
  tensor_object& self = tensor_in(object);
  shared_tensor const* const owner = try_share(self);
  managed_tensor lent;
  if (owner == nullptr ||
      !guarded([&] { lent = dlbridge::lend(*owner, self.view, struct_kind::versioned); })) {
    return managed_tensor();
  }
  ready = self.ready_on();
  return fulfil_request(std::move(lent), request, request.copy == copy_policy::always, ready);
}

// As consume().
inline managed_tensor import_managed(PyObject* object, consume_request const& request,
                                     stream_ref& ready) noexcept {
  return moves_on_stream(object, request) ? move_on_stream(object, request, ready)
                                          : consume(object, request, ready);
}

// Imports a producer, or a capsule.
inline PyObject* import_producer(PyObject* object, import_arguments& arguments) noexcept {
  if (!arguments.request.must_call_dlpack) {
    PyObject* const tensor = import_without_call(object, arguments);
    if (tensor != nullptr || PyErr_Occurred() != nullptr) {
      return tensor;
    }
  }
  arguments.producer = object;
  return wrap_imported(import_managed(object, arguments.request, arguments.ready), arguments);
}

DLBRIDGE_NOINLINE inline PyObject* from_dlpack_with(PyObject* const* args, Py_ssize_t count,
                                                    PyObject* keywords,
                                                    bool must_call_dlpack) noexcept {
  import_arguments arguments;
  arguments.request.must_call_dlpack = must_call_dlpack;
  if (!read_import_arguments("from_dlpack", args, count, keywords, arguments)) {
    return nullptr;
  }
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
  return from_dlpack_with(args, count, keywords, must_call_dlpack);
}

// Whether an object is a capsule, or has __dlpack__ or an exchange table: 1, 0, or -1 with an
// exception set.
inline int has_dlpack(PyObject* object) noexcept {
  if (PyCapsule_CheckExact(object)) {
    return 1;
  }
  type_entry const type = type_cache::get_copy(Py_TYPE(object));
  if (type.takes_self || type.defines_table) {
    return 1;
  }
  ref const method = optional_attribute(object, names::get().dlpack);
  if (!method && PyErr_Occurred() != nullptr) {
    return -1;
  }
  return method && method.get() != Py_None ? 1 : 0;
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

inline PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t count,
                           PyObject* keywords) noexcept {
  import_arguments arguments;
  if (!read_import_arguments("as_tensor", args, count, keywords, arguments)) {
    return nullptr;
  }
  PyObject* const object = args[0];
  arguments.producer = object;
  PyObject* const direct = import_without_call(object, arguments);
  if (direct != nullptr || PyErr_Occurred() != nullptr) {
    return direct;
  }
  int const is_producer = has_dlpack(object);
  if (is_producer < 0) {
    return nullptr;
  }
  if (is_producer > 0) {
    managed_tensor tensor = import_managed(object, arguments.request, arguments.ready);
    if (tensor || !prefers_buffer(object)) {
      return wrap_imported(std::move(tensor), arguments);
    }
  }
  return wrap_imported(import_described(object, arguments), arguments);
}
}  // namespace core DLBRIDGE_LOCAL

// from_dlpack, as_tensor: import an object to a Tensor, by the first way that serves it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/import/import_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>

#include "core.hpp"
#include "sycl_queues.hpp"
#include "tensor/described_memory.hpp"
#include "tensor/direct_imports.hpp"
#include "tensor/remedies.hpp"
#include "tensor/tensor_streams.hpp"
#include "tensor/text_types.hpp"

namespace core DLBRIDGE_LOCAL {
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
  out.readonly = values[3] != Py_None ? values[3] : nullptr;
  require(out.readonly == nullptr || PyBool_Check(out.readonly) ||
          refuse_value(out.readonly, "readonly", "True, False or None"));
  if (out.request.has_target) {
    read_target(values[0], out.request.target);
  }
  require(read_copy(values[1], out.request.copy));
}

// Whether a Tensor is copied to a device on a stream that the caller named, without its __dlpack__,
// which would wait for the copy. Requests for which this is false go to __dlpack__.
// @pre can_share returned false.
inline bool moves_on_stream(PyObject* object, import_request const& request) noexcept {
  bool const is_named = request.stream != nullptr && request.stream != Py_None;
  if (!is_named || !is_tensor(object) || request.copy == copy_policy::never) {
    return false;
  }
  device const where = tensor_in(object).view.device();
  device const target = request.has_target ? request.target : where;
  return runtime_of(target) != runtime_kind::none && can_move(where, target);
}

inline ref wrap_imported(managed_tensor m, import_arguments const& arguments) {
  return checked(try_wrap_imported(std::move(m), arguments));
}

// Imports an object for which import_directly returned none. Moves such a Tensor without a call of
// its __dlpack__.
inline managed_tensor import_managed(PyObject* object, import_request const& request,
                                     stream_ref& ready) {
  if (!moves_on_stream(object, request)) {
    return import_by_call(object, request, ready);
  }
  tensor_object& self = tensor_in(object);
  ready = self.ready_on();
  return fulfil_request(dlbridge::lend(share(self), self.view, struct_kind::versioned), request,
                        request.copy == copy_policy::always, ready);
}

// Imports a producer, or a capsule.
// @param tries_directly false after import_directly
inline ref import_producer(PyObject* object, import_arguments& arguments,
                           bool tries_directly = true) {
  arguments.producer = object;
  ref tensor =
      tries_directly ? import_directly(object, arguments.request, arguments.readonly) : ref();
  require(tensor || PyErr_Occurred() == nullptr);
  if (tensor) {
    return tensor;
  }
  managed_tensor imported = import_managed(object, arguments.request, arguments.ready);
  return wrap_imported(std::move(imported), arguments);
}

DLBRIDGE_NOINLINE inline ref from_dlpack_with(PyObject* const* args, Py_ssize_t count,
                                              PyObject* keywords) {
  import_arguments arguments;
  read_import_arguments("from_dlpack", args, count, keywords, arguments);
  arguments.request.remedy = &remedy_for_import;
  return import_producer(args[0], arguments, count != 1 || keywords != nullptr);
}

inline PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t count,
                             PyObject* keywords) noexcept {
  if (count == 1 && keywords == nullptr) {
    static constexpr import_request plain{};
    ref tensor = import_directly(args[0], plain, nullptr);
    if (tensor || PyErr_Occurred() != nullptr) {
      return tensor.release();
    }
  }
  return entry<&from_dlpack_with>::call(args, count, keywords);
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
// is pending before stays the one to report, as it does where the device is out of reach.
DLBRIDGE_COLD inline managed_tensor import_described(PyObject* object,
                                                     import_arguments& arguments) noexcept {
  import_request const& request = arguments.request;
  ref first = take_exception();
  managed_tensor tensor = import_described_memory(object, request.stream, arguments.ready);
  bool const is_described = static_cast<bool>(tensor);
  if (is_described) {
    tensor = fulfil_request(std::move(tensor), request, request.copy == copy_policy::always,
                            arguments.ready);
  }
  if (!tensor && first && (!is_described || request.has_target) && suppress_exception()) {
    set_exception(std::move(first));
  }
  if (tensor && !forget_unordered(request.stream, arguments.ready)) {
    error_keeper const pending;
    tensor = managed_tensor();
  }
  return tensor;
}

// Imports an object by the first protocol that it supports.
inline ref import_any(PyObject* object, import_arguments& arguments) {
  arguments.producer = object;
  ref direct = import_directly(object, arguments.request, arguments.readonly);
  require(direct || PyErr_Occurred() == nullptr);
  if (direct) {
    return direct;
  }
  managed_tensor tensor;
  bool const is_producer = has_dlpack(object);
  if (is_producer) {
    tensor = import_managed(object, arguments.request, arguments.ready);
  }
  if (!tensor && (!is_producer || prefers_buffer(object))) {
    tensor = import_described(object, arguments);
  } else if (!tensor) {
    explain_by_arrow(object);
  }
  return wrap_imported(std::move(tensor), arguments);
}

inline ref as_tensor(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  import_arguments arguments;
  read_import_arguments("as_tensor", args, count, keywords, arguments);
  return import_any(args[0], arguments);
}
}  // namespace core DLBRIDGE_LOCAL

// The bodies of read_stream.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_API bool read_address(PyObject* value, std::int64_t& out) noexcept {
  ref const inner = PyIndex_Check(value) ? ref() : optional_attribute(value, "value");
  if (inner && inner.get() == Py_None) {
    out = 0;
    return true;
  }
  bool const is_number = inner && PyIndex_Check(inner.get());
  return PyErr_Occurred() == nullptr && read_integer(is_number ? inner.get() : value, out);
}

// Reads the handle of a stream from the first of its attributes that can be read. Returns false,
// with the exception of the first attribute that raised set, if there is one.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool read_handle(PyObject* stream,
                                                        std::int64_t& out) noexcept {
  ref first;
  names const& n = names::get();
  for (PyObject* const name : {n.cuda_stream, n.ptr, n.handle}) {
    ref const attribute = optional_attribute(stream, name);
    if (attribute && read_address(attribute.get(), out)) {
      return true;
    }
    ref raised = take_exception();
    if (raised && !is_suppressible(raised.get())) {
      set_exception(std::move(raised));
      return false;
    }
    if (!first) {
      first = std::move(raised);
    }
  }
  if (first) {
    set_exception(std::move(first));
  }
  return false;
}

// Reads an object without a handle: the integer of one with __index__, such as a NumPy integer.
// Refuses others; an exception that is set becomes the cause.
DLBRIDGE_INLINE bool read_stream_number(PyObject* value, std::int64_t& out) noexcept {
  if (!PyIndex_Check(value) || PyBool_Check(value) || PyErr_Occurred() != nullptr) {
    return refuse_value(value, "stream",
                        "None, an integer, or an object with "
                        "__cuda_stream__, cuda_stream, ptr or handle",
                        errc::bad_stream);
  }
  if (read_integer(value, out)) {
    return true;
  }
  bool const is_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
  return refuse_value(value, "stream", is_large ? "a handle of 63 bits" : "an integer",
                      errc::bad_stream);
}
}  // namespace detail

DLBRIDGE_API bool read_stream(PyObject* value, device where, std::int64_t& out) noexcept {
  if (PyLong_Check(value) && !PyBool_Check(value)) {
    out = api<PyLong_AsLongLong>(value);
    return PyErr_Occurred() == nullptr ||
           detail::refuse_value(value, "stream", "a handle of 63 bits", errc::bad_stream);
  }
  stream_ref ready = stream_ref::default_of(where);
  if (detail::read_stream_of_tensor(value, ready) &&
      runtime_of(ready.device()) == runtime_of(where)) {
    out = protocol_stream(ready);
    return true;
  }
  std::int64_t handle = 0;
  bool has_handle = false;
  if (ref stream = optional_attribute(value, names::get().cuda_stream_protocol)) {
    if (PyCallable_Check(stream.get())) {
      stream = ref::steal(api<PyObject_CallObject>(stream.get(), nullptr));
    }
    std::int64_t protocol = -1;
    if (!stream || !detail::read_pair(stream.get(), protocol, handle) || protocol != 0) {
      return detail::refuse_value(stream ? stream.get() : value, "what __cuda_stream__ gives",
                                  "a pair (0, handle)", errc::bad_stream);
    }
    has_handle = true;
  }
  has_handle = has_handle || (PyErr_Occurred() == nullptr && detail::read_handle(value, handle));
  if (!has_handle) {
    return detail::read_stream_number(value, out);
  }
  if (handle == -1) {
    return detail::refuse_value(value, "stream", "an object with the handle of a stream, not -1",
                                errc::bad_stream, "For no order pass the integer -1 itself");
  }
  out = protocol_stream(
      stream_ref(where, reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle))));
  return true;
}

DLBRIDGE_API PyObject* stream_object_in(PyObject* named) noexcept {
  if (named == nullptr || named == Py_None || PyLong_Check(named)) {
    return nullptr;
  }
  names const& n = names::get();
  bool is_object = !PyIndex_Check(named);
  for (PyObject* const name : {n.cuda_stream_protocol, n.cuda_stream, n.ptr, n.handle}) {
    is_object = is_object || type_attribute(Py_TYPE(named), name);
  }
  return is_object ? named : nullptr;
}

DLBRIDGE_API bool choose_stream(PyObject* named, device where, stream_ref& out,
                                std::int64_t* integer) noexcept {
  out = stream_ref::default_of(where);
  std::int64_t value = protocol_stream(out);
  stream_request request;
  bool const is_named =
      named != nullptr && named != Py_None && runtime_of(where) != runtime_kind::none;
  if (is_named) {
    if (!read_stream(named, where, value)) {
      return false;
    }
    if (!succeeded(try_read_stream(where, value, request))) {
      return false;
    }
    out = request.ordered ? request.stream : out;
  }
  if (integer != nullptr) {
    *integer = value;
  }
  return true;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

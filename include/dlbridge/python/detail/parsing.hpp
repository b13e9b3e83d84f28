// read_device, read_version, read_copy, read_stream: read the arguments that Python callers pass.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/version.hpp>

// Every read_* function returns false, with ValueError set, for a value that it does not accept.
// TypeError is never set: a consumer would treat it as the sign of an old producer (spec 2.4). The
// caller holds the GIL.
namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
DLBRIDGE_COLD inline bool refuse_value(PyObject* value, char const* name, char const* expected,
                                       errc code = errc::bad_argument,
                                       char const* advice = nullptr) noexcept {
  ref cause = take_exception();
  report r = refusal(code, name, "", advice);
  r.expected.append(" to be ").append(expected);
  ref const text = ref::steal(api<PyObject_Repr>(value));
  char const* const characters = text ? api<PyUnicode_AsUTF8>(text.get()) : nullptr;
  if (!suppress_exception()) {
    return false;
  }
  r.got.append(characters != nullptr ? characters : "a value")
      .append(" of type ")
      .append(Py_TYPE(value)->tp_name);
  if (cause) {
    set_exception(std::move(cause));  // set_error chains it
  }
  set_error(r);
  return false;
}

// An object with __index__, or with __int__, such as a handle of cuda-python. Returns false, with
// or without an exception set, for others, such as bytes, whose digits PyNumber_Long would read.
inline bool read_integer(PyObject* value, std::int64_t& out) noexcept {
  if (PyNumber_Check(value) == 0) {
    return false;
  }
  ref const number =
      ref::steal(PyIndex_Check(value) ? api<PyNumber_Index>(value) : api<PyNumber_Long>(value));
  if (!number) {
    return false;
  }
  out = api<PyLong_AsLongLong>(number.get());
  return PyErr_Occurred() == nullptr;
}

// Reads an object with __index__, or the value of a member of an Enum, as which the array API
// declares the type of a device (spec 4.2). Returns false, with or without an exception set, for
// others.
inline bool read_member(PyObject* value, std::int64_t& out) noexcept {
  if (PyIndex_Check(value)) {
    return read_integer(value, out);
  }
  ref const inner = optional_attribute(value, "value");
  return inner && PyIndex_Check(inner.get()) && read_integer(inner.get(), out);
}

// A pair of integers, the first of which may be a member of an Enum. With may_lack_second, None as
// the second is read as 0.
inline bool read_pair(PyObject* value, std::int64_t& first, std::int64_t& second,
                      bool may_lack_second = false) noexcept {
  if (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 2 &&
      PyLong_CheckExact(PyTuple_GET_ITEM(value, 0)) &&
      PyLong_CheckExact(PyTuple_GET_ITEM(value, 1))) {  // the common case
    first = api<PyLong_AsLongLong>(PyTuple_GET_ITEM(value, 0));
    second = api<PyLong_AsLongLong>(PyTuple_GET_ITEM(value, 1));
    return (first != -1 && second != -1) || PyErr_Occurred() == nullptr;
  }
  if (!PyTuple_Check(value) && !PyList_Check(value)) {
    return false;
  }
  ref const pair = ref::steal(api<PySequence_Tuple>(value));
  if (!pair || PyTuple_GET_SIZE(pair.get()) != 2) {
    return false;
  }
  PyObject* const a = PyTuple_GET_ITEM(pair.get(), 0);
  PyObject* const b = PyTuple_GET_ITEM(pair.get(), 1);
  second = 0;
  return read_member(a, first) &&
         ((may_lack_second && b == Py_None) || (PyIndex_Check(b) && read_integer(b, second)));
}

// The characters of a str; null, with or without an exception set, for other objects and for a str
// without a UTF-8 form or with a null character inside.
inline char const* text_in(PyObject* value) noexcept {
  Py_ssize_t size = 0;
  char const* const text =
      PyUnicode_Check(value) ? api<PyUnicode_AsUTF8AndSize>(value, &size) : nullptr;
  return text != nullptr && std::strlen(text) == static_cast<std::size_t>(size) ? text : nullptr;
}

// Whether a str has these characters, which are UTF-8.
inline bool is_text(PyObject* text, char const* characters) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  bool const is_ascii = PyUnicode_IS_ASCII(text) != 0;
#else  // a macro with a cast of C
  bool const is_ascii = reinterpret_cast<PyASCIIObject*>(text)->state.ascii != 0;
#endif
  if (is_ascii) {
    return PyUnicode_CompareWithASCIIString(text, characters) == 0;
  }
  error_keeper const pending;  // a str with surrogates has no UTF-8 form
  char const* const own = text_in(text);
  return own != nullptr && std::strcmp(own, characters) == 0;
}

// A str itself, also one of a subclass, whose __str__ may return another text; the str() of other
// objects. Empty with an exception set.
inline ref text_of(PyObject* value) noexcept {
  return PyUnicode_Check(value) ? ref::borrow(value) : ref::steal(api<PyObject_Str>(value));
}

// Reads an integer, or the address in a ctypes.c_void_p, whose value is None for null.
inline bool read_address(PyObject* value, std::int64_t& out) noexcept {
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
DLBRIDGE_COLD inline bool read_handle(PyObject* stream, std::int64_t& out) noexcept {
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

// Reads the name of a device that PyTorch names otherwise than DLPack.
inline bool read_torch_name(char const* text, device& out) noexcept {
  struct {
    char const* theirs;
    char const* ours;
  } const rows[] = {{"xpu", "oneapi"}, {"mps", "metal"}};
  for (auto const& row : rows) {
    std::size_t const length = std::strlen(row.theirs);
    if (std::strncmp(text, row.theirs, length) == 0) {
      return try_parse_device(bounded_text<48>(row.ours).append(text + length).c_str(), out);
    }
  }
  return false;
}

// Reads a dlbridge.device of any module by its numbers: the id may be negative, which no name has.
// Returns false, with or without an exception set, for other values.
inline bool read_own_device(PyObject* value, device& out) noexcept {
  if (!PyUnicode_Check(value) || PyUnicode_CheckExact(value)) {
    return false;
  }
  std::int64_t type = 0;
  std::int64_t id = 0;
  ref const code = optional_attribute(value, "code");
  ref const ordinal = code ? optional_attribute(value, "id") : ref();
  bool const is_read = ordinal && read_integer(code.get(), type) &&
                       read_integer(ordinal.get(), id) && type == static_cast<std::int32_t>(type) &&
                       id == static_cast<std::int32_t>(id);
  out = is_read ? device(static_cast<int>(type), static_cast<int>(id)) : out;
  return is_read;
}
}  // namespace detail

/// Reads a pair (device type, device id) as `__dlpack_device__` returns it. An id of None is read
/// as 0, as Paddle returns (1, None) for the CPU.
/// @param name what the pair is, for the message.
/// @param code the reason that a refusal states.
/// @return false, with the exception for code set.
inline bool read_device_pair(PyObject* value, char const* name, device& out,
                             errc code = errc::bad_argument) noexcept {
  std::int64_t type = 0;
  std::int64_t id = 0;
  if (!detail::read_pair(value, type, id, true) || type != static_cast<std::int32_t>(type) ||
      id != static_cast<std::int32_t>(id)) {
    return detail::refuse_value(
        value, name, "a pair (device type, device id) of integers of 32 bits", code,
        code == errc::producer_failed ? "Its __dlpack_device__ is broken" : nullptr);
  }
  out = device(static_cast<int>(type), static_cast<int>(id));
  return true;
}

/// Whether an object is a sequence with a length, in contrast to a number, a text and bytes. An
/// array of NumPy is sequence and number by its type.
/// @return false, with an exception set, if its length raises one that is not suppressible.
inline bool is_sized_sequence(PyObject* value) noexcept {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    return true;
  }
  bool const is_sized = !PyLong_Check(value) && !PyUnicode_Check(value) && !PyBytes_Check(value) &&
                        !PyByteArray_Check(value) && PySequence_Check(value) != 0 &&
                        api<PySequence_Size>(value) >= 0;
  if (!is_sized) {
    suppress_exception();
  }
  return is_sized;
}

/// Reads a device: a name such as "cuda:0", a pair such as (2, 0), a torch.device, a jax.Device, or
/// an object whose str() is a device name of dlbridge.
/// @return false, with ValueError set, for any other value.
DLBRIDGE_COLD inline bool read_device(PyObject* value, device& out) noexcept {
  constexpr char const* expected =
      "a device that DLPack has: a name such as 'cpu' or 'cuda:0', a pair (device type, device "
      "id), or a framework's device";
  if (PyTuple_Check(value)) {
    return read_device_pair(value, "device", out);
  }
  if (detail::read_own_device(value, out)) {
    return true;
  }
  ref platform = PyUnicode_Check(value) ? ref() : optional_attribute(value, "platform");
  if (platform && PyUnicode_Check(platform.get())) {  // jax: platform "gpu", id 0
    std::int64_t id = 0;
    ref const number = optional_attribute(value, "id");
    char const* const text = detail::text_in(platform.get());
    bounded_text<48> name(text == nullptr ? "" : std::strcmp(text, "gpu") == 0 ? "cuda" : text);
    if (number && text != nullptr && detail::read_integer(number.get(), id) &&
        try_parse_device(name.append(":").append(id).c_str(), out)) {
      return true;
    }
  }
  ref const text = PyErr_Occurred() != nullptr ? ref() : detail::text_of(value);
  char const* const name = text ? detail::text_in(text.get()) : nullptr;
  return (name != nullptr && (try_parse_device(name, out) || detail::read_torch_name(name, out))) ||
         detail::refuse_value(value, "device", expected);
}

/// Reads max_version: a pair of integers from 0.
/// @return false, with ValueError set, for any other value.
inline bool read_version(PyObject* value, version& out) noexcept {
  std::int64_t major_number = 0;
  std::int64_t minor_number = 0;
  if (!detail::read_pair(value, major_number, minor_number) || major_number < 0 ||
      minor_number < 0 || major_number > UINT32_MAX || minor_number > UINT32_MAX) {
    return detail::refuse_value(value, "max_version",
                                "a pair (major, minor) of integers from 0 to 2**32 - 1");
  }
  out = {static_cast<std::uint32_t>(major_number), static_cast<std::uint32_t>(minor_number)};
  return true;
}

/// Reads copy: the objects True, False and None; no other object counts as one of them.
/// @return false, with ValueError set, for any other value.
inline bool read_copy(PyObject* value, copy_policy& out) noexcept {
  if (value == Py_None) {
    out = copy_policy::if_needed;
  } else if (value == Py_True) {
    out = copy_policy::always;
  } else if (value == Py_False) {
    out = copy_policy::never;
  } else {
    return detail::refuse_value(value, "copy", "True, False or None");
  }
  return true;
}

/// Reads a stream: an int, which is taken as the protocol's integer; a Tensor, whose stream it is;
/// an object with `__cuda_stream__`, which returns (0, handle); or an object with a handle named
/// cuda_stream, ptr or handle. The handle of an object is not -1, which is an integer of the
/// protocol.
/// @param out set to the protocol's integer of the stream on device where.
/// @return false, with ValueError set, for any other value.
inline bool read_stream(PyObject* value, device where, std::int64_t& out) noexcept {
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

/// The object that owns the stream which stream= names; null for None, for an integer, and where
/// the caller passed none. An object with __index__ is an integer unless its type has another way
/// to the handle, which read_stream prefers.
inline PyObject* stream_object_in(PyObject* named) noexcept {
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

/// Chooses the stream for work on a device: the one that the caller named; else, for -1 (no order)
/// and on a device without streams, the default one.
/// @param named the stream= argument of the caller; None or null when the caller named none.
/// @param integer set, unless null, to the protocol's integer of what the caller named, or of the
///   default stream.
/// @return false, with an exception set, as read_stream and for bad_stream.
inline bool choose_stream(PyObject* named, device where, stream_ref& out,
                          std::int64_t* integer = nullptr) noexcept {
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
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

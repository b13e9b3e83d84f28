// The bodies of read_values.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API bool refuse_value(PyObject* value, char const* name,
                                                 char const* expected, errc code,
                                                 char const* advice) noexcept {
  ref cause = take_exception();
  report r = refusal(code, name, "", advice);
  r.expected.append(" to be ").append(expected);
  ref const text = ref::steal(api<PyObject_Repr>(value));
  char const* const characters = text ? api<PyUnicode_AsUTF8AndSize>(text.get(), nullptr) : nullptr;
  if (!suppress_exception()) {
    return false;
  }
  r.got.append(characters != nullptr ? characters : "a value")
      .append(" of type ")
      .append(detail::type_name(Py_TYPE(value)).c_str());
  if (cause) {
    set_exception(std::move(cause));  // set_error chains it
  }
  set_error(r);
  return false;
}

DLBRIDGE_API bool read_integer(PyObject* value, std::int64_t& out) noexcept {
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

DLBRIDGE_API bool read_pair(PyObject* value, std::int64_t& first, std::int64_t& second,
                            bool may_lack_second) noexcept {
  if (PyTuple_CheckExact(value) && detail::tuple_size(value) == 2 &&
      PyLong_CheckExact(detail::tuple_item(value, 0)) &&
      PyLong_CheckExact(detail::tuple_item(value, 1))) {  // the common case
    first = api<PyLong_AsLongLong>(detail::tuple_item(value, 0));
    second = api<PyLong_AsLongLong>(detail::tuple_item(value, 1));
    return (first != -1 && second != -1) || PyErr_Occurred() == nullptr;
  }
  if (!PyTuple_Check(value) && !PyList_Check(value)) {
    return false;
  }
  ref const pair = ref::steal(api<PySequence_Tuple>(value));
  if (!pair || detail::tuple_size(pair.get()) != 2) {
    return false;
  }
  PyObject* const a = detail::tuple_item(pair.get(), 0);
  PyObject* const b = detail::tuple_item(pair.get(), 1);
  second = 0;
  return read_member(a, first) &&
         ((may_lack_second && b == Py_None) || (PyIndex_Check(b) && read_integer(b, second)));
}

DLBRIDGE_API char const* text_in(PyObject* value) noexcept {
  Py_ssize_t size = 0;
  char const* const text =
      PyUnicode_Check(value) ? api<PyUnicode_AsUTF8AndSize>(value, &size) : nullptr;
  return text != nullptr && std::strlen(text) == static_cast<std::size_t>(size) ? text : nullptr;
}

DLBRIDGE_API bool is_text(PyObject* text, char const* characters) noexcept {
  if (is_known_ascii(text)) {
    return PyUnicode_CompareWithASCIIString(text, characters) == 0;
  }
  error_keeper const pending;  // a str with surrogates has no UTF-8 form
  char const* const own = text_in(text);
  return own != nullptr && std::strcmp(own, characters) == 0;
}

DLBRIDGE_API ref text_of(PyObject* value) noexcept {
  return PyUnicode_Check(value) ? ref::borrow(value) : ref::steal(api<PyObject_Str>(value));
}
}  // namespace detail

DLBRIDGE_API bool is_sized_sequence(PyObject* value) noexcept {
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

DLBRIDGE_API bool read_version(PyObject* value, version& out) noexcept {
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

DLBRIDGE_API bool read_copy(PyObject* value, copy_policy& out) noexcept {
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
}  // namespace python
DLBRIDGE_END_NAMESPACE

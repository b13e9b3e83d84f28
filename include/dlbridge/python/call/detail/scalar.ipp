// The bodies of scalar.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API bool has_dimensions(PyObject* object) noexcept {
  if (!has_len(Py_TYPE(object))) {
    return false;
  }
  ref const ndim = optional_attribute(object, "ndim");
  bool const is_array = ndim && PyLong_Check(ndim.get()) && api<PyLong_AsLong>(ndim.get()) != 0;
  return is_array || PyErr_Occurred() != nullptr;
}

// Whether an object is a complex number, or an array of one, whose __float__ in NumPy drops the
// imaginary part. Also true with an exception set, which ends the reading.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool is_complex_number(PyObject* object) noexcept {
  if (PyComplex_Check(object) ||
      std::strncmp(type_name(Py_TYPE(object)).c_str(), "numpy.c", 7) == 0) {
    return true;
  }
  ref const dtype = has_len(Py_TYPE(object)) ? optional_attribute(object, "dtype") : ref();
  ref const kind = dtype ? optional_attribute(dtype.get(), "kind") : ref();
  bool const is_complex =
      kind && PyUnicode_Check(kind.get()) && PyUnicode_CompareWithASCIIString(kind.get(), "c") == 0;
  return is_complex || PyErr_Occurred() != nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refuse_value(PyObject* object, char const* expected) noexcept {
  if (PyErr_Occurred() == nullptr ||
      (PyErr_ExceptionMatches(PyExc_TypeError) && !is_raised_by_python())) {
    api<PyErr_Clear>();
    api<PyErr_Format>(PyExc_TypeError, "expected %s; got %s", expected,
                      detail::type_name(Py_TYPE(object)).c_str());
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool load_double(PyObject* object, double& out) noexcept {
  bool const is_number = PyLong_CheckExact(object) || PyFloat_Check(object) ||
                         (!has_dimensions(object) && !is_complex_number(object));
  out = is_number ? api<PyFloat_AsDouble>(object) : -1.0;
  if (is_number && (out != -1.0 || PyErr_Occurred() == nullptr)) {
    return true;
  }
  refuse_value(object, "a float");
  return false;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool round_to_odd(PyObject* object, double& value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x1FFFFFFF) != 0x10000000 || !PyIndex_Check(object)) {
    return true;
  }
  ref const exact = ref::steal(api<PyNumber_Index>(object));
  ref const rounded = exact ? ref::steal(api<PyLong_FromDouble>(value)) : ref();
  int const below = rounded ? api<PyObject_RichCompareBool>(exact.get(), rounded.get(), Py_LT) : -1;
  int const differs =
      below == 0 ? api<PyObject_RichCompareBool>(exact.get(), rounded.get(), Py_GT) : below;
  if (differs > 0) {
    value = std::nextafter(value, below > 0 ? -HUGE_VAL : HUGE_VAL);
  }
  return suppress_exception();  // of an array with a fraction
}

DLBRIDGE_NOINLINE DLBRIDGE_API std::string_view utf8_of(PyObject* object) noexcept {
  if (!PyUnicode_Check(object)) {
    refuse_value(object, "a str");
    return {};
  }
  Py_ssize_t size = 0;
  char const* const text = api<PyUnicode_AsUTF8AndSize>(object, &size);
  return {text, static_cast<std::size_t>(text != nullptr ? size : 0)};
}
}  // namespace detail

DLBRIDGE_API bool scalar<bool>::load(PyObject* object, bool& out) noexcept {
  bool const is_bool = object == Py_True || object == Py_False;
  if (!is_bool && !is_numpy_bool(object)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a bool; got %s",
                      detail::type_name(Py_TYPE(object)).c_str());
    return false;
  }
  int const value = is_bool ? static_cast<int>(object == Py_True) : api<PyObject_IsTrue>(object);
  out = value > 0;
  return value >= 0;
}

DLBRIDGE_API bool scalar<bool>::is_numpy_bool(PyObject* object) noexcept {
  detail::type_name const type(Py_TYPE(object));
  return std::strcmp(type.c_str(), "numpy.bool") == 0 ||
         std::strcmp(type.c_str(), "numpy.bool_") == 0;
}

DLBRIDGE_API bool scalar<std::string>::load(PyObject* object, std::string& out) noexcept {
  std::string_view const text = detail::utf8_of(object);
  return text.data() != nullptr && guarded([&] { out = text; });
}

DLBRIDGE_API PyObject* scalar<std::string>::make(std::string const& value) noexcept {
  return api<PyUnicode_FromStringAndSize>(value.data(), static_cast<Py_ssize_t>(value.size()));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

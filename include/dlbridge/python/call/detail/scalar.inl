// The inline bodies of scalar.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Whether an object is an array with dimensions, which is no number though it has __float__. Also
// true with an exception set, which ends the reading.
DLBRIDGE_COLD bool has_dimensions(PyObject* object) noexcept;

// Writes the value of an object that is no float itself. False with an exception set on failure.
bool load_double(PyObject* object, double& out) noexcept;

// Moves a double half way between two floats to the side of the integer that it rounds, as a second
// rounding, to float, would take the even one. False with an exception set on failure.
bool round_to_odd(PyObject* object, double& value) noexcept;
}  // namespace python::detail

namespace python {
template <class T>
bool scalar<T, std::enable_if_t<std::is_integral_v<T> && sizeof(T) <= sizeof(long long)>>::load(
    PyObject* object, T& out) noexcept {
  ref const number = PyLong_CheckExact(object) ? ref::borrow(object)
                     : PyIndex_Check(object) && !detail::has_dimensions(object)
                         ? ref::steal(api<PyNumber_Index>(object))
                         : ref();
  if (!number) {
    detail::refuse_value(object, "an int");
    return false;
  }
  bool fits = false;
  if constexpr (std::is_signed_v<T>) {
    int overflow = 0;
    long long const value = api<PyLong_AsLongLongAndOverflow>(number.get(), &overflow);
    if (value == -1 && overflow == 0 && PyErr_Occurred() != nullptr) {
      return false;
    }
    fits = overflow == 0 && value >= (std::numeric_limits<T>::min)() &&
           value <= (std::numeric_limits<T>::max)();
    out = static_cast<T>(value);
  } else {
    unsigned long long const value = api<PyLong_AsUnsignedLongLong>(number.get());
    bool const is_converted = PyErr_Occurred() == nullptr;
    if (!is_converted && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
      return false;
    }
    api<PyErr_Clear>();
    fits = is_converted && value <= (std::numeric_limits<T>::max)();
    out = static_cast<T>(value);
  }
  if (ref const text = fits ? ref() : repr_of(number.get()); text) {
    api<PyErr_Format>(PyExc_OverflowError, "expected an integer of %d bits, %s; got %U",
                      static_cast<int>(sizeof(T) * 8), std::is_signed_v<T> ? "signed" : "unsigned",
                      text.get());
  }
  return fits;
}

template <class T>
PyObject*
scalar<T, std::enable_if_t<std::is_integral_v<T> && sizeof(T) <= sizeof(long long)>>::make(
    T value) noexcept {
  if constexpr (std::is_signed_v<T>) {
    return PyLong_FromLongLong(value);
  } else {
    return PyLong_FromUnsignedLongLong(value);
  }
}

template <class T>
inline bool scalar<T, std::enable_if_t<std::is_floating_point_v<T>>>::load(PyObject* object,
                                                                           T& out) noexcept {
  if (PyFloat_CheckExact(object)) {
    out = static_cast<T>(detail::float_value(object));
    return true;
  }
  double value = -1.0;
  bool const done = detail::load_double(object, value) &&
                    (sizeof(T) == sizeof value || detail::round_to_odd(object, value));
  out = static_cast<T>(value);
  return done;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

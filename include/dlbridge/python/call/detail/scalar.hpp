// scalar<T>: converts numbers between Python and C++ without narrowing an integer or truncating a
// float; and text and None.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The conversions of a number type, of std::string and of std::monostate. The primary template
/// stands for every other type. Members:
/// - is_scalar: true
/// - name: the name of the Python type in signatures
/// - is_exact(object): whether load() takes an object as it is, if at all
/// - load(object, out): writes the value of a Python object to out. Returns false with TypeError if
///   the object is no such number or text, and with OverflowError if the number is out of range.
/// - make(value): a new reference to a Python object, or null with an exception set
template <class T, class = void>
struct scalar {
  static constexpr bool is_scalar = false;
};

namespace detail {
// Whether a type has __len__.
inline bool has_length(PyTypeObject const* type) noexcept {
  return (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_length != nullptr) ||
         (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr);
}
// Whether an object is an array with dimensions, which is no number though it has __float__. Also
// true with an exception set, which ends the reading.
DLBRIDGE_COLD inline bool has_dimensions(PyObject* object) noexcept {
  if (!has_length(Py_TYPE(object))) {
    return false;
  }
  ref const ndim = optional_attribute(object, "ndim");
  bool const is_array = ndim && PyLong_Check(ndim.get()) && api<PyLong_AsLong>(ndim.get()) != 0;
  return is_array || PyErr_Occurred() != nullptr;
}

// Whether an object is a complex number, or an array of one, whose __float__ in NumPy drops the
// imaginary part. Also true with an exception set, which ends the reading.
DLBRIDGE_COLD inline bool is_complex_number(PyObject* object) noexcept {
  char const* const type = Py_TYPE(object)->tp_name;
  if (PyComplex_Check(object) || std::strncmp(type, "numpy.c", 7) == 0) {
    return true;
  }
  ref const dtype = has_length(Py_TYPE(object)) ? optional_attribute(object, "dtype") : ref();
  ref const kind = dtype ? optional_attribute(dtype.get(), "kind") : ref();
  bool const is_complex =
      kind && PyUnicode_Check(kind.get()) && PyUnicode_CompareWithASCIIString(kind.get(), "c") == 0;
  return is_complex || PyErr_Occurred() != nullptr;
}

// Sets TypeError for an object that is no such value. An exception that Python code raised stays.
DLBRIDGE_COLD inline void refuse_value(PyObject* object, char const* expected) noexcept {
  if (PyErr_Occurred() == nullptr ||
      (PyErr_ExceptionMatches(PyExc_TypeError) && !is_raised_by_python())) {
    api<PyErr_Clear>();
    api<PyErr_Format>(PyExc_TypeError, "expected %s; got %s", expected, Py_TYPE(object)->tp_name);
  }
}

// Writes the value of an object that is no float itself. False with an exception set on failure.
DLBRIDGE_NOINLINE inline bool load_double(PyObject* object, double& out) noexcept {
  bool const is_number = PyLong_CheckExact(object) || PyFloat_Check(object) ||
                         (!has_dimensions(object) && !is_complex_number(object));
  out = is_number ? api<PyFloat_AsDouble>(object) : -1.0;
  if (is_number && (out != -1.0 || PyErr_Occurred() == nullptr)) {
    return true;
  }
  refuse_value(object, "a float");
  return false;
}

// Moves a double half way between two floats to the side of the integer that it rounds, as a second
// rounding, to float, would take the even one. False with an exception set on failure.
DLBRIDGE_NOINLINE inline bool round_to_odd(PyObject* object, double& value) noexcept {
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

// The text of a str, which stores it; a view of null, with an exception set, of other objects.
DLBRIDGE_NOINLINE inline std::string_view utf8_of(PyObject* object) noexcept {
  if (!PyUnicode_Check(object)) {
    refuse_value(object, "a str");
    return {};
  }
  Py_ssize_t size = 0;
  char const* const text = api<PyUnicode_AsUTF8AndSize>(object, &size);
  return {text, static_cast<std::size_t>(text != nullptr ? size : 0)};
}
}  // namespace detail

template <>
struct scalar<bool> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "bool";
  static bool is_exact(PyObject* object) noexcept { return PyBool_Check(object) != 0; }
  /// Accepts bool and NumPy's bool. Any other object would be true or false as well.
  static bool load(PyObject* object, bool& out) noexcept {
    bool const is_bool = object == Py_True || object == Py_False;
    if (!is_bool && !is_numpy_bool(object)) {
      api<PyErr_Format>(PyExc_TypeError, "expected a bool; got %s", Py_TYPE(object)->tp_name);
      return false;
    }
    int const value = is_bool ? static_cast<int>(object == Py_True) : api<PyObject_IsTrue>(object);
    out = value > 0;
    return value >= 0;
  }
  static PyObject* make(bool value) noexcept { return PyBool_FromLong(value ? 1 : 0); }

 private:
  static bool is_numpy_bool(PyObject* object) noexcept {
    char const* const type = Py_TYPE(object)->tp_name;
    return std::strcmp(type, "numpy.bool") == 0 || std::strcmp(type, "numpy.bool_") == 0;
  }
};

template <class T>
struct scalar<T, std::enable_if_t<std::is_integral_v<T> && sizeof(T) <= sizeof(long long)>> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "int";
  static bool is_exact(PyObject* object) noexcept {
    return PyLong_Check(object) && !PyBool_Check(object);
  }
  /// Accepts int and every object with __index__. A float has none.
  static bool load(PyObject* object, T& out) noexcept {
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
                        static_cast<int>(sizeof(T) * 8),
                        std::is_signed_v<T> ? "signed" : "unsigned", text.get());
    }
    return fits;
  }
  static PyObject* make(T value) noexcept {
    if constexpr (std::is_signed_v<T>) {
      return PyLong_FromLongLong(value);
    } else {
      return PyLong_FromUnsignedLongLong(value);
    }
  }
};

template <class T>
struct scalar<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "float";
  static bool is_exact(PyObject* object) noexcept { return PyFloat_Check(object) != 0; }
  /// Accepts float, int and every object with __float__ or __index__. For float, rounds the value.
  static bool load(PyObject* object, T& out) noexcept {
    if (PyFloat_CheckExact(object)) {
      out = static_cast<T>(PyFloat_AS_DOUBLE(object));
      return true;
    }
    double value = -1.0;
    bool const done = detail::load_double(object, value) &&
                      (sizeof(T) == sizeof value || detail::round_to_odd(object, value));
    out = static_cast<T>(value);
    return done;
  }
  static PyObject* make(T value) noexcept { return PyFloat_FromDouble(static_cast<double>(value)); }
};

template <>
struct scalar<std::string> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "str";
  static bool is_exact(PyObject*) noexcept { return true; }
  static bool load(PyObject* object, std::string& out) noexcept {
    std::string_view const text = detail::utf8_of(object);
    return text.data() != nullptr && guarded([&] { out = text; });
  }
  static PyObject* make(std::string const& value) noexcept {
    return api<PyUnicode_FromStringAndSize>(value.data(), static_cast<Py_ssize_t>(value.size()));
  }
};

// std::monostate, without the header that declares it: an empty type whose objects are equal.
template <class T,
          bool IsEmpty = std::is_empty_v<T> && std::is_trivially_copyable_v<T> &&
                         std::is_trivially_default_constructible_v<T>,
          class = void>
constexpr bool is_monostate = false;
template <class T>
constexpr bool
    is_monostate<T, true, std::void_t<decltype(std::declval<T>() <= std::declval<T>())>> = true;

template <class T>
struct scalar<T, std::enable_if_t<is_monostate<T>>> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "None";
  static bool is_exact(PyObject*) noexcept { return true; }
  static bool load(PyObject* object, T&) noexcept {
    return object == Py_None || (detail::refuse_value(object, "None"), false);
  }
  static PyObject* make(T const&) noexcept { return ref::borrow(Py_None).release(); }
};

template <class T>
constexpr bool is_scalar = scalar<T>::is_scalar;
template <class T>
constexpr bool is_number_type = std::is_arithmetic_v<T> && is_scalar<T>;

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

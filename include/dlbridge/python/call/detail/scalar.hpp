// scalar<T>: converts numbers between Python and C++ without narrowing an integer or truncating a
// float; and text and None.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
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
// Sets TypeError for an object that is no such value. An exception that Python code raised stays.
DLBRIDGE_COLD void refuse_value(PyObject* object, char const* expected) noexcept;

// The text of a str, which stores it; a view of null, with an exception set, of other objects.
std::string_view utf8_of(PyObject* object) noexcept;
}  // namespace detail

template <>
struct scalar<bool> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "bool";
  static bool is_exact(PyObject* object) noexcept { return PyBool_Check(object) != 0; }
  /// Accepts bool and NumPy's bool. Any other object would be true or false as well.
  static bool load(PyObject* object, bool& out) noexcept;
  static PyObject* make(bool value) noexcept { return PyBool_FromLong(value ? 1 : 0); }
  static bool is_numpy_bool(PyObject* object) noexcept;
};

template <class T>
struct scalar<T, std::enable_if_t<std::is_integral_v<T> && sizeof(T) <= sizeof(long long)>> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "int";
  static bool is_exact(PyObject* object) noexcept {
    return PyLong_Check(object) && !PyBool_Check(object);
  }
  /// Accepts int and every object with __index__. A float has none.
  static bool load(PyObject* object, T& out) noexcept;
  static PyObject* make(T value) noexcept;
};

template <class T>
struct scalar<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "float";
  static bool is_exact(PyObject* object) noexcept { return PyFloat_Check(object) != 0; }
  /// Accepts float, int and every object with __float__ or __index__. For float, rounds the value.
  static bool load(PyObject* object, T& out) noexcept;
  static PyObject* make(T value) noexcept { return PyFloat_FromDouble(static_cast<double>(value)); }
};

template <>
struct scalar<std::string> {
  static constexpr bool is_scalar = true;
  static constexpr char const* name = "str";
  static bool is_exact(PyObject*) noexcept { return true; }
  static bool load(PyObject* object, std::string& out) noexcept;
  static PyObject* make(std::string const& value) noexcept;
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
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/scalar.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/scalar.ipp>
#endif

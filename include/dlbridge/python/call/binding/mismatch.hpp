// set_mismatch: the TypeError of an argument that is no tensor and does not fit its parameter.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Whether a message shows repr() of an object: that of a text or a number, and not of an array,
// whose elements may have to be copied from a device.
inline bool shows_value(PyObject* object) noexcept {
  return PyUnicode_Check(object) || (PyNumber_Check(object) != 0 && !has_length(Py_TYPE(object)));
}

// "'abc' (str)" for a text or a number, otherwise the name of the type. Null with an exception set
// on failure.
DLBRIDGE_COLD inline ref describe_object(PyObject* object) noexcept {
  if (object == Py_None) {
    return ref::steal(api<PyUnicode_FromString>("None"));
  }
  bool const is_encodable = !PyUnicode_Check(object) || api<PyUnicode_AsUTF8>(object) != nullptr;
  if (!is_encodable && !suppress_exception()) {
    return ref();
  }
  char const* const type = Py_TYPE(object)->tp_name;
  ref const text = shows_value(object) ? ref::steal(api<PyObject_Repr>(object)) : ref();
  bool const is_short = text && PyUnicode_GET_LENGTH(text.get()) <= 40;
  if (!suppress_exception()) {
    return ref();
  }
  char const* const remark = is_encodable ? "" : ", which UTF-8 cannot encode";
  return ref::steal(is_short ? api<PyUnicode_FromFormat>("%U (%s)%s", text.get(), type, remark)
                             : api<PyUnicode_FromFormat>("%s%s", type, remark));
}

// Whether a parameter is an integer, whose caster refuses what is out of its range.
template <class T>
constexpr bool is_bounded = std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character<T>;
// The type of a parameter without its std::optional.
template <class T>
struct value_in {
  using type = T;
};
template <class T>
struct value_in<std::optional<T>> {
  using type = T;
};

// The TypeError of an object of a bound class whose __init__ was not called.
constexpr char const* not_initialized =
    "expected an initialized object; __init__ of its class was not called";

// An annotation without "| None" at its end: pybind11's none(false) refuses None all the same.
DLBRIDGE_COLD inline ref without_none(PyObject* annotation) noexcept {
  Py_ssize_t length = 0;
  char const* const text = api<PyUnicode_AsUTF8AndSize>(annotation, &length);
  std::string_view const all(text != nullptr ? text : "", static_cast<std::size_t>(length));
  std::string_view const end = " | None";
  if (all.size() < end.size() || all.substr(all.size() - end.size()) != end) {
    return text != nullptr ? ref::borrow(annotation) : ref();
  }
  return ref::steal(
      api<PyUnicode_FromStringAndSize>(text, length - static_cast<Py_ssize_t>(end.size())));
}

// Sets the TypeError "expected ...; got ...", whose message needs no more than the argument's name.
// expected: a str, or null with an exception set, which then stays pending
// headers: those of the binding library that convert what has the name of a C++ type
DLBRIDGE_COLD inline void set_mismatch(PyObject* expected, PyObject* object,
                                       char const* headers) noexcept {
  ref const named = expected == nullptr ? ref()
                    : object == Py_None ? without_none(expected)
                                        : ref::borrow(expected);
  ref const got = named ? describe_object(object) : ref();
  char const* const type = got ? api<PyUnicode_AsUTF8>(named.get()) : nullptr;
  if (type != nullptr) {
    bool const is_cpp = std::strstr(type, "std::") != nullptr;
    api<PyErr_Format>(PyExc_TypeError, "expected %U; got %U%s%s", named.get(), got.get(),
                      is_cpp ? ". Did you forget to #include " : "", is_cpp ? headers : "");
  }
}

// The same for a parameter that is an integer: annotations do not state its range.
// alternative: " or None", or nothing
template <class Integer>
DLBRIDGE_COLD void set_integer_mismatch(PyObject* object, char const* alternative) noexcept {
  using limits = std::numeric_limits<Integer>;
  ref const expected = ref::steal(api<PyUnicode_FromFormat>(
      "an integer from %lld to %llu%s", static_cast<long long>((limits::min)()),
      static_cast<unsigned long long>((limits::max)()), alternative));
  set_mismatch(expected.get(), object, "");
}

// Sets what an object raises as a number of the type, unless that is a plain TypeError: the casters
// of the binding libraries drop it.
DLBRIDGE_COLD inline bool raises_as_number(PyObject* object, bool is_integer) noexcept {
  if (is_integer) {
    ref::steal(api<PyNumber_Index>(object));
  } else {
    api<PyFloat_AsDouble>(object);
  }
  ref exception = take_exception();
  bool const raises =
      exception && reinterpret_cast<PyObject*>(Py_TYPE(exception.get())) != PyExc_TypeError;
  if (raises) {
    set_exception(std::move(exception));
  }
  return raises;
}

// Sets the exception of an argument for a parameter of type T: a TypeError, or its own.
template <class T>
DLBRIDGE_COLD void set_mismatch_of(PyObject* expected, PyObject* object,
                                   char const* headers) noexcept {
  using value = typename value_in<T>::type;
  if constexpr (std::is_floating_point_v<value> || is_bounded<value>) {
    if (raises_as_number(object, std::is_integral_v<value>)) {
      return;
    }
  }
  if constexpr (is_bounded<value>) {
    set_integer_mismatch<value>(object,
                                std::is_same_v<T, value> || object == Py_None ? "" : " or None");
  } else {
    set_mismatch(expected, object, headers);
  }
}

// Sets the TypeError of a binding that states None for a parameter of tensors that refuses it.
DLBRIDGE_COLD inline void set_none_refused(char const* function, char const* name) noexcept {
  api<PyErr_Format>(PyExc_TypeError,
                    "dlbridge: the binding of %s() states that argument '%s' may be None, which "
                    "its type refuses. Write std::optional of the type",
                    function, name != nullptr ? name : "");
}

// The annotation of parameter `index` in a signature of pybind11, "(x: int, *, y: str = 'a') -> t",
// as a str. Empty with an exception set on failure.
DLBRIDGE_COLD inline ref annotation_in(char const* signature, std::size_t index) noexcept {
  auto const text = [](char const* begin, std::size_t size) {
    return ref::steal(api<PyUnicode_FromStringAndSize>(begin, static_cast<Py_ssize_t>(size)));
  };
  char const* begin = signature + 1;  // of the parameter
  char const* annotation = nullptr;   // of it, if it has one
  char const* end = nullptr;          // of the annotation, if a default follows
  int depth = 0;
  char quote = '\0';
  bool is_escaped = false;  // the next character of a text
  for (char const* at = signature; *at != '\0'; ++at) {
    char const c = *at;
    if (quote != '\0') {
      quote = c == quote && !is_escaped ? '\0' : quote;
      is_escaped = c == '\\' && !is_escaped;
      continue;
    }
    bool const opens = std::strchr("([{<", c) != nullptr;  // a default may be "<point 1, 2>"
    bool const closes = std::strchr(")]}", c) != nullptr || (c == '>' && at[-1] != '-');
    depth += opens ? 1 : closes ? -1 : 0;
    quote = c == '"' || c == '\'' ? c : '\0';
    if (depth == 1 && annotation == nullptr && c == ':') {
      annotation = at + 2;
    } else if (depth == 1 && end == nullptr && std::strncmp(at, " = ", 3) == 0) {
      end = at;
    }
    if (!(c == ',' && depth == 1) && depth != 0) {
      continue;
    }
    bool const is_mark = at - begin == 1 && (*begin == '*' || *begin == '/');
    if (!is_mark && index-- == 0) {
      char const* const first = annotation != nullptr ? annotation : begin;
      return text(first, static_cast<std::size_t>((end != nullptr ? end : at) - first));
    }
    if (depth == 0) {
      break;
    }
    begin = at + 2;
    annotation = nullptr;
    end = nullptr;
  }
  return text("another type", 12);
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

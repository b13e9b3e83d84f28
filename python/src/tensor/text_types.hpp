// dtype_type, device_type, to_python: create the Python types dtype and device, which derive from
// str, and their objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/read_device.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

#include "core.hpp"
#include "docstrings.hpp"
#include "dtypes.hpp"

namespace core DLBRIDGE_LOCAL {
/// The types dlbridge.dtype and dlbridge.device. Both derive from str, so that they compare, hash
/// and print as their names, and frameworks that accept names accept them: np.dtype(t.dtype),
/// torch.zeros(3, device=t.device). They are created once and live as long as the process.
/// @return a borrowed reference; null, with an exception set, when the type cannot be created.
DLBRIDGE_LOCAL inline PyObject* dtype_type() noexcept;
DLBRIDGE_LOCAL inline PyObject* device_type() noexcept;

// An object of one of the types.
inline ref new_text(PyObject* type, char const* text) {
  require(type != nullptr);
  ref const arguments = checked(api<Py_BuildValue>("(s)", text));
  return checked(call_slot(PyUnicode_Type.tp_new, reinterpret_cast<PyTypeObject*>(type),
                           arguments.get(), static_cast<PyObject*>(nullptr)));
}
/// A new dlbridge.dtype. This and the other functions throw.
inline ref to_python(dtype value) { return new_text(dtype_type(), name_of(value).c_str()); }
/// A new dlbridge.device.
inline ref to_python(device value) { return new_text(device_type(), name_of(value).c_str()); }
/// An object that exists already, for templates.
inline ref to_python(ref value) noexcept { return value; }
/// A number, a bool, a character or a text.
template <class Value>
ref to_python(Value value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return checked(PyBool_FromLong(value));
  } else if constexpr (std::is_same_v<Value, char>) {
    return checked(api<PyUnicode_FromStringAndSize>(&value, 1));
  } else if constexpr (std::is_same_v<Value, char const*>) {
    return checked(api<PyUnicode_FromString>(value));
  } else if constexpr (std::is_same_v<Value, double>) {
    return checked(PyFloat_FromDouble(value));
  } else if constexpr (std::is_unsigned_v<Value>) {
    return checked(PyLong_FromUnsignedLongLong(value));
  } else {
    return checked(PyLong_FromLongLong(value));
  }
}

// The value of an object.
template <class Value>
Value value_of(PyObject* self);
template <>
DLBRIDGE_COLD inline dtype value_of<dtype>(PyObject* self) {
  char const* const text = api<PyUnicode_AsUTF8>(self);
  require(text != nullptr);
  dtype value;
  static_cast<void>(try_parse_dtype(text, value));
  return value;
}
// Reads the id itself: that of a producer may be negative, which try_parse_device refuses.
template <>
DLBRIDGE_COLD inline device value_of<device>(PyObject* self) {
  char const* const text = api<PyUnicode_AsUTF8>(self);
  require(text != nullptr);
  std::size_t const length = std::strcspn(text, ":");
  device value;
  static_cast<void>(try_parse_device(bounded_text<48>("").append(text, length).c_str(), value));
  value.id = text[length] == '\0'
                 ? value.id
                 : static_cast<std::int32_t>(std::strtol(text + length + 1, nullptr, 10));
  return value;
}

// Reads what == compares with a dtype: every name of one, the dtypes of frameworks and types of
// Python, such as np.float32, torch.float32 and float; or with a device: those of frameworks too.
inline bool read_equal(PyObject* value, dtype& out) noexcept {
  return read_python_type(value, out) || read_dtype_name(value, out) ||
         (PyErr_Occurred() == nullptr && read_numpy_alias(value, out));
}
inline bool read_equal(PyObject* value, device& out) noexcept { return read_device(value, out); }

// == and != of a dtype or a device, with every value that reads as one; other comparisons are those
// of the text. The hash is that of the name.
template <class Value>
ref compare_values(PyObject* self, PyObject* other, int operation) {
  ref by_text = checked(call_slot(PyUnicode_Type.tp_richcompare, self, other, operation));
  bool const is_equality = operation == Py_EQ || operation == Py_NE;
  if (!is_equality || by_text.get() == (operation == Py_EQ ? Py_True : Py_False)) {
    return by_text;
  }
  Value named{};
  bool const is_read = read_equal(other, named);
  require(suppress_exception());
  return is_read ? to_python((value_of<Value>(self) == named) == (operation == Py_EQ))
                 : std::move(by_text);
}
inline ref show_text(PyObject* self) {
  return checked(api<PyUnicode_FromFormat>("%s('%U')", Py_TYPE(self)->tp_name, self));
}

// Reads the argument of dlbridge.device.
inline bool read_known_device(PyObject* value, device& out) noexcept {
  return read_device(value, out) &&
         (is_known(out) || refuse_value(value, "device", "of a DLPack device type"));
}

// dlbridge.dtype(dtype) and dlbridge.device(device)
template <class Value>
ref new_value(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  constexpr bool is_dtype = std::is_same_v<Value, dtype>;
  char const* accepted[] = {is_dtype ? "dtype" : "device", nullptr};
  PyObject* value = nullptr;
  Value read{};
  require(api<PyArg_ParseTupleAndKeywords>(arguments, keywords, is_dtype ? "O:dtype" : "O:device",
                                           const_cast<char**>(accepted), &value));
  if constexpr (is_dtype) {
    require(read_dtype(value, read));
  } else {
    require(read_known_device(value, read));
  }
  return new_text(reinterpret_cast<PyObject*>(type), name_of(read).c_str());
}

// __reduce__ by the numbers: pickling by protocols 0 and 1 knows no base that is a str, and the
// name of a device has no negative id.
template <class Value>
DLBRIDGE_COLD ref reduce_value(PyObject* self, PyObject*) {
  auto const value = value_of<Value>(self);
  if constexpr (std::is_same_v<Value, dtype>) {
    return checked(api<Py_BuildValue>("O((iii))", Py_TYPE(self), int{value.code}, int{value.bits},
                                      int{value.lanes}));
  } else {
    return checked(api<Py_BuildValue>("O((ii))", Py_TYPE(self), int{value.type}, int{value.id}));
  }
}

// A getter of what a function, or a member, gives of the value.
template <class Value, auto Get>
ref of_value(PyObject* self, void*) {
  return to_python(std::invoke(Get, value_of<Value>(self)));
}
template <class Value, auto Get>
constexpr getter get_of = &entry<&of_value<Value, Get>>::call;
inline char const* name_of_type(device where) noexcept { return find_row(where)->name; }
// The characters by which NumPy's consumers recognize a dtype.
inline char numpy_kind(dtype type) noexcept {
  format_row const* const row = find_format(type);
  return row != nullptr ? row->kind : 'V';
}
inline char numpy_byte_order(dtype type) noexcept { return element_bytes(type) == 1 ? '|' : '='; }

// A type whose objects are those of str.
template <class Value>
ref make_text_type(char const* name, char const* full_name, PyGetSetDef* members) noexcept {
  static PyMethodDef methods[] = {{"__reduce__", &entry<&reduce_value<Value>>::call, METH_NOARGS,
                                   "The type and its argument, for pickle."},
                                  {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc_of(name))},
      {Py_tp_new, reinterpret_cast<void*>(&entry<&new_value<Value>>::call)},
      {Py_tp_repr, reinterpret_cast<void*>(&entry<&show_text>::call)},
      {Py_tp_richcompare, reinterpret_cast<void*>(&entry<&compare_values<Value>>::call)},
      {Py_tp_hash, reinterpret_cast<void*>(PyUnicode_Type.tp_hash)},
      {Py_tp_getset, members},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec{full_name, 0, 0, immutable_type, slots};
  ref const bases = ref::steal(api<PyTuple_Pack>(1, &PyUnicode_Type));
  return bases ? ref::steal(api<PyType_FromSpecWithBases>(&spec, bases.get())) : ref();
}

DLBRIDGE_LOCAL inline ref make_dtype_type() noexcept {
  static PyGetSetDef members[] = {
      {"code", get_of<dtype, &dtype::code>, nullptr, nullptr, nullptr},
      {"bits", get_of<dtype, &dtype::bits>, nullptr, nullptr, nullptr},
      {"lanes", get_of<dtype, &dtype::lanes>, nullptr, nullptr, nullptr},
      {"itemsize", get_of<dtype, &element_bytes>, nullptr, nullptr, nullptr},
      {"name", [](PyObject* s, void*) { return api<PyObject_Str>(s); }, nullptr, nullptr, nullptr},
      {"kind", get_of<dtype, &numpy_kind>, nullptr, nullptr, nullptr},
      {"byteorder", get_of<dtype, &numpy_byte_order>, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return make_text_type<dtype>("dtype", "dlbridge.dtype", with_docs("dtype.", members));
}

DLBRIDGE_LOCAL inline ref make_device_type() noexcept {
  static PyGetSetDef members[] = {
      {"type", get_of<device, &name_of_type>, nullptr, nullptr, nullptr},
      {"id", get_of<device, &device::id>, nullptr, nullptr, nullptr},
      {"code", get_of<device, &device::type>, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return make_text_type<device>("device", "dlbridge.device", with_docs("device.", members));
}

inline PyObject* dtype_type() noexcept {
  static lazy_object type;
  return type.get(&make_dtype_type);
}
inline PyObject* device_type() noexcept {
  static lazy_object type;
  return type.get(&make_device_type);
}
}  // namespace core DLBRIDGE_LOCAL

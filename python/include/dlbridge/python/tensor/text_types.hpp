// text_types, to_python: create the Python types dtype and device, which derive from str, and their
// objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/docstrings.hpp>
#include <dlbridge/python/detail/dtypes.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace core DLBRIDGE_LOCAL {
/// The types dlbridge.dtype and dlbridge.device. Both derive from str, so that they compare, hash
/// and print as their names, and frameworks that accept names accept them: np.dtype(t.dtype),
/// torch.zeros(3, device=t.device). They are created once and live as long as the process.
struct text_types {
  PyObject* dtype = nullptr;
  PyObject* device = nullptr;

  /// @return the types; a member is null, with an exception set, when its type cannot be created.
  DLBRIDGE_LOCAL static text_types get() noexcept;
};

// An object of one of the types; empty, with an exception set, on failure. Without a type, an
// exception is set already.
inline ref new_text(PyObject* type, char const* text) noexcept {
  ref const arguments = type != nullptr ? ref::steal(api<Py_BuildValue>("(s)", text)) : ref();
  return arguments
             ? ref::steal(call_slot(PyUnicode_Type.tp_new, reinterpret_cast<PyTypeObject*>(type),
                                    arguments.get(), static_cast<PyObject*>(nullptr)))
             : ref();
}
/// A new dlbridge.dtype.
/// @return the object; empty, with an exception set, on failure.
inline ref to_python(dtype value) noexcept {
  return new_text(text_types::get().dtype, name_of(value).c_str());
}
/// A new dlbridge.device. As for a dtype.
inline ref to_python(device value) noexcept {
  return new_text(text_types::get().device, name_of(value).c_str());
}
/// An object that exists already, for templates.
inline ref to_python(ref value) noexcept { return value; }
/// A number, a bool, a character or a text.
template <class Value>
ref to_python(Value value) noexcept {
  if constexpr (std::is_same_v<Value, bool>) {
    return ref::steal(PyBool_FromLong(value));
  } else if constexpr (std::is_same_v<Value, char>) {
    return ref::steal(api<PyUnicode_FromStringAndSize>(&value, 1));
  } else if constexpr (std::is_same_v<Value, char const*>) {
    return ref::steal(api<PyUnicode_FromString>(value));
  } else if constexpr (std::is_unsigned_v<Value>) {
    return ref::steal(PyLong_FromUnsignedLongLong(value));
  } else {
    return ref::steal(PyLong_FromLongLong(value));
  }
}

// The value of a dtype object; false, with an exception set, on failure.
DLBRIDGE_COLD inline bool read_own(PyObject* self, dtype& parsed) noexcept {
  char const* const text = api<PyUnicode_AsUTF8>(self);
  if (text != nullptr) {
    static_cast<void>(try_parse_dtype(text, parsed));
  }
  return text != nullptr;
}
// The value of a device object; false, with an exception set, on failure. Reads the id itself: that
// of a producer may be negative, which try_parse_device refuses.
DLBRIDGE_COLD inline bool read_own(PyObject* self, device& parsed) noexcept {
  bounded_text<48> type;
  char const* const text = api<PyUnicode_AsUTF8>(self);
  if (text == nullptr) {
    return false;
  }
  std::size_t const length = std::strcspn(text, ":");
  static_cast<void>(try_parse_device(type.append(text, length).c_str(), parsed));
  if (text[length] != '\0') {
    parsed.id = static_cast<std::int32_t>(std::strtol(text + length + 1, nullptr, 10));
  }
  return true;
}

// Reads another name that NumPy has for a dtype, such as "f4" or "single", or a type for which
// NumPy has one, such as ctypes.c_float. Returns false, with or without an exception set, for
// others.
DLBRIDGE_COLD inline bool read_numpy_alias(PyObject* value, dtype& out) noexcept {
  bool const may_be_one = PyUnicode_Check(value) || PyType_Check(value);
  ref const make = may_be_one ? import_function("numpy", "dtype") : ref();
  ref const named = make ? ref::steal(api<PyObject_CallOneArg>(make.get(), value)) : ref();
  return named && read_dtype_name(named.get(), out);
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
PyObject* compare_values(PyObject* self, PyObject* other, int operation) noexcept {
  ref by_text = ref::steal(call_slot(PyUnicode_Type.tp_richcompare, self, other, operation));
  bool const is_equality = operation == Py_EQ || operation == Py_NE;
  if (!by_text || !is_equality || by_text.get() == (operation == Py_EQ ? Py_True : Py_False)) {
    return by_text.release();
  }
  Value own{};
  Value named{};
  bool const is_read = read_own(self, own) && read_equal(other, named);
  if (!suppress_exception()) {
    return nullptr;
  }
  return is_read ? PyBool_FromLong((own == named) == (operation == Py_EQ)) : by_text.release();
}
inline PyObject* show_text(PyObject* self) noexcept {
  return api<PyUnicode_FromFormat>("%s('%U')", Py_TYPE(self)->tp_name, self);
}

// Reads the argument of dlbridge.device.
inline bool read_known_device(PyObject* value, device& out) noexcept {
  return read_device(value, out) &&
         (is_known(out) || refuse_value(value, "device", "of a DLPack device type"));
}

// dlbridge.dtype(dtype) and dlbridge.device(device)
template <class Value>
PyObject* new_value(PyTypeObject* type, PyObject* arguments, PyObject* keywords, char const* format,
                    char const* name, bool (*read)(PyObject*, Value&) noexcept) noexcept {
  char const* accepted[] = {name, nullptr};
  PyObject* value = nullptr;
  Value parsed{};
  return api<PyArg_ParseTupleAndKeywords>(arguments, keywords, format, const_cast<char**>(accepted),
                                          &value) &&
                 read(value, parsed)
             ? new_text(reinterpret_cast<PyObject*>(type), name_of(parsed).c_str()).release()
             : nullptr;
}
inline PyObject* new_dtype(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  return new_value<dtype>(type, arguments, keywords, "O:dtype", "dtype", &read_dtype);
}
inline PyObject* new_device(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  return new_value<device>(type, arguments, keywords, "O:device", "device", &read_known_device);
}

// __reduce__ by the numbers: pickling by protocols 0 and 1 knows no base that is a str, and the
// name of a device has no negative id.
inline PyObject* reduce_dtype(PyObject* self, PyObject*) noexcept {
  dtype d;
  return read_own(self, d)
             ? api<Py_BuildValue>("O((iii))", Py_TYPE(self), int{d.code}, int{d.bits}, int{d.lanes})
             : nullptr;
}
DLBRIDGE_COLD inline PyObject* reduce_device(PyObject* self, PyObject*) noexcept {
  device where;
  return read_own(self, where)
             ? api<Py_BuildValue>("O((ii))", Py_TYPE(self), int{where.type}, int{where.id})
             : nullptr;
}

// A getter of what a function, or a member, gives of the value.
template <class Value, auto Get>
PyObject* get_of(PyObject* self, void*) noexcept {
  Value value{};
  return read_own(self, value) ? to_python(std::invoke(Get, value)).release() : nullptr;
}
inline char const* name_of_type(device where) noexcept { return find_row(where)->name; }
// The characters by which NumPy's consumers recognize a dtype.
inline char numpy_kind(dtype type) noexcept {
  format_row const* const row = find_format(type);
  return row != nullptr ? row->kind : 'V';
}
inline char numpy_byte_order(dtype type) noexcept { return element_bytes(type) == 1 ? '|' : '='; }

// A type whose objects are those of str. Its slots may change, and lie as long as the process.
template <class Value, PyObject* (*New)(PyTypeObject*, PyObject*, PyObject*) noexcept,
          PyObject* (*Reduce)(PyObject*, PyObject*) noexcept>
ref make_text_type(char const* name, char const* full_name, PyGetSetDef* members) noexcept {
  static PyMethodDef methods[] = {
      {"__reduce__", Reduce, METH_NOARGS, "The type and its argument, for pickle."},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(doc_of(name))},
                         {Py_tp_new, reinterpret_cast<void*>(New)},
                         {Py_tp_repr, reinterpret_cast<void*>(&show_text)},
                         {Py_tp_richcompare, reinterpret_cast<void*>(&compare_values<Value>)},
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
      {"code", &get_of<dtype, &dtype::code>, nullptr, nullptr, nullptr},
      {"bits", &get_of<dtype, &dtype::bits>, nullptr, nullptr, nullptr},
      {"lanes", &get_of<dtype, &dtype::lanes>, nullptr, nullptr, nullptr},
      {"itemsize", &get_of<dtype, &element_bytes>, nullptr, nullptr, nullptr},
      {"name", [](PyObject* s, void*) { return api<PyObject_Str>(s); }, nullptr, nullptr, nullptr},
      {"kind", &get_of<dtype, &numpy_kind>, nullptr, nullptr, nullptr},
      {"byteorder", &get_of<dtype, &numpy_byte_order>, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return make_text_type<dtype, &new_dtype, &reduce_dtype>("dtype", "dlbridge.dtype",
                                                          with_docs("dtype.", members));
}

DLBRIDGE_LOCAL inline ref make_device_type() noexcept {
  static PyGetSetDef members[] = {
      {"type", &get_of<device, &name_of_type>, nullptr, nullptr, nullptr},
      {"id", &get_of<device, &device::id>, nullptr, nullptr, nullptr},
      {"code", &get_of<device, &device::type>, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return make_text_type<device, &new_device, &reduce_device>("device", "dlbridge.device",
                                                             with_docs("device.", members));
}

inline text_types text_types::get() noexcept {
  static lazy_object dtype_type;
  static lazy_object device_type;
  text_types types;
  types.dtype = dtype_type.get(&make_dtype_type);
  types.device = types.dtype != nullptr ? device_type.get(&make_device_type) : nullptr;
  return types;
}
}  // namespace core DLBRIDGE_LOCAL

// dtype and device as Python sees them: strings that know their numbers.
// layer: tensor · how dtypes and devices look in Python
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The types dlbridge.dtype and dlbridge.device. Both derive from str, so that they compare, hash
/// and print as their names, and frameworks that take names take them: np.dtype(t.dtype),
/// torch.zeros(3, device=t.device). Made once, kept for the process.
struct text_types {
  PyObject* dtype = nullptr;
  PyObject* device = nullptr;

  /// Null members, with an exception set, when the types could not be made.
  DLBRIDGE_LOCAL static text_types& get() noexcept;
};

namespace detail {
inline ref new_text(PyObject* type, char const* text) noexcept {
  ref const arguments = ref::steal(Py_BuildValue("(s)", text));
  return arguments ? ref::steal(PyUnicode_Type.tp_new(reinterpret_cast<PyTypeObject*>(type),
                                                      arguments.get(), nullptr))
                   : ref();
}

// The last word of a framework's name for a dtype: "torch.float32" and numpy.float32 give
// "float32".
inline bool read_dtype_name(PyObject* value, dtype& out) noexcept {
  ref name = PyUnicode_Check(value) ? ref::borrow(value) : find_attribute(value, "name");
  if (!name && PyType_Check(value)) {
    name = find_attribute(value, "__name__");
  }
  if (!name || !PyUnicode_Check(name.get())) {
    name = ref::steal(PyObject_Str(value));
  }
  char const* const text = name ? text_in(name.get()) : nullptr;
  PyErr_Clear();
  if (text == nullptr) {
    return false;
  }
  char const* const dot = std::strrchr(text, '.');
  return try_parse_dtype(dot != nullptr ? dot + 1 : text, out);
}

// dlbridge.dtype(x) for a name, a framework's dtype, or a triple (code, bits, lanes).
inline PyObject* new_dtype(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  PyObject* value = nullptr;
  char const* accepted[] = {"dtype", nullptr};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:dtype", const_cast<char**>(accepted),
                                   &value)) {
    return nullptr;
  }
  dtype parsed;
  if (PyTuple_Check(value)) {
    int code = 0;
    int bits = 0;
    int lanes = 1;
    bool const read = PyArg_ParseTuple(value, "ii|i", &code, &bits, &lanes) != 0 && code >= 0 &&
                      code < 256 && bits > 0 && bits < 256 && lanes > 0 && lanes < 65536;
    parsed = dtype(code, bits, lanes);
    if (!read || !is_sound(parsed)) {
      refuse_value(value, "dtype", "(code, bits) or (code, bits, lanes) of a DLPack dtype");
      return nullptr;
    }
  } else if (!read_dtype_name(value, parsed)) {
    refuse_value(value, "dtype",
                 "a name such as 'float32', a framework's dtype, or a triple "
                 "(code, bits, lanes)");
    return nullptr;
  }
  return new_text(reinterpret_cast<PyObject*>(type), name_of(parsed).c_str()).release();
}

// dlbridge.device(x) for whatever read_device takes.
inline PyObject* new_device(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  PyObject* value = nullptr;
  char const* accepted[] = {"device", nullptr};
  device parsed;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:device", const_cast<char**>(accepted),
                                   &value) ||
      !read_device(value, parsed)) {
    return nullptr;
  }
  if (!is_known(parsed)) {
    refuse_value(value, "device", "of a type that DLPack knows");
    return nullptr;
  }
  return new_text(reinterpret_cast<PyObject*>(type), name_of(parsed).c_str()).release();
}

inline dtype dtype_of_text(PyObject* self) noexcept {
  dtype parsed;
  static_cast<void>(try_parse_dtype(PyUnicode_AsUTF8(self), parsed));
  return parsed;
}
// A producer's ordinal may be negative, which is no name that a caller can give.
inline device device_of_text(PyObject* self) noexcept {
  device parsed;
  bounded_text<48> type;
  char const* const text = PyUnicode_AsUTF8(self);
  std::size_t const length = std::strcspn(text, ":");
  static_cast<void>(try_parse_device(type.append(text, length).c_str(), parsed));
  if (text[length] != '\0') {
    parsed.id = static_cast<std::int32_t>(std::strtol(text + length + 1, nullptr, 10));
  }
  return parsed;
}

// np.float32 and torch.float32 are no strings, and equal all the same.
inline PyObject* compare_dtype(PyObject* self, PyObject* other, int operation) noexcept {
  dtype named;
  if (PyUnicode_Check(other) || (operation != Py_EQ && operation != Py_NE) ||
      !read_dtype_name(other, named)) {
    return PyUnicode_Type.tp_richcompare(self, other, operation);
  }
  return PyBool_FromLong((dtype_of_text(self) == named) == (operation == Py_EQ));
}
inline PyObject* show_text(PyObject* self) noexcept {
  return PyUnicode_FromFormat("%s('%U')", Py_TYPE(self)->tp_name, self);
}

inline PyObject* make_text_type(PyType_Spec& spec) noexcept {
  ref const bases = ref::steal(PyTuple_Pack(1, &PyUnicode_Type));
  return bases ? PyType_FromSpecWithBases(&spec, bases.get()) : nullptr;
}

template <class Function>
void* slot(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

DLBRIDGE_LOCAL inline PyObject* make_dtype_type() noexcept {
  static PyGetSetDef members[] = {
      {"code", [](PyObject* s, void*) { return PyLong_FromLong(dtype_of_text(s).code); }, nullptr,
       "The DLDataTypeCode.", nullptr},
      {"bits", [](PyObject* s, void*) { return PyLong_FromLong(dtype_of_text(s).bits); }, nullptr,
       "Bits of one scalar; complex numbers count whole.", nullptr},
      {"lanes", [](PyObject* s, void*) { return PyLong_FromLong(dtype_of_text(s).lanes); }, nullptr,
       "Scalars per element; 1 for ordinary data.", nullptr},
      {"itemsize",
       [](PyObject* s, void*) { return PyLong_FromLongLong(element_bytes(dtype_of_text(s))); },
       nullptr, "Bytes of one element on its own.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "dtype(x)\n--\n\nWhat an element is: a str such as 'float32' that knows code, "
           "bits and lanes.\n\nx: a name, a framework's dtype, or a triple (code, bits, "
           "lanes). Raises ValueError for any other.")},
      {Py_tp_new, slot(&new_dtype)},
      {Py_tp_repr, slot(&show_text)},
      {Py_tp_richcompare, slot(&compare_dtype)},
      {Py_tp_hash, slot(PyUnicode_Type.tp_hash)},
      {Py_tp_getset, members},
      {0, nullptr}};
  static PyType_Spec spec{"dlbridge.dtype", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  return make_text_type(spec);
}

DLBRIDGE_LOCAL inline PyObject* make_device_type() noexcept {
  static PyGetSetDef members[] = {
      {"type",
       [](PyObject* s, void*) { return PyUnicode_FromString(find_row(device_of_text(s))->name); },
       nullptr, "The kind of memory space, such as 'cuda'.", nullptr},
      {"id", [](PyObject* s, void*) { return PyLong_FromLong(device_of_text(s).id); }, nullptr,
       "The producer's ordinal.", nullptr},
      {"code", [](PyObject* s, void*) { return PyLong_FromLong(device_of_text(s).type); }, nullptr,
       "The DLDeviceType.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "device(x)\n--\n\nWhere elements live: a str such as 'cuda:0' that knows its "
           "type and id.\n\nx: a name, a pair (device type, device id), or a framework's "
           "device. Raises ValueError for any other.")},
      {Py_tp_new, slot(&new_device)},
      {Py_tp_repr, slot(&show_text)},
      {Py_tp_getset, members},
      {0, nullptr}};
  static PyType_Spec spec{"dlbridge.device", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  return make_text_type(spec);
}
}  // namespace detail

inline text_types& text_types::get() noexcept {
  static text_types made;
  if (made.dtype == nullptr) {
    made.dtype = detail::make_dtype_type();
  }
  if (made.device == nullptr && made.dtype != nullptr) {
    made.device = detail::make_device_type();
  }
  return made;
}

/// A new dlbridge.dtype, a new dlbridge.device.
inline ref to_python(dtype type) noexcept {
  PyObject* const made = text_types::get().dtype;
  return made != nullptr ? detail::new_text(made, name_of(type).c_str()) : ref();
}
inline ref to_python(device where) noexcept {
  PyObject* const made = text_types::get().device;
  return made != nullptr ? detail::new_text(made, name_of(where).c_str()) : ref();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

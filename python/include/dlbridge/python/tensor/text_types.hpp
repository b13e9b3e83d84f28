// text_types, to_python: create the Python types dtype and device, which derive from str, and their
// objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/dtypes.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The types dlbridge.dtype and dlbridge.device. Both derive from str, so that they compare, hash
/// and print as their names, and frameworks that accept names accept them: np.dtype(t.dtype),
/// torch.zeros(3, device=t.device). They are created once and live as long as the process.
struct text_types {
  PyObject* dtype = nullptr;
  PyObject* device = nullptr;

  /// @return the types; a member is null, with an exception set, when its type cannot be created.
  DLBRIDGE_LOCAL static text_types get() noexcept;
};

namespace detail {
inline ref new_text(PyObject* type, char const* text) noexcept {
  ref const arguments = ref::steal(api<Py_BuildValue>("(s)", text));
  return arguments
             ? ref::steal(call_slot(PyUnicode_Type.tp_new, reinterpret_cast<PyTypeObject*>(type),
                                    arguments.get(), static_cast<PyObject*>(nullptr)))
             : ref();
}

// dlbridge.dtype(x)
inline PyObject* new_dtype(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  PyObject* value = nullptr;
  char const* accepted[] = {"dtype", nullptr};
  dtype parsed;
  if (!api<PyArg_ParseTupleAndKeywords>(arguments, keywords, "O:dtype",
                                        const_cast<char**>(accepted), &value) ||
      !read_dtype(value, parsed)) {
    return nullptr;
  }
  return new_text(reinterpret_cast<PyObject*>(type), name_of(parsed).c_str()).release();
}

// dlbridge.device(x) for every value that read_device accepts.
inline PyObject* new_device(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  PyObject* value = nullptr;
  char const* accepted[] = {"device", nullptr};
  device parsed;
  if (!api<PyArg_ParseTupleAndKeywords>(arguments, keywords, "O:device",
                                        const_cast<char**>(accepted), &value) ||
      !read_device(value, parsed)) {
    return nullptr;
  }
  if (!is_known(parsed)) {
    refuse_value(value, "device", "of a DLPack device type");
    return nullptr;
  }
  return new_text(reinterpret_cast<PyObject*>(type), name_of(parsed).c_str()).release();
}

// The value of a dtype object; false, with an exception set, on failure.
DLBRIDGE_COLD inline bool dtype_of_text(PyObject* self, dtype& parsed) noexcept {
  char const* const text = api<PyUnicode_AsUTF8>(self);
  if (text != nullptr) {
    static_cast<void>(try_parse_dtype(text, parsed));
  }
  return text != nullptr;
}
// The value of a device object; false, with an exception set, on failure. Reads the id itself: that
// of a producer may be negative, which try_parse_device refuses.
DLBRIDGE_COLD inline bool device_of_text(PyObject* self, device& parsed) noexcept {
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

// == and != of a dtype or a device, with every value that reads as one; other comparisons are those
// of the text.
template <class Value>
PyObject* compare_values(PyObject* self, PyObject* other, int operation,
                         bool (*read_own)(PyObject*, Value&) noexcept,
                         bool (*read)(PyObject*, Value&) noexcept) noexcept {
  ref by_text = ref::steal(call_slot(PyUnicode_Type.tp_richcompare, self, other, operation));
  bool const is_equality = operation == Py_EQ || operation == Py_NE;
  if (!by_text || !is_equality || by_text.get() == (operation == Py_EQ ? Py_True : Py_False)) {
    return by_text.release();
  }
  Value own{};
  Value named{};
  bool const is_read = read_own(self, own) && read(other, named);
  if (!suppress_exception()) {
    return nullptr;
  }
  return is_read ? PyBool_FromLong((own == named) == (operation == Py_EQ)) : by_text.release();
}

// A dtype equals every name of it, the dtypes of frameworks and types of Python: np.float32,
// torch.float32 and float are no str. The hash is that of the name.
inline PyObject* compare_dtype(PyObject* self, PyObject* other, int operation) noexcept {
  return compare_values<dtype>(
      self, other, operation, &dtype_of_text, [](PyObject* value, dtype& out) noexcept {
        return read_python_type(value, out) || read_dtype_name(value, out) ||
               (PyErr_Occurred() == nullptr && read_numpy_alias(value, out));
      });
}
// A device equals the devices of frameworks too: torch.device("cpu") is no str.
inline PyObject* compare_device(PyObject* self, PyObject* other, int operation) noexcept {
  return compare_values<device>(self, other, operation, &device_of_text, &read_device);
}
inline PyObject* show_text(PyObject* self) noexcept {
  return api<PyUnicode_FromFormat>("%s('%U')", Py_TYPE(self)->tp_name, self);
}

// Pickling by protocols 0 and 1 knows no base that is a str.
inline PyObject* reduce_dtype(PyObject* self, PyObject*) noexcept {
  dtype d;
  return dtype_of_text(self, d)
             ? api<Py_BuildValue>("O((iii))", Py_TYPE(self), int{d.code}, int{d.bits}, int{d.lanes})
             : nullptr;
}
// By its numbers, as for read_own_device.
DLBRIDGE_COLD inline PyObject* reduce_device(PyObject* self, PyObject*) noexcept {
  device where;
  return device_of_text(self, where)
             ? api<Py_BuildValue>("O((ii))", Py_TYPE(self), int{where.type}, int{where.id})
             : nullptr;
}

inline PyObject* make_text_type(PyType_Spec& spec) noexcept {
  ref const bases = ref::steal(api<PyTuple_Pack>(1, &PyUnicode_Type));
  return bases ? api<PyType_FromSpecWithBases>(&spec, bases.get()) : nullptr;
}

template <class Function>
void* slot(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

// The characters by which NumPy's consumers recognize a dtype.
inline char numpy_kind(dtype type) noexcept {
  format_row const* const row = find_format(type);
  return row != nullptr ? row->kind : 'V';
}
inline char numpy_byte_order(dtype type) noexcept { return element_bytes(type) == 1 ? '|' : '='; }
inline PyObject* numpy_character(dtype type, char (*character)(dtype) noexcept) noexcept {
  char const text[] = {character(type), '\0'};
  return api<PyUnicode_FromString>(text);
}

DLBRIDGE_LOCAL inline PyObject* make_dtype_type() noexcept {
  static PyMethodDef methods[] = {
      {"__reduce__", &reduce_dtype, METH_NOARGS, "The type and its argument, for pickle."},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef members[] = {
      {"code",
       [](PyObject* s, void*) {
         dtype d;
         return dtype_of_text(s, d) ? PyLong_FromLong(d.code) : nullptr;
       },
       nullptr, "The DLDataTypeCode.", nullptr},
      {"bits",
       [](PyObject* s, void*) {
         dtype d;
         return dtype_of_text(s, d) ? PyLong_FromLong(d.bits) : nullptr;
       },
       nullptr, "Bits of one scalar; those of a complex number include both parts.", nullptr},
      {"lanes",
       [](PyObject* s, void*) {
         dtype d;
         return dtype_of_text(s, d) ? PyLong_FromLong(d.lanes) : nullptr;
       },
       nullptr, "Scalars per element; 1 except for vector types.", nullptr},
      {"itemsize",
       [](PyObject* s, void*) {
         dtype d;
         return dtype_of_text(s, d) ? PyLong_FromLongLong(element_bytes(d)) : nullptr;
       },
       nullptr, "Bytes of one element, rounded up to whole bytes.", nullptr},
      {"name", [](PyObject* s, void*) { return api<PyObject_Str>(s); }, nullptr,
       "The name, as numpy.dtype.name.", nullptr},
      {"kind",
       [](PyObject* s, void*) {
         dtype d;
         return dtype_of_text(s, d) ? numpy_character(d, &numpy_kind) : nullptr;
       },
       nullptr, "As numpy.dtype.kind; 'V' for a dtype that NumPy lacks.", nullptr},
      {"byteorder",
       [](PyObject* s, void*) {
         dtype d;
         return dtype_of_text(s, d) ? numpy_character(d, &numpy_byte_order) : nullptr;
       },
       nullptr, "As numpy.dtype.byteorder: '=' for this machine's, '|' for elements of a byte.",
       nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "dtype(dtype)\n--\n\n"
           "The type of an element: a str such as 'float32', with its code, bits and lanes.\n\n"
           "Parameters\n----------\n"
           "dtype : str, framework's dtype, type, or tuple of int\n"
           "    A name, a dtype of NumPy or another framework, (code, bits, lanes), or Python's\n"
           "    bool, int, float or complex: bool, int64, float64 or complex128.\n\n"
           "Raises\n------\nValueError\n    If `dtype` is anything else.")},
      {Py_tp_new, slot(&new_dtype)},
      {Py_tp_repr, slot(&show_text)},
      {Py_tp_richcompare, slot(&compare_dtype)},
      {Py_tp_hash, slot(PyUnicode_Type.tp_hash)},
      {Py_tp_getset, members},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec{"dlbridge.dtype", 0, 0, immutable_type, slots};
  return make_text_type(spec);
}

DLBRIDGE_LOCAL inline PyObject* make_device_type() noexcept {
  static PyMethodDef methods[] = {
      {"__reduce__", &reduce_device, METH_NOARGS, "The type and its argument, for pickle."},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef members[] = {
      {"type",
       [](PyObject* s, void*) {
         device where;
         return device_of_text(s, where) ? api<PyUnicode_FromString>(find_row(where)->name)
                                         : nullptr;
       },
       nullptr, "The device type by name, such as 'cuda'.", nullptr},
      {"id",
       [](PyObject* s, void*) {
         device where;
         return device_of_text(s, where) ? PyLong_FromLong(where.id) : nullptr;
       },
       nullptr, "The ordinal of the device, as the producer counts.", nullptr},
      {"code",
       [](PyObject* s, void*) {
         device where;
         return device_of_text(s, where) ? PyLong_FromLong(where.type) : nullptr;
       },
       nullptr, "The DLDeviceType.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "device(device)\n--\n\n"
           "The device of a tensor: a str such as 'cuda:0', with its type and id.\n\n"
           "Parameters\n----------\n"
           "device : str, tuple of int, or framework's device\n"
           "    A name, a pair (device type, device id), or a device of PyTorch or JAX.\n\n"
           "Raises\n------\nValueError\n    If `device` is anything else.")},
      {Py_tp_new, slot(&new_device)},
      {Py_tp_repr, slot(&show_text)},
      {Py_tp_richcompare, slot(&compare_device)},
      {Py_tp_hash, slot(PyUnicode_Type.tp_hash)},
      {Py_tp_getset, members},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec{"dlbridge.device", 0, 0, immutable_type, slots};
  return make_text_type(spec);
}
}  // namespace detail

inline text_types text_types::get() noexcept {
  static lazy_object dtype_type;
  static lazy_object device_type;
  text_types types;
  types.dtype = dtype_type.get([]() noexcept { return ref::steal(detail::make_dtype_type()); });
  if (types.dtype != nullptr) {
    types.device =
        device_type.get([]() noexcept { return ref::steal(detail::make_device_type()); });
  }
  return types;
}

/// A new dlbridge.dtype.
/// @return the object; empty, with an exception set, on failure.
inline ref to_python(dtype value) noexcept {
  PyObject* const type = text_types::get().dtype;
  return type != nullptr ? detail::new_text(type, name_of(value).c_str()) : ref();
}
/// A new dlbridge.device. As for a dtype.
inline ref to_python(device value) noexcept {
  PyObject* const type = text_types::get().device;
  return type != nullptr ? detail::new_text(type, name_of(value).c_str()) : ref();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

// read_dtype: reads the dtype that a Python caller passes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/ref.hpp>

#include "core.hpp"

namespace core DLBRIDGE_LOCAL {
// Whether a dtype of NumPy has another byte order than this machine, or is a longdouble, whose name
// states the bytes in memory and not the format. False also where an exception is set.
inline bool is_foreign_numpy_dtype(PyObject* value) noexcept {
  ref const is_native = optional_attribute(value, "isnative");
  ref const letter = is_native ? optional_attribute(value, "char") : ref();
  ref const kind = letter ? optional_attribute(value, "kind") : ref();
  char const* const text = kind ? text_in(letter.get()) : nullptr;
  // Other packages have the letter for dtypes of another kind.
  char const* const kind_text = text != nullptr ? text_in(kind.get()) : nullptr;
  // NumPy's classes before 1.25 state the bytes as well.
  char const* const type =
      PyType_Check(value) ? reinterpret_cast<PyTypeObject*>(value)->tp_name : "";
  return is_native.get() == Py_False ||
         (kind_text != nullptr && ((std::strcmp(text, "g") == 0 && *kind_text == 'f') ||
                                   (std::strcmp(text, "G") == 0 && *kind_text == 'c'))) ||
         std::strcmp(type, "numpy.float128") == 0 || std::strcmp(type, "numpy.complex256") == 0;
}

// The name of a dtype in the text of an object, without the module that precedes it, as in
// "torch.float32". Unless the object is a str, the module must belong to the package of its type: a
// path with this text is no dtype.
inline char const* dtype_in(char const* text, PyObject* value) noexcept {
  char const* const dot = std::strrchr(text, '.');
  if (dot == nullptr || PyUnicode_Check(value)) {
    return dot != nullptr ? dot + 1 : text;
  }
  ref const module = optional_attribute(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__module__");
  char const* const of_type =
      module && PyUnicode_Check(module.get()) ? text_in(module.get()) : nullptr;
  std::size_t const package = std::strcspn(text, ".");
  bool const is_of_package = of_type != nullptr && std::strcspn(of_type, ".") == package &&
                             std::strncmp(text, of_type, package) == 0;
  return is_of_package ? dot + 1 : text;
}

// Reads Python's int, float or complex, with the dtypes that they have in NumPy. bool is read by
// its name, which is that of its dtype.
inline bool read_python_type(PyObject* value, dtype& out) noexcept {
  auto* const type = reinterpret_cast<PyTypeObject*>(value);
  dtype const named = type == &PyLong_Type      ? dtype_of<std::int64_t>()
                      : type == &PyFloat_Type   ? dtype_of<double>()
                      : type == &PyComplex_Type ? dtype(kDLComplex, 128)
                                                : dtype();
  out = named.bits != 0 ? named : out;
  return named.bits != 0;
}

// Whether numbers of some library have the width in a name that the caller wrote: "float9" is
// rather a typing error. A triple, and a dtype of a library, may have any width.
inline bool has_usual_width(dtype type) noexcept {
  DLDataType const t = type.abi();
  bool const is_float = t.code == kDLFloat || t.code == kDLBfloat || is_complex(type);
  int const unit = is_float ? 16 : 8;
  bool const is_below_a_byte = (t.code == kDLInt || t.code == kDLUInt) && t.bits < 8;
  return dtype_rows[t.code].fixed_bits != 0 || is_below_a_byte ||
         (t.code == kDLBool && t.bits == 1) ||
         (t.bits % unit == 0 && t.bits >= (is_complex(type) ? 32 : unit));
}

inline bool read_numpy_alias(PyObject* value, dtype& out) noexcept;

// Reads a framework's dtype by the last component of its name: str(torch.float32) is
// "torch.float32". Returns false, with or without an exception set, for other values.
DLBRIDGE_COLD inline bool read_dtype_name(PyObject* value, dtype& out) noexcept {
  ref name = PyUnicode_Check(value) ? ref::borrow(value) : optional_attribute(value, "name");
  if (!name && PyErr_Occurred() == nullptr && PyType_Check(value)) {
    name = optional_attribute(value, "__name__");
  }
  if (PyErr_Occurred() != nullptr || (!PyUnicode_Check(value) && is_foreign_numpy_dtype(value)) ||
      PyErr_Occurred() != nullptr) {
    return false;
  }
  bool const has_name = name && !PyUnicode_Check(value) && PyUnicode_Check(name.get());
  if (!has_name) {
    name = text_of(value);
  }
  char const* const text = name ? text_in(name.get()) : nullptr;
  dtype named;
  if (text != nullptr && try_parse_dtype(has_name ? text : dtype_in(text, value), named) &&
      (!PyUnicode_CheckExact(value) || has_usual_width(named))) {
    out = named;
    return true;
  }
  // A class of NumPy that names the type of C, such as numpy.intc, has another name than its dtype.
  return text != nullptr && PyType_Check(value) &&
         std::strncmp(reinterpret_cast<PyTypeObject*>(value)->tp_name, "numpy.", 6) == 0 &&
         read_numpy_alias(value, out);
}

// Reads another name that NumPy has for a dtype, such as "f4" or "single", or a type for which
// NumPy has one, such as ctypes.c_float. Returns false, with or without an exception set, for
// others.
inline bool read_numpy_alias(PyObject* value, dtype& out) noexcept {
  bool const may_be_one = PyUnicode_Check(value) || PyType_Check(value);
  ref const make = may_be_one ? import_function("numpy", "dtype") : ref();
  ref const named = make ? ref::steal(api<PyObject_CallOneArg>(make.get(), value)) : ref();
  return named && read_dtype_name(named.get(), out);
}

// Reads a dtype: a name, a framework's dtype, an object with __dlpack_data_type__, a type of
// Python's numbers, or a pair or triple (code, bits, lanes). Returns false, with ValueError set,
// for any other value.
DLBRIDGE_COLD inline bool read_dtype(PyObject* value, dtype& out) noexcept {
  // The exchange of dtypes that tvm-ffi and Paddle read too, dmlc/dlpack#172: such a triple.
  ref exchanged;
  if (!PyTuple_Check(value) && !PyUnicode_Check(value) && !PyType_Check(value)) {
    ref const method = optional_attribute(value, "__dlpack_data_type__");
    exchanged = method ? ref::steal(api<PyObject_CallNoArgs>(method.get())) : ref();
    if (PyErr_Occurred() != nullptr) {
      return false;
    }
    value = exchanged ? exchanged.get() : value;
  }
  if (!PyTuple_Check(value)) {
    return read_python_type(value, out) || read_dtype_name(value, out) ||
           refuse_value(value, "dtype",
                        "a dtype that DLPack has: a name such as 'float32', a framework's dtype, "
                        "or a triple (code, bits, lanes)",
                        errc::bad_argument,
                        PyUnicode_Check(value)
                            ? "numpy.dtype() reads NumPy's other names, such as 'f4'"
                            : nullptr);
  }
  int code = 0;
  int bits = 0;
  int lanes = 1;
  bool const read = api<PyArg_ParseTuple>(value, "ii|i", &code, &bits, &lanes) != 0 && code >= 0 &&
                    code < 256 && bits > 0 && bits < 256 && lanes > 0 && lanes < 65536;
  out = dtype(code, bits, lanes);
  return (read && is_sound(out)) ||
         refuse_value(value, "dtype", "(code, bits) or (code, bits, lanes) of a DLPack dtype");
}

// Whether a dtype object stores each element below 8 bits in a byte of its own, as the dtypes and
// the classes of ml_dtypes do. Names mean packed elements.
inline bool has_padded_elements(PyObject* object, dtype type) noexcept {
  if (type.bits >= 8 || type.lanes != 1 || PyUnicode_Check(object) || PyTuple_Check(object)) {
    return false;
  }
  if (PyType_Check(object)) {  // of numbers, each of which is an element of an array of NumPy
    return true;
  }
  ref const size = optional_attribute(object, "itemsize");
  std::int64_t bytes = 0;
  return size && PyLong_Check(size.get()) && read_integer(size.get(), bytes) && bytes == 1;
}
}  // namespace core DLBRIDGE_LOCAL

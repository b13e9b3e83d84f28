// Declares Python's buffers for a limited API below 3.11: the struct, which is the same in every
// version, and the functions, which every version exports.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
struct Py_buffer {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};
#if !defined(Py_bf_getbuffer)
constexpr int Py_bf_getbuffer = 1;
constexpr int Py_bf_releasebuffer = 2;
#endif
constexpr int PyBUF_WRITABLE = 0x01;
constexpr int PyBUF_FORMAT = 0x04;
constexpr int PyBUF_ND = 0x08;
constexpr int PyBUF_STRIDES = 0x10 | PyBUF_ND;
constexpr int PyBUF_C_CONTIGUOUS = 0x20 | PyBUF_STRIDES;
constexpr int PyBUF_F_CONTIGUOUS = 0x40 | PyBUF_STRIDES;
constexpr int PyBUF_ANY_CONTIGUOUS = 0x80 | PyBUF_STRIDES;
constexpr int PyBUF_FULL_RO = 0x100 | PyBUF_STRIDES | PyBUF_FORMAT;

inline int PyObject_CheckBuffer(PyObject* object) noexcept {
  static auto* const found = detail::find_exported<int(PyObject*)>("PyObject_CheckBuffer");
  return found != nullptr ? found(object) : 0;
}

inline int PyObject_GetBuffer(PyObject* object, Py_buffer* out, int flags) {
  static auto* const found =
      detail::find_exported<int(PyObject*, Py_buffer*, int)>("PyObject_GetBuffer");
  if (found == nullptr) {
    PyErr_SetString(PyExc_BufferError, "this interpreter exports no functions of buffers");
    return -1;
  }
  return found(object, out, flags);
}

inline int PyBuffer_IsContiguous(Py_buffer const* buffer, char order) noexcept {
  static auto* const found =
      detail::find_exported<int(Py_buffer const*, char)>("PyBuffer_IsContiguous");
  return found != nullptr ? found(buffer, order) : 0;
}

inline void PyBuffer_Release(Py_buffer* buffer) {
  static auto* const found = detail::find_exported<void(Py_buffer*)>("PyBuffer_Release");
  found(buffer);  // of a buffer that PyObject_GetBuffer returned
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

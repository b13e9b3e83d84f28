// tensor_type, wrap_tensor, array_of_producer: create the Python type Tensor with the DLPack
// protocol, and its objects; __array__ and the buffer of any object with __dlpack__.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The type Tensor of this module, created on first use. Extensions have PlainTensor, with the
/// protocol methods and the exchange table; the package completes it (full_tensor_type.hpp).
/// @return a borrowed reference, valid for the life of the process; null, with an exception set,
///   when the type cannot be created.
/// @pre The caller holds the GIL.
DLBRIDGE_LOCAL inline PyTypeObject* tensor_type() noexcept;

/// Whether an object is a Tensor of this module.
inline bool is_tensor(PyObject* object) noexcept { return Py_TYPE(object) == tensor_type(); }

/// A new Tensor that owns m.
/// @return the Tensor; empty, with an exception set, when m is empty, for which an exception may be
///   pending, or when memory runs out, which frees m.
/// @pre The caller holds the GIL.
ref wrap_tensor(managed_tensor m) noexcept;

namespace detail {
template <class Function>
PyCFunction method(Function* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef dlpack_row() noexcept;
PyMethodDef dlpack_device_row() noexcept;

// __array__(dtype=None, copy=None) of an object with __dlpack__. It raises TypeError in place of
// BufferError, as arrays on devices do in other libraries.
DLBRIDGE_COLD PyObject* array_of_producer(PyObject* object, PyObject* arguments,
                                          PyObject* keywords) noexcept;

// __iter__ of an object with __dlpack__: the rows of its array, or what its __getitem__ gives.
// pandas takes an object without it for one element.
DLBRIDGE_COLD PyObject* iterate_producer(PyObject* object) noexcept;

// Py_bf_getbuffer of a class with __dlpack__.
DLBRIDGE_COLD int buffer_of_producer(PyObject* object, Py_buffer* out, int flags) noexcept;

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) noexcept;

// The name and the slots of the type: the plain ones, unless full_tensor_type has replaced them.
struct tensor_row {
  char const* name;
  PyType_Slot* slots;
};
DLBRIDGE_LOCAL tensor_row& tensor_type_row() noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/tensor/tensor_type.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/tensor/tensor_type.ipp>
#endif

// bind_functions: defines the Python functions from_dlpack, as_tensor, to_dlpack, from_pointer and
// empty.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/constructors.hpp>
#include <dlbridge/python/tensor/detail/import_functions.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/stream.hpp>

namespace core DLBRIDGE_LOCAL {
DLBRIDGE_COLD inline PyObject* to_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t count,
                                         PyObject* keywords) noexcept {
  names const& n = names::get();
  PyObject* const accepted[] = {n.max_version, n.copy};
  PyObject* values[2] = {Py_None, Py_None};
  if (!read_keywords("to_dlpack", 1, args, count, keywords, accepted, 2, values)) {
    return nullptr;
  }
  version max_version;
  export_request request;
  if ((values[0] != Py_None && !read_version(values[0], max_version)) ||
      !read_copy(values[1], request.copy)) {
    return nullptr;
  }
  ref tensor = is_tensor(args[0]) ? ref::borrow(args[0]) : ref();
  if (!tensor) {
    ref const only_copy = ref::steal(api<PyTuple_Pack>(1, n.copy));
    PyObject* const call[] = {args[0], request.copy == copy_policy::never ? Py_False : Py_None};
    tensor = only_copy ? ref::steal(as_tensor(module, call, 1, only_copy.get())) : ref();
  }
  if (!tensor) {
    return nullptr;
  }
  tensor_object& self = tensor_in(tensor.get());
  request.kind = struct_kind_for(max_version);
  request.target = self.view.device();
  order_unnamed(request.target, request);  // the consumer of a raw capsule names no stream
  shared_tensor const* const owner = try_share(self);
  return owner == nullptr
             ? nullptr
             : produce(*owner, self.view, self.ready_on(), request, "to_dlpack").release();
}

// Whether a compact tensor fills a block of memory exactly. The arguments are those of a pickle,
// which may be malformed.
inline bool fills(int rank, std::int64_t const* shape, dtype type, bool padded,
                  Py_buffer const& block) noexcept {
  std::int64_t count = 0;
  std::int64_t bits = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] < 0) {
      return false;
    }
  }
  return is_sound(type) && try_count(rank, shape, count) &&
         try_multiply(count, element_bytes(type) * 8, bits) &&
         bytes_for(count, type, padded) == block.len && PyBuffer_IsContiguous(&block, 'C') != 0;
}

// _rebuild(bytes, dtype, shape, order, readonly, flags): the inverse of Tensor.__reduce_ex__.
DLBRIDGE_COLD inline PyObject* rebuild(PyObject*, PyObject* arguments) noexcept {
  PyObject* bytes = nullptr;
  PyObject* shape = nullptr;
  char const* type = nullptr;
  char const* order = nullptr;
  int readonly = 0;
  unsigned long long flags = 0;
  if (!api<PyArg_ParseTuple>(arguments, "OsO!spK:_rebuild", &bytes, &type, &PyTuple_Type, &shape,
                             &order, &readonly, &flags)) {
    return nullptr;
  }
  // A bytes object is read-only: a tensor that was writable gets a copy.
  ref const writable = readonly == 0 && PyBytes_CheckExact(bytes)
                           ? ref::steal(api<PyByteArray_FromObject>(bytes))
                           : ref::borrow(bytes);
  ref memory = writable ? ref::steal(api<PyMemoryView_FromObject>(writable.get())) : ref();
  description d;
  int rank = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];
  if (!memory || (!read_integers(shape, extents, rank) && PyErr_Occurred() != nullptr)) {
    return nullptr;
  }
  Py_buffer const& buffer = *PyMemoryView_GET_BUFFER(memory.get());
  if (!try_parse_dtype(type, d.type)) {
    return api<PyErr_Format>(PyExc_ValueError, "a pickled Tensor of an unknown dtype, '%.80s'",
                             type);
  }
  bool const sound = PyTuple_GET_SIZE(shape) == rank &&
                     fills(rank, extents, d.type, (flags & flag_padded) != 0, buffer);
  if (!sound) {
    set_error_text(PyExc_ValueError, "a pickled Tensor whose bytes do not fit its shape");
    return nullptr;
  }
  fill_column_major(rank, extents, strides);
  auto const size = static_cast<std::size_t>(rank);
  d.data = buffer.buf;
  d.shape = dims::from(extents, size);
  d.strides = dims::from(strides, *order == 'F' ? size : 0);
  d.flags = (flags & flag_padded) | (readonly != 0 || buffer.readonly != 0 ? flag_read_only : 0);
  return wrap_imported(build_on_object(std::move(memory), d), import_arguments());
}

/// The functions that are called for each exchange, and the one by whose name pickles refer to it.
DLBRIDGE_LOCAL inline PyMethodDef* exchange_functions() noexcept {
  static PyMethodDef table[] = {
      {"from_dlpack", method(&from_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "from_dlpack(x, /, *, device=None, copy=None, stream=None, readonly=None)\n--\n\n"
       "Return a Tensor on the memory of a DLPack producer.\n\n"
       "The Tensor keeps the memory alive. The elements are copied only if `device` or `copy`\n"
       "requires it.\n\n"
       "Parameters\n----------\n"
       "x : object with __dlpack__, or a capsule\n"
       "    The producer. A capsule is consumed.\n"
       "device : str, tuple of int, or framework's device, optional\n"
       "    The device of the result, such as 'cpu', 'cuda:0' or (2, 0). By default that of x.\n"
       "copy : bool, optional\n"
       "    True for a copy, False to forbid one. By default only where it is necessary.\n"
       "stream : int or object, optional\n"
       "    The stream on which the caller will use the tensor: the protocol's integer, or an\n"
       "    object with __cuda_stream__, cuda_stream, ptr or handle. By default the default "
       "stream\n"
       "    of the device. Not used on the CPU.\n"
       "readonly : bool, optional\n"
       "    True sets the read-only flag, which a legacy producer cannot set. False clears it: "
       "the\n"
       "    caller guarantees that no code writes to the memory. By default that of the "
       "producer.\n\n"
       "Raises\n------\n"
       "TypeError\n    If x is no DLPack producer and no capsule.\n"
       "BufferError\n    If the tensor cannot be imported.\n"
       "CopyForbiddenError\n    If `copy` is False and a copy cannot be excluded.\n"
       "ValueError\n    If an argument has an invalid value, or the capsule has been consumed.\n"
       "RuntimeError\n    If the driver of a device is missing or fails.\n"
       "Exception\n"
       "    That of the producer, unchanged; if it refused a move or a copy, as the cause of the\n"
       "    exception that states why dlbridge makes none."},
      {"as_tensor", method(&as_tensor), METH_FASTCALL | METH_KEYWORDS,
       "as_tensor(x, /, *, device=None, copy=None, stream=None, readonly=None)\n--\n\n"
       "Return a Tensor on the memory of an array.\n\n"
       "As from_dlpack, by the first of these protocols that x supports: DLPack, the buffer\n"
       "protocol, __array_interface__, __cuda_array_interface__.\n\n"
       "Parameters\n----------\n"
       "x : object\n    The producer.\n"
       "device, copy, stream, readonly\n    As for from_dlpack.\n\n"
       "Raises\n------\n"
       "TypeError\n    If x supports none of these protocols.\n"
       "Exception\n    As from_dlpack."},
      {"to_dlpack", method(&to_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "to_dlpack(x, /, *, max_version=None, copy=None)\n--\n\n"
       "Return a raw capsule, for a consumer that accepts no producer, such as TensorFlow.\n\n"
       "The capsule can be consumed once. Otherwise its destructor frees the tensor.\n\n"
       "Parameters\n----------\n"
       "x : object\n    The producer, as for as_tensor.\n"
       "max_version : tuple of int, optional\n"
       "    The highest DLPack version that the consumer supports. The struct is versioned from\n"
       "    (1, 0) on, else legacy.\n"
       "copy : bool, optional\n    True for a copy, False to forbid one.\n\n"
       "Raises\n------\n"
       "BufferError\n    If x is read-only and the struct is legacy.\n"
       "Exception\n    As as_tensor."},
      {"_rebuild", method(&rebuild), METH_VARARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  return table;
}

/// Adds the functions to a module. Any extension module may do so.
/// @throws pybind11::error_already_set when a function cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
inline void bind_functions(pybind11::module_& m) {
  require(api<PyModule_AddFunctions>(m.ptr(), exchange_functions()) == 0);
  bind_constructors(m);
}
}  // namespace core DLBRIDGE_LOCAL

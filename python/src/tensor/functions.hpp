// bind_functions: defines the Python functions from_dlpack, as_tensor, to_dlpack, from_pointer and
// empty.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/stream_ref.hpp>

#include "core.hpp"
#include "docstrings.hpp"
#include "tensor/constructors.hpp"
#include "tensor/import_functions.hpp"

namespace core DLBRIDGE_LOCAL {
DLBRIDGE_COLD inline ref to_dlpack(PyObject*, PyObject* const* args, Py_ssize_t count,
                                   PyObject* keywords) {
  names const& n = names::get();
  PyObject* const accepted[] = {n.max_version, n.copy};
  PyObject* values[2] = {Py_None, Py_None};
  version max_version;
  export_request request;
  require(read_keywords("to_dlpack", 1, args, count, keywords, accepted, 2, values) &&
          (values[0] == Py_None || read_version(values[0], max_version)) &&
          read_copy(values[1], request.copy));
  ref tensor = is_tensor(args[0]) ? ref::borrow(args[0]) : ref();
  if (!tensor) {
    import_arguments arguments;
    arguments.request.copy =
        request.copy == copy_policy::never ? request.copy : arguments.request.copy;
    tensor = import_any(args[0], arguments);
  }
  tensor_object& self = tensor_in(tensor.get());
  request.kind = struct_kind_for(max_version);
  request.target = self.view.device();
  order_unnamed(request.target, request);  // the consumer of a raw capsule names no stream
  return produce(share(self), self.view, self.ready_on(), request, "to_dlpack");
}

// Whether a compact tensor fills a block of memory exactly. The arguments are those of a pickle,
// which may be malformed.
inline bool fills(int rank, std::int64_t const* shape, dtype type, bool padded,
                  Py_buffer const& block) noexcept {
  std::int64_t count = 0;
  std::int64_t bits = 0;
  return std::all_of(shape, shape + rank, [](auto extent) { return extent >= 0; }) &&
         is_sound(type) && try_count(rank, shape, count) &&
         try_multiply(count, element_bytes(type) * 8, bits) &&
         bytes_for(count, type, padded) == block.len && PyBuffer_IsContiguous(&block, 'C') != 0;
}

// _rebuild(bytes, dtype, shape, order, readonly, flags): the inverse of Tensor.__reduce_ex__.
DLBRIDGE_COLD inline ref rebuild(PyObject*, PyObject* arguments) {
  PyObject* bytes = nullptr;
  PyObject* shape = nullptr;
  char const* type = nullptr;
  char const* order = nullptr;
  int readonly = 0;
  unsigned long long flags = 0;
  require(api<PyArg_ParseTuple>(arguments, "OsO!spK:_rebuild", &bytes, &type, &PyTuple_Type, &shape,
                                &order, &readonly, &flags));
  // A bytes object is read-only: a tensor that was writable gets a copy.
  ref const writable = readonly == 0 && PyBytes_CheckExact(bytes)
                           ? checked(api<PyByteArray_FromObject>(bytes))
                           : ref::borrow(bytes);
  ref memory = checked(api<PyMemoryView_FromObject>(writable.get()));
  description d;
  int rank = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];
  require(read_integers(shape, extents, rank) || PyErr_Occurred() == nullptr);
  if (!try_parse_dtype(type, d.type)) {
    fail(PyExc_ValueError, "a pickled Tensor of an unknown dtype, '%.80s'", type);
  }
  Py_buffer const& buffer = *PyMemoryView_GET_BUFFER(memory.get());
  if (PyTuple_GET_SIZE(shape) != rank ||
      !fills(rank, extents, d.type, (flags & flag_padded) != 0, buffer)) {
    fail(PyExc_ValueError, "a pickled Tensor whose bytes do not fit its shape");
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
      {"from_dlpack", method(&from_dlpack), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"as_tensor", method(&entry<&as_tensor>::call), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"to_dlpack", method(&entry<&to_dlpack>::call), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"_rebuild", &entry<&rebuild>::call, METH_VARARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  return with_docs("", table);
}

/// Adds the functions to a module. Any extension module may do so.
/// @throws pybind11::error_already_set when a function cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
inline void bind_functions(pybind11::module_& m) {
  pybind11::register_local_exception_translator([](std::exception_ptr exception) {
    try {
      std::rethrow_exception(std::move(exception));
    } catch (pending_exception const&) {  // of Python, which is set already
    }
  });
  require(api<PyModule_AddFunctions>(m.ptr(), exchange_functions()) == 0);
  bind_constructors(m);
}
}  // namespace core DLBRIDGE_LOCAL

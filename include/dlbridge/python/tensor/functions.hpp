// The Python functions from_dlpack, as_tensor and to_dlpack, as raw vectorcall functions that any
// module can add.
// layer: tensor · IN and OUT: what Python code calls
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/consume.hpp>
#include <dlbridge/python/import/detail/fulfil.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// What from_dlpack and as_tensor take besides the object; and the stream on which the elements of
// what came in are.
struct import_arguments {
  consume_request request;
  PyObject* readonly = Py_None;
  stream_ref ready = stream_ref::default_of(cpu);
};

inline bool read_import_arguments(char const* function, PyObject* const* args, Py_ssize_t count,
                                  PyObject* keywords, import_arguments& out) noexcept {
  names const& n = names::get();
  PyObject* const accepted[] = {n.device, n.copy, n.stream, n.readonly};
  PyObject* given[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!read_keywords(function, 1, args, count, keywords, accepted, 4, given)) {
    return false;
  }
  out.request.has_target = given[0] != Py_None;
  out.request.stream = given[2];
  out.request.fulfil = &fulfil_request;
  out.readonly = given[3];
  if (out.readonly != Py_None && !PyBool_Check(out.readonly)) {
    return refuse_value(out.readonly, "readonly", "True, False or None");
  }
  return (given[0] == Py_None || read_device(given[0], out.request.target)) &&
         read_copy(given[1], out.request.copy);
}

// A new Tensor with the caller's word on whether it may be written.
inline PyObject* mark(ref made, PyObject* readonly) noexcept {
  if (made && readonly != Py_None) {
    tensor_view& view = tensor_in(made.get()).view;
    view = view.with_flags(readonly == Py_True ? view.flags() | flag_read_only
                                               : view.flags() & ~flag_read_only);
  }
  return made.release();
}
inline PyObject* wrap_imported(managed_tensor m, import_arguments const& given) noexcept {
  ref made = m ? wrap_tensor(std::move(m)) : ref();
  if (made && given.ready.native_handle() != nullptr) {
    set_ready(tensor_in(made.get()), given.ready, given.request.stream);
  }
  return mark(std::move(made), given.readonly);
}

// Whether a Tensor only needs another head: one that goes through the protocol again and again
// would end as a chain of owners, each of which frees the next one down.
inline bool can_share(PyObject* object, consume_request const& request) noexcept {
  if (!is_tensor(object) || request.copy == copy_policy::always) {
    return false;
  }
  device const where = tensor_in(object).view.device();
  return runtime_of(where) == runtime_kind::none &&
         (!request.has_target || is_on_device(where, request.target));
}

inline PyObject* share_imported(PyObject* object, PyObject* readonly) noexcept {
  tensor_object& self = tensor_in(object);
  ref made;
  guarded([&] {
    tensor_view const view = self.view.with_flags(self.view.flags() & ~flag_is_copied);
    made = new_tensor(Py_TYPE(object), view, share(self));
  });
  return mark(std::move(made), readonly);
}

inline PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t count,
                             PyObject* keywords) noexcept {
  import_arguments given;
  if (!read_import_arguments("from_dlpack", args, count, keywords, given)) {
    return nullptr;
  }
  given.request.advice = "as_tensor() also takes buffers and array interfaces";
  return can_share(args[0], given.request)
             ? share_imported(args[0], given.readonly)
             : wrap_imported(consume(args[0], given.request, given.ready), given);
}

// 1, 0, or -1 with an exception set.
inline int speaks_dlpack(PyObject* object) noexcept {
  if (PyCapsule_CheckExact(object)) {
    return 1;
  }
  PyObject* const method = type_cache::find(Py_TYPE(object)).dlpack;
  ref const own = method == nullptr ? optional_attribute(object, names::get().dlpack) : ref();
  if (method == nullptr && !own) {
    return PyErr_Occurred() != nullptr ? -1 : 0;
  }
  return method != Py_None && own.get() != Py_None ? 1 : 0;
}

inline PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t count,
                           PyObject* keywords) noexcept {
  import_arguments given;
  if (!read_import_arguments("as_tensor", args, count, keywords, given)) {
    return nullptr;
  }
  PyObject* const object = args[0];
  if (can_share(object, given.request)) {
    return share_imported(object, given.readonly);
  }
  int const speaks = speaks_dlpack(object);
  if (speaks < 0) {
    return nullptr;
  }
  if (speaks > 0) {
    managed_tensor taken = consume(object, given.request, given.ready);
    // An older NumPy refuses what it has no mark for, such as read-only memory; its buffer has one.
    // It says so by a BufferError, and up to 1.23 by a TypeError.
    bool const other =
        !taken &&
        (PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_TypeError)) &&
        PyObject_CheckBuffer(object) && !PyCapsule_CheckExact(object);
    if (!other) {
      return wrap_imported(std::move(taken), given);
    }
  }
  ref refused = take_exception();
  managed_tensor taken = consume_described(object, given.request.stream, given.ready);
  if (!taken) {
    if (refused) {  // the first road's reason is the one that counts
      PyErr_Clear();
      set_exception(std::move(refused));
    }
    return nullptr;
  }
  taken = fulfil_request(std::move(taken), given.request, given.request.copy == copy_policy::always,
                         given.ready);
  return wrap_imported(std::move(taken), given);
}

inline PyObject* to_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t count,
                           PyObject* keywords) noexcept {
  names const& n = names::get();
  PyObject* const accepted[] = {n.max_version, n.copy};
  PyObject* given[2] = {Py_None, Py_None};
  if (!read_keywords("to_dlpack", 1, args, count, keywords, accepted, 2, given)) {
    return nullptr;
  }
  version max_version;
  export_request request;
  if ((given[0] != Py_None && !read_version(given[0], max_version)) ||
      !read_copy(given[1], request.copy)) {
    return nullptr;
  }
  ref const only_copy = ref::steal(PyTuple_Pack(1, n.copy));
  PyObject* const ask[] = {args[0], request.copy == copy_policy::never ? Py_False : Py_None};
  ref const tensor = is_tensor(args[0]) ? ref::borrow(args[0])
                     : only_copy        ? ref::steal(as_tensor(module, ask, 1, only_copy.get()))
                                        : ref();
  if (!tensor) {
    return nullptr;
  }
  tensor_object& self = tensor_in(tensor.get());
  request.kind = struct_kind_for(max_version);
  request.target = self.view.device();
  request.order = unnamed_stream(request.target);  // a raw capsule's consumer names none
  ref capsule;
  guarded([&] { capsule = produce(share(self), self.view, self.ready_on(), request); });
  return capsule.release();
}

// Whether the block is just as large as a compact tensor; it may come from anywhere.
inline bool fits(int rank, std::int64_t const* shape, dtype type, bool padded,
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
inline PyObject* rebuild(PyObject*, PyObject* arguments) noexcept {
  PyObject* bytes = nullptr;
  PyObject* shape = nullptr;
  char const* type = nullptr;
  char const* order = nullptr;
  int readonly = 0;
  unsigned long long flags = 0;
  if (!PyArg_ParseTuple(arguments, "OsO!spK:_rebuild", &bytes, &type, &PyTuple_Type, &shape, &order,
                        &readonly, &flags)) {
    return nullptr;
  }
  // A bytes object cannot be written; what was writable gets memory that is.
  ref const writable = readonly == 0 && PyBytes_CheckExact(bytes)
                           ? ref::steal(PyByteArray_FromObject(bytes))
                           : ref::borrow(bytes);
  ref memory = writable ? ref::steal(PyMemoryView_FromObject(writable.get())) : ref();
  description d;
  int rank = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];
  if (!memory || (!read_integers(shape, extents, rank) && PyErr_Occurred() != nullptr)) {
    return nullptr;
  }
  Py_buffer const& buffer = *PyMemoryView_GET_BUFFER(memory.get());
  bool const sound = PyTuple_GET_SIZE(shape) == rank && try_parse_dtype(type, d.type) &&
                     fits(rank, extents, d.type, (flags & flag_padded) != 0, buffer);
  if (!sound) {
    PyErr_SetString(PyExc_ValueError, "a pickled Tensor whose bytes do not fit its shape");
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
}  // namespace detail

/// The table for PyModule_AddFunctions.
DLBRIDGE_LOCAL inline PyMethodDef* module_functions() noexcept {
  static PyMethodDef table[] = {
      {"from_dlpack", detail::method(&detail::from_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "from_dlpack(x, /, *, device=None, copy=None, stream=None, readonly=None)\n--\n\n"
       "A Tensor on the memory of x, any DLPack producer or a raw capsule, without a copy.\n\n"
       "device: where the tensor must be, as a name such as 'cpu' or 'cuda:0', a pair, or a "
       "framework's device; None leaves it where it is.\n"
       "copy: True for memory of its own, False for none, None for whatever is needed.\n"
       "stream: the stream that will use it: an int of the protocol, or an object with "
       "__cuda_stream__, cuda_stream, ptr or handle. Not used on the CPU.\n"
       "readonly: True marks the tensor read-only (a legacy producer cannot say it), False drops "
       "the mark: you promise that nobody writes.\n\n"
       "Raises TypeError for no producer, BufferError for a tensor that cannot be exchanged, "
       "CopyForbiddenError (a BufferError and a ValueError) for copy=False that cannot be "
       "promised, ValueError for a bad value; whatever the producer raises comes unchanged."},
      {"as_tensor", detail::method(&detail::as_tensor), METH_FASTCALL | METH_KEYWORDS,
       "as_tensor(x, /, *, device=None, copy=None, stream=None, readonly=None)\n--\n\n"
       "A Tensor on the memory of x, through whatever x offers: DLPack, the buffer protocol, "
       "__array_interface__, __cuda_array_interface__.\n\nArguments and errors as for "
       "from_dlpack."},
      {"to_dlpack", detail::method(&detail::to_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "to_dlpack(x, /, *, max_version=None, copy=None)\n--\n\n"
       "A raw capsule with x, for consumers that take nothing else, such as TensorFlow's and "
       "MXNet's: legacy, or versioned from max_version=(1, 0) on.\n\nConsumed once; frees the "
       "tensor itself when it is not. Raises BufferError when x is read-only and legacy is asked "
       "for, else as from_dlpack."},
      {"_rebuild", detail::method(&detail::rebuild), METH_VARARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  return table;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

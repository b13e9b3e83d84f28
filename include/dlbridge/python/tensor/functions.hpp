// module_functions: defines the Python functions from_dlpack, as_tensor and to_dlpack.
// layer: tensor · functions of the module
#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/consume.hpp>
#include <dlbridge/python/import/detail/by_table.hpp>
#include <dlbridge/python/import/detail/fulfil.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// The keyword arguments of from_dlpack and as_tensor.
struct import_arguments {
  consume_request request;
  PyObject* readonly = Py_None;
  stream_ref ready = stream_ref::default_of(cpu);  // set by the import: where elements are ready
};

inline bool read_import_arguments(char const* function, PyObject* const* args, Py_ssize_t count,
                                  PyObject* keywords, import_arguments& out) noexcept {
  out.request.fulfil = &fulfil_request;
  if (count == 1 && keywords == nullptr) {
    return true;
  }
  names const& n = names::get();
  PyObject* const accepted[] = {n.device, n.copy, n.stream, n.readonly};
  PyObject* values[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!read_keywords(function, 1, args, count, keywords, accepted, 4, values)) {
    return false;
  }
  out.request.has_target = values[0] != Py_None;
  out.request.stream = values[2];
  out.readonly = values[3];
  if (out.readonly != Py_None && !PyBool_Check(out.readonly)) {
    return refuse_value(out.readonly, "readonly", "True, False or None");
  }
  return (values[0] == Py_None || read_device(values[0], out.request.target)) &&
         read_copy(values[1], out.request.copy);
}

// Applies readonly= to a new Tensor.
inline PyObject* apply_readonly(ref tensor, PyObject* readonly) noexcept {
  if (tensor && readonly != Py_None) {
    tensor_view& view = tensor_in(tensor.get()).view;
    view = view.with_flags(readonly == Py_True ? view.flags() | flag_read_only
                                               : view.flags() & ~flag_read_only);
  }
  return tensor.release();
}
inline PyObject* wrap_imported(managed_tensor m, import_arguments const& arguments) noexcept {
  ref tensor = m ? wrap_tensor(std::move(m)) : ref();
  if (tensor && arguments.ready.native_handle() != nullptr) {
    set_ready(tensor_in(tensor.get()), arguments.ready, arguments.request.stream);
  }
  return apply_readonly(std::move(tensor), arguments.readonly);
}

// Whether the result can share the owner of a Tensor. The protocol would make a new owner that
// holds the previous one, and repeated imports a chain of them.
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
  ref tensor;
  guarded([&] {
    shared_tensor owner = share(self);  // before the view is read: its shape then outlives self
    tensor_view const view = self.view.with_flags(self.view.flags() & ~flag_is_copied);
    tensor = new_tensor(Py_TYPE(object), view, std::move(owner));
  });
  return apply_readonly(std::move(tensor), readonly);
}

// The order of the dimensions in which NumPy copies an array, by their strides; layout::strided if
// it is neither of the usual two.
inline layout order_in_memory(tensor_view const& view) noexcept {
  bool falls = true;
  bool rises = true;
  for (int i = 1; i < view.rank(); ++i) {
    std::int64_t const outer = std::abs(view.stride(i - 1));
    std::int64_t const inner = std::abs(view.stride(i));
    falls = falls && outer >= inner;
    rises = rises && outer < inner;
  }
  return falls || view.is_row_major()      ? layout::row_major
         : rises || view.is_column_major() ? layout::column_major
                                           : layout::strided;
}

// A copy of an ndarray as its __dlpack__ makes it. Returns an empty reference, with or without an
// exception, where __dlpack__ is to be called.
inline ref copy_of_array(PyObject* array) noexcept {
  type_entry storage;
  DLTensor fields;
  copied_dims dims;
  std::uint64_t flags = 0;
  if (!type_cache::get(Py_TYPE(array), storage).reads_fields ||
      !can_read_ndarrays(Py_TYPE(array)) || !read_ndarray(array, fields, dims, flags) ||
      !is_sound_ndarray(fields)) {
    return ref();
  }
  tensor_view const view(fields, flags);
  layout const order = order_in_memory(view);
  if (view.empty() || order == layout::strided) {
    return ref();
  }
  managed_tensor copy;
  guarded([&] { copy = copy_of(view, order); });
  if (copy) {
    state_ndarray_version(copy);
  }
  return wrap_tensor(std::move(copy));
}

// Imports without a call of the producer: reads the fields of an ndarray, or shares the owner of a
// Tensor. Returns null, with or without an exception, where that is not possible.
inline PyObject* import_without_call(PyObject* object, import_arguments const& arguments) noexcept {
  consume_request const& request = arguments.request;
  if (!request.has_target && request.copy != copy_policy::never) {
    ref tensor =
        request.copy == copy_policy::always ? copy_of_array(object) : new_tensor_on_array(object);
    if (tensor || PyErr_Occurred() != nullptr) {
      return apply_readonly(std::move(tensor), arguments.readonly);
    }
  }
  return can_share(object, request) ? share_imported(object, arguments.readonly) : nullptr;
}

// The import without keywords of an ndarray, of a Tensor, and of an object whose type has an
// exchange table. Returns an empty reference, with or without an exception, where
// from_dlpack_with decides.
inline ref import_plainly(PyObject* object) noexcept {
  type_entry storage;
  type_entry const& type = type_cache::get(Py_TYPE(object), storage);
  if (type.reads_fields) {
    return new_tensor_on_array(object);
  }
  if (!type.owns_table) {
    return ref();
  }
  if (is_tensor(object)) {
    return can_share(object, consume_request()) ? ref::steal(share_imported(object, Py_None))
                                                : ref();
  }
  stream_ref ready = stream_ref::default_of(cpu);
  managed_tensor m = import_by_table(object, nullptr, ready);
  ref tensor = m ? wrap_tensor(std::move(m)) : ref();
  if (tensor && ready.native_handle() != nullptr) {
    set_ready(tensor_in(tensor.get()), ready, nullptr);
  }
  return tensor;
}

// by_protocol: whether import_plainly has tried the exchange table.
DLBRIDGE_NOINLINE inline PyObject* from_dlpack_with(PyObject* const* args, Py_ssize_t count,
                                                    PyObject* keywords, bool by_protocol) noexcept {
  import_arguments arguments;
  arguments.request.by_protocol = by_protocol;
  if (!read_import_arguments("from_dlpack", args, count, keywords, arguments)) {
    return nullptr;
  }
  PyObject* const tensor = import_without_call(args[0], arguments);
  if (tensor != nullptr || PyErr_Occurred() != nullptr) {
    return tensor;
  }
  arguments.request.advice = "as_tensor() also takes buffers and array interfaces";
  return wrap_imported(consume(args[0], arguments.request, arguments.ready), arguments);
}

inline PyObject* from_dlpack(PyObject*, PyObject* const* args, Py_ssize_t count,
                             PyObject* keywords) noexcept {
  bool const is_plain = count == 1 && keywords == nullptr;
  ref tensor = is_plain ? import_plainly(args[0]) : ref();
  return tensor || PyErr_Occurred() != nullptr ? tensor.release()
                                               : from_dlpack_with(args, count, keywords, is_plain);
}

// Whether an object is a capsule, or has __dlpack__ or an exchange table: 1, 0, or -1 with an
// exception set.
inline int has_dlpack(PyObject* object) noexcept {
  if (PyCapsule_CheckExact(object)) {
    return 1;
  }
  type_entry const type = type_cache::find(Py_TYPE(object));
  if (type.takes_self || type.owns_table) {
    return 1;
  }
  ref const method = optional_attribute(object, names::get().dlpack);
  if (!method && PyErr_Occurred() != nullptr) {
    return -1;
  }
  return method && method.get() != Py_None ? 1 : 0;
}

inline PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t count,
                           PyObject* keywords) noexcept {
  import_arguments arguments;
  if (!read_import_arguments("as_tensor", args, count, keywords, arguments)) {
    return nullptr;
  }
  PyObject* const object = args[0];
  consume_request const& request = arguments.request;
  PyObject* const direct = import_without_call(object, arguments);
  if (direct != nullptr || PyErr_Occurred() != nullptr) {
    return direct;
  }
  int const is_producer = has_dlpack(object);
  if (is_producer < 0) {
    return nullptr;
  }
  if (is_producer > 0) {
    managed_tensor tensor = consume(object, request, arguments.ready);
    // NumPy before 2.1 refuses read-only arrays, as its legacy struct has no flag; a buffer has
    // one. The refusal is a BufferError, and up to NumPy 1.23 a TypeError.
    bool const use_buffer =
        !tensor &&
        (PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_TypeError)) &&
        PyObject_CheckBuffer(object) && !PyCapsule_CheckExact(object);
    if (!use_buffer) {
      return wrap_imported(std::move(tensor), arguments);
    }
  }
  ref first = take_exception();
  managed_tensor tensor = consume_described(object, request.stream, arguments.ready);
  if (!tensor) {
    if (first && forgive_exception()) {  // the exception of DLPack is the one to report
      set_exception(std::move(first));
    }
    return nullptr;
  }
  tensor = fulfil_request(std::move(tensor), request, request.copy == copy_policy::always,
                          arguments.ready);
  return wrap_imported(std::move(tensor), arguments);
}

inline PyObject* to_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t count,
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
  request.order = unnamed_stream(request.target);  // the consumer of a raw capsule names none
  shared_tensor const* const owner = try_share(self);
  return owner != nullptr ? produce(*owner, self.view, self.ready_on(), request).release()
                          : nullptr;
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
inline PyObject* rebuild(PyObject*, PyObject* arguments) noexcept {
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
  bool const sound = PyTuple_GET_SIZE(shape) == rank && try_parse_dtype(type, d.type) &&
                     fills(rank, extents, d.type, (flags & flag_padded) != 0, buffer);
  if (!sound) {
    api<PyErr_SetString>(PyExc_ValueError, "a pickled Tensor whose bytes do not fit its shape");
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

/// The table for PyModule_AddFunctions. Any extension module may add these functions.
DLBRIDGE_LOCAL inline PyMethodDef* module_functions() noexcept {
  static PyMethodDef table[] = {
      {"from_dlpack", detail::method(&detail::from_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "from_dlpack(x, /, *, device=None, copy=None, stream=None, readonly=None)\n--\n\n"
       "Return a Tensor on the memory of a DLPack producer.\n\n"
       "The Tensor keeps the memory alive. The elements are copied only if `device` or `copy`\n"
       "requires it.\n\n"
       "Parameters\n----------\n"
       "x : object with __dlpack__, or a capsule\n"
       "    The producer. A capsule is consumed.\n"
       "device : str, tuple of int, or device object of a framework, optional\n"
       "    The device of the result, such as 'cpu', 'cuda:0' or (2, 0). By default the\n"
       "    device of x.\n"
       "copy : bool, optional\n"
       "    True for a copy, False to forbid one. By default a copy is made only if\n"
       "    `device` needs one.\n"
       "stream : int or object, optional\n"
       "    The stream on which the caller will use the tensor: the protocol's integer, or an\n"
       "    object with __cuda_stream__, cuda_stream, ptr or handle. By default the\n"
       "    default stream of the device. Not used on the CPU.\n"
       "readonly : bool, optional\n"
       "    True marks the tensor read-only, for a legacy producer, which cannot mark it. False\n"
       "    removes the mark: the caller guarantees that no code writes to the memory. By default\n"
       "    the mark of the producer.\n\n"
       "Returns\n-------\nTensor\n\n"
       "Raises\n------\n"
       "TypeError\n    If x is no DLPack producer and no capsule.\n"
       "BufferError\n    If the tensor cannot be exchanged.\n"
       "CopyForbiddenError\n"
       "    If `copy` is False and that cannot be promised. It is a BufferError and a ValueError.\n"
       "ValueError\n    If an argument has an invalid value, or the capsule has been consumed.\n"
       "RuntimeError\n    If the driver of a device is missing or fails.\n\n"
       "An exception that the producer raises is passed on unchanged."},
      {"as_tensor", detail::method(&detail::as_tensor), METH_FASTCALL | METH_KEYWORDS,
       "as_tensor(x, /, *, device=None, copy=None, stream=None, readonly=None)\n--\n\n"
       "Return a Tensor on the memory of an array.\n\n"
       "As from_dlpack, and also for an object with the buffer protocol, __array_interface__ or\n"
       "__cuda_array_interface__. DLPack is used where x supports it.\n\n"
       "Parameters\n----------\n"
       "x : object\n    The producer.\n"
       "device, copy, stream, readonly\n    As for from_dlpack.\n\n"
       "Returns\n-------\nTensor\n\n"
       "Raises\n------\n"
       "TypeError\n    If x supports none of these protocols.\n"
       "Exception\n    As from_dlpack."},
      {"to_dlpack", detail::method(&detail::to_dlpack), METH_FASTCALL | METH_KEYWORDS,
       "to_dlpack(x, /, *, max_version=None, copy=None)\n--\n\n"
       "Return a raw capsule, for a consumer that accepts nothing else, such as TensorFlow's and\n"
       "MXNet's.\n\n"
       "The capsule can be consumed once. If it is not, it frees the tensor itself.\n\n"
       "Parameters\n----------\n"
       "x : object\n    The producer, as for as_tensor.\n"
       "max_version : tuple of int, optional\n"
       "    The highest DLPack version that the consumer supports. The struct is versioned from\n"
       "    (1, 0) on, else legacy.\n"
       "copy : bool, optional\n    True for a copy, False to forbid one.\n\n"
       "Returns\n-------\ncapsule\n\n"
       "Raises\n------\n"
       "BufferError\n    If x is read-only and the struct is legacy.\n"
       "Exception\n    As as_tensor."},
      {"_rebuild", detail::method(&detail::rebuild), METH_VARARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  return table;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

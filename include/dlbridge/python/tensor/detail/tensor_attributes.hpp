// tensor_attributes: defines the attributes of Tensor, each by a function and a row of the table.
// layer: tensor · attributes in Python
#pragma once

#include <cstdint>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>
#include <dlbridge/python/tensor/text_types.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
inline ref int_tuple(int count, std::int64_t const* values) noexcept {
  ref tuple = ref::steal(api<PyTuple_New>(count));
  for (int i = 0; tuple && i < count; ++i) {
    PyObject* const item = PyLong_FromLongLong(values[i]);
    if (item == nullptr) {
      return ref();
    }
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple;
}

// Strides times a factor: 1 for elements, the element size for bytes. The product may wrap where
// the extent is 1, as the stride then may be any number.
inline ref strides_tuple(tensor_view const& view, std::int64_t factor) noexcept {
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  for (int i = 0; i < view.rank(); ++i) {
    strides[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[i]) *
                                           static_cast<std::uint64_t>(factor));
  }
  return int_tuple(view.rank(), strides);
}

inline PyObject* get_shape(PyObject* self, void*) noexcept {
  tensor_view const& view = tensor_in(self).view;
  return int_tuple(view.rank(), view.shape()).release();
}
inline PyObject* get_strides(PyObject* self, void*) noexcept {
  return strides_tuple(tensor_in(self).view, 1).release();
}
inline PyObject* get_byte_strides(PyObject* self, void*) noexcept {
  tensor_view const& view = tensor_in(self).view;
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    Py_RETURN_NONE;
  }
  return strides_tuple(view, element_bytes(view.dtype())).release();
}
inline PyObject* get_ndim(PyObject* self, void*) noexcept {
  return PyLong_FromLong(tensor_in(self).view.rank());
}
inline PyObject* get_size(PyObject* self, void*) noexcept {
  return PyLong_FromLongLong(tensor_in(self).view.count());
}
inline PyObject* get_itemsize(PyObject* self, void*) noexcept {
  return PyLong_FromLongLong(element_bytes(tensor_in(self).view.dtype()));
}
inline PyObject* get_nbytes(PyObject* self, void*) noexcept {
  tensor_view const& view = tensor_in(self).view;
  return PyLong_FromLongLong(bytes_for(view.count(), view.dtype(), view.is_padded()));
}
inline PyObject* get_dtype(PyObject* self, void*) noexcept {
  return to_python(tensor_in(self).view.dtype()).release();
}
inline PyObject* get_device(PyObject* self, void*) noexcept {
  return to_python(tensor_in(self).view.device()).release();
}
inline PyObject* get_readonly(PyObject* self, void*) noexcept {
  return PyBool_FromLong(tensor_in(self).view.read_only());
}
inline PyObject* get_data_ptr(PyObject* self, void*) noexcept {
  return PyLong_FromVoidPtr(const_cast<void*>(tensor_in(self).view.data()));
}
inline PyObject* get_byte_offset(PyObject* self, void*) noexcept {
  return PyLong_FromUnsignedLongLong(tensor_in(self).view.byte_offset());
}
inline PyObject* get_flags(PyObject* self, void*) noexcept {
  return PyLong_FromUnsignedLongLong(tensor_in(self).view.flags());
}
inline PyObject* get_c_contiguous(PyObject* self, void*) noexcept {
  return PyBool_FromLong(tensor_in(self).view.is_row_major());
}
inline PyObject* get_f_contiguous(PyObject* self, void*) noexcept {
  return PyBool_FromLong(tensor_in(self).view.is_column_major());
}
inline PyObject* get_version(PyObject* self, void*) noexcept {
  version stated;
  if (!read_producer_version(tensor_in(self), stated)) {
    Py_RETURN_NONE;
  }
  return api<Py_BuildValue>("(II)", unsigned{stated.major_number}, unsigned{stated.minor_number});
}

// __cuda_array_interface__. AttributeError, so that hasattr returns False, unless the memory is
// CUDA's and the dtype has a typestr.
inline PyObject* get_cuda_array_interface(PyObject* self, void*) noexcept {
  tensor_view const& view = tensor_in(self).view;
  format_row const* const format = find_format(view.dtype());
  if (runtime_of(view.device()) != runtime_kind::cuda || format == nullptr) {
    api<PyErr_Format>(PyExc_AttributeError, "a tensor %s has no __cuda_array_interface__",
                      name_of(view).c_str());
    return nullptr;
  }
  ref const shape = int_tuple(view.rank(), view.shape());
  ref const strides = strides_tuple(view, element_bytes(view.dtype()));
  ref const address = ref::steal(PyLong_FromVoidPtr(const_cast<void*>(view.data())));
  if (!shape || !strides || !address) {
    return nullptr;
  }
  std::int64_t const stream = protocol_stream(tensor_in(self).ready_on());
  return api<Py_BuildValue>("{s:O,s:s,s:(OO),s:O,s:i,s:L}", "shape", shape.get(), "typestr",
                            typestr_of(*format).c_str(), "data", address.get(),
                            view.read_only() ? Py_True : Py_False, "strides", strides.get(),
                            "version", 3, "stream", static_cast<long long>(stream));
}
}  // namespace detail

/// The table for Py_tp_getset.
DLBRIDGE_LOCAL inline PyGetSetDef* tensor_attributes() noexcept {
  static PyGetSetDef table[] = {
      {"shape", &detail::get_shape, nullptr, "Tuple of the extents.", nullptr},
      {"strides", &detail::get_strides, nullptr,
       "Tuple of the strides in elements. NumPy's strides are in bytes: byte_strides.", nullptr},
      {"byte_strides", &detail::get_byte_strides, nullptr,
       "Tuple of the strides in bytes; None for packed sub-byte elements.", nullptr},
      {"ndim", &detail::get_ndim, nullptr, "Number of dimensions.", nullptr},
      {"size", &detail::get_size, nullptr, "Number of elements.", nullptr},
      {"itemsize", &detail::get_itemsize, nullptr, "Bytes of one element, rounded up.", nullptr},
      {"nbytes", &detail::get_nbytes, nullptr, "Bytes of all elements in compact form.", nullptr},
      {"dtype", &detail::get_dtype, nullptr, "Type of the elements, a dlbridge.dtype.", nullptr},
      {"device", &detail::get_device, nullptr, "Device of the memory, a dlbridge.device.", nullptr},
      {"readonly", &detail::get_readonly, nullptr,
       "Whether the memory must not be written to. Memory of a legacy producer counts as "
       "writable, as its struct has no flag.",
       nullptr},
      {"data_ptr", &detail::get_data_ptr, nullptr,
       "Address of the first element as an int; the handle of the memory on devices without "
       "addresses; 0 for an empty tensor.",
       nullptr},
      {"byte_offset", &detail::get_byte_offset, nullptr,
       "Bytes from a handle to the first element; 0 where data_ptr is an address.", nullptr},
      {"flags", &detail::get_flags, nullptr,
       "Sum of the DLPack flags: 1 read-only, 2 copied, 4 padded sub-byte elements.", nullptr},
      {"c_contiguous", &detail::get_c_contiguous, nullptr,
       "Whether the elements are row-major (C order) and compact.", nullptr},
      {"f_contiguous", &detail::get_f_contiguous, nullptr,
       "Whether the elements are column-major (Fortran order) and compact.", nullptr},
      {"version", &detail::get_version, nullptr,
       "DLPack version (major, minor) of the producer's struct; None for a legacy struct.",
       nullptr},
      {"__cuda_array_interface__", &detail::get_cuda_array_interface, nullptr,
       "Version 3 of the CUDA Array Interface; absent unless the memory is CUDA's.", nullptr},
      {"__cuda_stream__", &detail::get_cuda_stream, nullptr,
       "Function that returns (0, handle) of the stream on which the elements are ready, the\n"
       "protocol of cuda.core; absent unless the memory is CUDA's.",
       nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return table;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

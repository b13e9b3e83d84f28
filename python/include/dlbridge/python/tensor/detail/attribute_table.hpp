// tensor_attributes: lists the attributes of Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_attributes.hpp>
#include <dlbridge/python/tensor/detail/tensor_flags.hpp>
#include <dlbridge/python/tensor/detail/tensor_numpy.hpp>
#include <dlbridge/python/tensor/detail/tensor_shapes.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

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
      {"itemsize", &detail::get_itemsize, nullptr,
       "Bytes of one element, rounded up to whole bytes.", nullptr},
      {"nbytes", &detail::get_nbytes, nullptr, "Bytes of all elements in compact form.", nullptr},
      {"dtype", &detail::get_dtype, nullptr, "Type of the elements, a dlbridge.dtype.", nullptr},
      {"device", &detail::get_device, nullptr, "Device of the memory, a dlbridge.device.", nullptr},
      {"readonly", &detail::get_readonly, nullptr,
       "Whether the memory must not be written.\n\n"
       "Memory of a legacy producer counts as writable, as its struct has no flag.",
       nullptr},
      {"data_ptr", &detail::get_data_ptr, nullptr,
       "Address of the first element as an int; 0 for an empty tensor, except on oneAPI.\n\n"
       "On devices without addresses, the handle of the memory.",
       nullptr},
      {"byte_offset", &detail::get_byte_offset, nullptr,
       "Bytes from a handle to the first element; 0 where data_ptr is an address.", nullptr},
      {"flags", &detail::get_flags, nullptr,
       "Sum of the DLPack flags: 1 read-only, 2 copied, 4 padded sub-byte elements. The int\n"
       "also has the attributes and keys of numpy.ndarray.flags, such as flags['C_CONTIGUOUS'].",
       nullptr},
      {"c_contiguous", &detail::get_c_contiguous, nullptr,
       "Whether the elements are row-major (C order) and compact.", nullptr},
      {"f_contiguous", &detail::get_f_contiguous, nullptr,
       "Whether the elements are column-major (Fortran order) and compact.", nullptr},
      {"version", &detail::get_version, nullptr,
       "DLPack version (major, minor) of the struct, dlbridge's for a view; None if legacy.",
       nullptr},
      {"__cuda_array_interface__", &detail::get_cuda_array_interface, nullptr,
       "Version 3 of the CUDA Array Interface; absent unless the memory is CUDA's.", nullptr},
      {"ctypes", &detail::get_ctypes, nullptr, "np.asarray(t).ctypes, for callers of C functions.",
       nullptr},
      {"T", &detail::get_transposed, nullptr,
       "View with the dimensions in reverse order, as in NumPy.", nullptr},
      {"mT", &detail::get_matrix_transposed, nullptr,
       "View with the last two dimensions exchanged.\n\n"
       "Raises AttributeError below two dimensions, so that hasattr returns False.",
       nullptr},
      {"__array_interface__", &detail::get_array_interface, nullptr,
       "Version 3 of NumPy's array interface; absent unless the CPU can read the memory.", nullptr},
      {"__numpy_dtype__", &detail::get_numpy_dtype, nullptr,
       "The numpy.dtype of the elements, which NumPy 2.4 and later look up.\n\n"
       "Absent where NumPy has none.",
       nullptr},
      {"__cuda_stream__", &detail::get_cuda_stream, nullptr,
       "Function that returns (0, handle) of the stream on which the elements are ready, the\n"
       "protocol of cuda.core; absent unless the memory is CUDA's.",
       nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return table;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

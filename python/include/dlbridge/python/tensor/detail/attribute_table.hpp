// tensor_attributes: lists the attributes of Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_attributes.hpp>
#include <dlbridge/python/tensor/detail/tensor_flags.hpp>
#include <dlbridge/python/tensor/detail/tensor_numpy.hpp>
#include <dlbridge/python/tensor/detail/tensor_shapes.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>

namespace core DLBRIDGE_LOCAL {
/// The table for Py_tp_getset.
DLBRIDGE_LOCAL inline PyGetSetDef* tensor_attributes() noexcept {
  static PyGetSetDef table[] = {
      {"shape", &get_of_view<&shape_of>, nullptr, "Tuple of the extents.", nullptr},
      {"strides", &get_of_view<&element_strides>, nullptr,
       "Tuple of the strides in elements. NumPy's strides are in bytes: byte_strides.", nullptr},
      {"byte_strides", &get_of_view<&byte_strides>, nullptr,
       "Tuple of the strides in bytes; None for packed sub-byte elements.", nullptr},
      {"ndim", &get_of_view<&tensor_view::rank>, nullptr, "Number of dimensions.", nullptr},
      {"size", &get_of_view<&tensor_view::count>, nullptr, "Number of elements.", nullptr},
      {"itemsize", &get_of_view<&item_size>, nullptr,
       "Bytes of one element, rounded up to whole bytes.", nullptr},
      {"nbytes", &get_of_view<&compact_size>, nullptr, "Bytes of all elements in compact form.",
       nullptr},
      {"dtype", &get_of_view<&tensor_view::dtype>, nullptr,
       "Type of the elements, a dlbridge.dtype.", nullptr},
      {"device", &get_of_view<&tensor_view::device>, nullptr,
       "Device of the memory, a dlbridge.device.", nullptr},
      {"readonly", &get_of_view<&tensor_view::read_only>, nullptr,
       "Whether the memory must not be written.\n\n"
       "Memory of a legacy producer counts as writable, as its struct has no flag.",
       nullptr},
      {"data_ptr", &get_of_view<&address_of>, nullptr,
       "Address of the first element as an int; 0 for an empty tensor, except on oneAPI.\n\n"
       "On devices without addresses, the handle of the memory.",
       nullptr},
      {"byte_offset", &get_of_view<&offset_of>, nullptr,
       "Bytes from a handle to the first element; 0 where data_ptr is an address.", nullptr},
      {"flags", &get_flags, nullptr,
       "Sum of the DLPack flags: 1 read-only, 2 copied, 4 padded sub-byte elements. The int\n"
       "also has the attributes and keys of numpy.ndarray.flags, such as flags['C_CONTIGUOUS'].",
       nullptr},
      {"c_contiguous", &get_of_view<&tensor_view::is_row_major>, nullptr,
       "Whether the elements are row-major (C order) and compact.", nullptr},
      {"f_contiguous", &get_of_view<&tensor_view::is_column_major>, nullptr,
       "Whether the elements are column-major (Fortran order) and compact.", nullptr},
      {"version", &get_version, nullptr,
       "DLPack version (major, minor) of the struct, dlbridge's for a view; None if legacy.",
       nullptr},
      {"__cuda_array_interface__", &get_cuda_array_interface, nullptr,
       "Version 3 of the CUDA Array Interface; absent unless the memory is CUDA's.", nullptr},
      {"ctypes", &get_ctypes, nullptr, "np.asarray(t).ctypes, for callers of C functions.",
       nullptr},
      {"T", &get_transposed, nullptr, "View with the dimensions in reverse order, as in NumPy.",
       nullptr},
      {"mT", &get_matrix_transposed, nullptr,
       "View with the last two dimensions exchanged.\n\n"
       "Raises AttributeError below two dimensions, so that hasattr returns False.",
       nullptr},
      {"__array_interface__", &get_array_interface, nullptr,
       "Version 3 of NumPy's array interface; absent unless the CPU can read the memory.", nullptr},
      {"__numpy_dtype__", &get_numpy_dtype, nullptr,
       "The numpy.dtype of the elements, which NumPy 2.4 and later look up.\n\n"
       "Absent where NumPy has none.",
       nullptr},
      {"__cuda_stream__", &get_cuda_stream, nullptr,
       "Function that returns (0, handle) of the stream on which the elements are ready, the\n"
       "protocol of cuda.core; absent unless the memory is CUDA's.",
       nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return table;
}
}  // namespace core DLBRIDGE_LOCAL

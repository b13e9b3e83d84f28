// tensor_attributes: lists the attributes of Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/docstrings.hpp>
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
      {"shape", get_of_view<&shape_of>, nullptr, nullptr, nullptr},
      {"strides", get_of_view<&element_strides>, nullptr, nullptr, nullptr},
      {"byte_strides", get_of_view<&byte_strides>, nullptr, nullptr, nullptr},
      {"ndim", get_of_view<&tensor_view::rank>, nullptr, nullptr, nullptr},
      {"size", get_of_view<&tensor_view::count>, nullptr, nullptr, nullptr},
      {"itemsize", get_of_view<&item_size>, nullptr, nullptr, nullptr},
      {"nbytes", get_of_view<&compact_size>, nullptr, nullptr, nullptr},
      {"dtype", get_of_view<&tensor_view::dtype>, nullptr, nullptr, nullptr},
      {"device", get_of_view<&tensor_view::device>, nullptr, nullptr, nullptr},
      {"readonly", get_of_view<&tensor_view::read_only>, nullptr, nullptr, nullptr},
      {"data_ptr", get_of_view<&address_of>, nullptr, nullptr, nullptr},
      {"byte_offset", get_of_view<&offset_of>, nullptr, nullptr, nullptr},
      {"flags", &entry<&flags_of>::call, nullptr, nullptr, nullptr},
      {"c_contiguous", get_of_view<&tensor_view::is_row_major>, nullptr, nullptr, nullptr},
      {"f_contiguous", get_of_view<&tensor_view::is_column_major>, nullptr, nullptr, nullptr},
      {"version", &entry<&producer_version>::call, nullptr, nullptr, nullptr},
      {"__cuda_array_interface__", &entry<&cuda_array_interface>::call, nullptr, nullptr, nullptr},
      {"ctypes", &entry<&array_ctypes>::call, nullptr, nullptr, nullptr},
      {"T", &entry<&transposed>::call, nullptr, nullptr, nullptr},
      {"mT", &entry<&matrix_transposed>::call, nullptr, nullptr, nullptr},
      {"__array_interface__", &entry<&array_interface>::call, nullptr, nullptr, nullptr},
      {"__numpy_dtype__", &entry<&numpy_dtype>::call, nullptr, nullptr, nullptr},
      {"__cuda_stream__", &entry<&cuda_stream>::call, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return with_docs("Tensor.", table);
}
}  // namespace core DLBRIDGE_LOCAL

// tensor_methods: lists the methods of the package's Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/docstrings.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_copies.hpp>
#include <dlbridge/python/tensor/detail/tensor_numpy.hpp>
#include <dlbridge/python/tensor/detail/tensor_pickle.hpp>
#include <dlbridge/python/tensor/detail/tensor_shapes.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>
#include <dlbridge/python/tensor/detail/tensor_text.hpp>
#include <dlbridge/python/tensor/detail/tensor_values.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

namespace core DLBRIDGE_LOCAL {
/// The table for Py_tp_methods of the complete type.
DLBRIDGE_LOCAL inline PyMethodDef* tensor_methods() noexcept {
  static PyMethodDef table[] = {
      dlpack_row(),
      dlpack_device_row(),
      {"__array__", method(&array_method), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"__reduce_ex__", &entry<&reduce>::call, METH_O, nullptr},
      {"__complex__", &entry<&complex_of>::call, METH_NOARGS, nullptr},
      {"__format__", &entry<&format>::call, METH_O, nullptr},
      {"_repr_html_", &entry<&show_html>::call, METH_NOARGS, nullptr},
      {"item", &entry<&item>::call, METH_NOARGS, nullptr},
      {"tolist", &entry<&tolist>::call, METH_NOARGS, nullptr},
      {"tobytes", &entry<&tobytes>::call, METH_NOARGS, nullptr},
      {"to_numpy", &entry<&numpy_array>::call, METH_NOARGS, nullptr},
      {"numpy", &entry<&numpy_array>::call, METH_NOARGS, nullptr},
      {"permute", &entry<&permute>::call, METH_VARARGS, nullptr},
      {"reshape", &entry<&reshape>::call, METH_VARARGS, nullptr},
      {"view", method(&entry<&view_as>::call), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"to", method(&entry<&move_to>::call), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"copy", &entry<&copy_of_elements>::call, METH_NOARGS, nullptr},
      {"ravel", &entry<&ravel>::call, METH_NOARGS, nullptr},
      {"synchronize", &entry<&synchronize>::call, METH_NOARGS, nullptr},
      {"record_stream", &entry<&record_stream>::call, METH_O, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  return with_docs("Tensor.", table);
}
}  // namespace core DLBRIDGE_LOCAL

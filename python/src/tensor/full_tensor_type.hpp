// full_tensor_type: the package's Tensor, with the tables of its methods and attributes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

#include "core.hpp"
#include "docstrings.hpp"
#include "tensor/tensor_attributes.hpp"
#include "tensor/tensor_comparison.hpp"
#include "tensor/tensor_copies.hpp"
#include "tensor/tensor_flags.hpp"
#include "tensor/tensor_index.hpp"
#include "tensor/tensor_numpy.hpp"
#include "tensor/tensor_pickle.hpp"
#include "tensor/tensor_shapes.hpp"
#include "tensor/tensor_streams.hpp"
#include "tensor/tensor_text.hpp"
#include "tensor/tensor_values.hpp"

namespace core DLBRIDGE_LOCAL {
DLBRIDGE_LOCAL inline PyType_Slot* full_tensor_slots() noexcept {
  static PyMethodDef methods[] = {
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
  static PyGetSetDef attributes[] = {
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
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc_of("Tensor"))},
      {Py_tp_new, reinterpret_cast<void*>(&refuse_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_tensor)},
      {Py_tp_repr, reinterpret_cast<void*>(&entry<&show_tensor>::call)},
      {Py_nb_bool, reinterpret_cast<void*>(&truth_of)},
      {Py_tp_richcompare, reinterpret_cast<void*>(&entry<&compare_tensor>::call)},
      {Py_tp_hash, reinterpret_cast<void*>(PyBaseObject_Type.tp_hash)},
      {Py_nb_float, reinterpret_cast<void*>(&entry<&float_of>::call)},
      {Py_nb_int, reinterpret_cast<void*>(&entry<&int_of>::call)},
      {Py_nb_index, reinterpret_cast<void*>(&entry<&index_of>::call)},
      {Py_tp_iter, reinterpret_cast<void*>(&entry<&tensor_iterator>::call)},
      {Py_sq_length, reinterpret_cast<void*>(&tensor_length)},
      {Py_sq_item, reinterpret_cast<void*>(&entry<&item_at>::call)},
      {Py_sq_contains, reinterpret_cast<void*>(&refuse_contains)},
      {Py_mp_length, reinterpret_cast<void*>(&tensor_length)},
      {Py_mp_subscript, reinterpret_cast<void*>(&entry<&subscript>::call)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(&refuse_assignment)},
      {Py_tp_methods, with_docs("Tensor.", methods)},
      {Py_tp_getset, with_docs("Tensor.", attributes)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&free_buffer)},
      {0, nullptr}};
  return slots;
}

/// The complete type Tensor.
/// @pre tensor_type() has not been called in this module: a type that exists already stays as it
///   is.
/// @return a borrowed reference; null, with an exception set, when the type cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline PyTypeObject* full_tensor_type() noexcept {
  tensor_type_row() = {"dlbridge.Tensor", full_tensor_slots()};
  return tensor_type();
}
}  // namespace core DLBRIDGE_LOCAL

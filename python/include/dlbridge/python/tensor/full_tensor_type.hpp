// full_tensor_type: completes Tensor with attributes, indexing, elements, buffers and pickling.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/docstrings.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/attribute_table.hpp>
#include <dlbridge/python/tensor/detail/method_table.hpp>
#include <dlbridge/python/tensor/detail/tensor_comparison.hpp>
#include <dlbridge/python/tensor/detail/tensor_index.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_text.hpp>
#include <dlbridge/python/tensor/detail/tensor_values.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

namespace core DLBRIDGE_LOCAL {
DLBRIDGE_LOCAL inline PyType_Slot* full_tensor_slots() noexcept {
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
      {Py_tp_methods, tensor_methods()},
      {Py_tp_getset, tensor_attributes()},
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

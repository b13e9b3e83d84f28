// full_tensor_type: completes Tensor with attributes, buffers, __array__ and pickling.
// layer: tensor · the type of the package
#pragma once

#include <cstdint>

#include <dlbridge/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_attributes.hpp>
#include <dlbridge/python/tensor/detail/tensor_methods.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_truth.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// <dlbridge.Tensor float32[2, 3] on cpu, row-major, read-only>
inline PyObject* show_tensor(PyObject* self) noexcept {
  tensor_view const& view = tensor_in(self).view;
  bounded_text<480> text("<dlbridge.Tensor ");
  text.append(name_of(view).c_str());
  if (view.is_row_major()) {
    text.append(", row-major");
  } else if (view.is_column_major()) {
    text.append(", column-major");
  } else {
    std::int64_t strides[max_rank];
    view.copy_strides(strides);
    append_extents(text.append(", strides "), view.rank(), strides);
  }
  return api<PyUnicode_FromString>(text.append(view.read_only() ? ", read-only>" : ">").c_str());
}

inline int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept {
#if defined(Py_GIL_DISABLED)  // several threads may request a buffer at the same time
  buffer_dims* const dims = nullptr;
#else
  buffer_dims* const dims = &tensor_in(self).exported_dims;
#endif
  if (fill_buffer(self, tensor_in(self).view, dims, out, flags) != 0) {
    return -1;
  }
  if (!wait_until_ready(tensor_in(self))) {
    error_keeper const pending;
    api<PyBuffer_Release>(out);
    return -1;
  }
  return 0;
}
inline void free_buffer(PyObject*, Py_buffer* buffer) noexcept { release_buffer(buffer); }

DLBRIDGE_LOCAL inline PyType_Slot* full_tensor_slots() noexcept {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(
                      "A tensor on memory that a library owns.\n\n"
                      "from_dlpack and as_tensor return it. A Tensor describes the memory, keeps\n"
                      "it alive and exports it: np.from_dlpack(t), np.asarray(t), memoryview(t).\n"
                      "It has no indexing and no arithmetic.")},
      {Py_tp_new, reinterpret_cast<void*>(&refuse_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_tensor)},
      {Py_tp_repr, reinterpret_cast<void*>(&show_tensor)},
      {Py_nb_bool, reinterpret_cast<void*>(&truth_of_tensor)},
      {Py_tp_methods, tensor_methods()},
      {Py_tp_getset, tensor_attributes()},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&free_buffer)},
      {0, nullptr}};
  return slots;
}
}  // namespace detail

/// The complete type Tensor.
/// @pre tensor_type() has not been called in this module: a type that exists already stays as it
///   is.
/// @return a borrowed reference; null, with an exception set, when the type cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
inline PyTypeObject* full_tensor_type() noexcept {
  detail::tensor_slots() = detail::full_tensor_slots();
  return tensor_type();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

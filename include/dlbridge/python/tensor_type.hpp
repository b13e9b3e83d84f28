// The Tensor Python type: a final C-API heap type, made once from its attributes and methods.
// floor 11 · IN and OUT: what Python code holds between two libraries
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/error.hpp>
#include <dlbridge/python/buffers.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/slots.hpp>
#include <dlbridge/python/tensor_attributes.hpp>
#include <dlbridge/python/tensor_exchange.hpp>
#include <dlbridge/python/tensor_methods.hpp>
#include <dlbridge/python/tensor_object.hpp>
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
  return PyUnicode_FromString(text.append(view.read_only() ? ", read-only>" : ">").c_str());
}

inline int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept {
  return fill_buffer(self, tensor_in(self).view, out, flags);
}
inline void free_buffer(PyObject*, Py_buffer* buffer) noexcept { release_buffer(buffer); }

inline PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) noexcept {
  PyErr_SetString(PyExc_TypeError,
                  "Tensor has no constructor; use dlbridge.from_dlpack(x) or "
                  "dlbridge.as_tensor(x)");
  return nullptr;
}

DLBRIDGE_LOCAL inline PyTypeObject* make_tensor_type() noexcept {
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>("A tensor on memory that some library owns; made by from_dlpack and "
                         "as_tensor.\n\nIt describes the memory and passes it on: "
                         "np.from_dlpack(t), np.asarray(t), memoryview(t). It has no elements of "
                         "its own, no indexing and no arithmetic.")},
      {Py_tp_new, reinterpret_cast<void*>(&refuse_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_tensor)},
      {Py_tp_repr, reinterpret_cast<void*>(&show_tensor)},
      {Py_tp_methods, tensor_methods()},
      {Py_tp_getset, tensor_attributes()},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&free_buffer)},
      {0, nullptr}};
  static PyType_Spec spec{"dlbridge.Tensor", static_cast<int>(sizeof(tensor_object)), 0,
                          Py_TPFLAGS_DEFAULT, slots};
  auto* const made = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (made != nullptr) {
    made->tp_weaklistoffset = offsetof(tensor_object, weak_references);
  }
  return made;
}
}  // namespace detail

/// The type, made on first use and kept for the process. Borrowed; null with an exception set when
/// it cannot be made.
DLBRIDGE_LOCAL inline PyTypeObject* tensor_type() noexcept {
  static PyTypeObject* made = nullptr;
  if (made == nullptr) {
    made = detail::make_tensor_type();
#if DLBRIDGE_DLPACK_AT_LEAST(2)
    if (made != nullptr && !add_exchange_table<tensor_face<&tensor_type>>(made)) {
      Py_CLEAR(made);
    }
#endif
  }
  return made;
}

inline bool is_tensor(PyObject* object) noexcept { return Py_TYPE(object) == tensor_type(); }

/// A new Tensor. owns: m. None, with an exception set, when m is empty because something failed, or
/// out of memory.
inline ref wrap_tensor(managed_tensor m) noexcept {
  PyTypeObject* const type = m ? tensor_type() : nullptr;
  return type != nullptr ? new_tensor(type, std::move(m)) : ref();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

// The Tensor Python type: a final C-API heap type, made once, and plain unless tensor_full.hpp has
// completed it before.
// floor 11 · IN and OUT: what Python code holds between two libraries
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/managed.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/slots.hpp>
#include <dlbridge/python/tensor_exchange.hpp>
#include <dlbridge/python/tensor_object.hpp>
#include <dlbridge/python/tensor_protocol.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// <dlbridge.Tensor float32[2, 3] on cpu>
inline PyObject* show_plainly(PyObject* self) noexcept {
  return PyUnicode_FromFormat("<dlbridge.Tensor %s>", name_of(tensor_in(self).view).c_str());
}

inline PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) noexcept {
  PyErr_SetString(PyExc_TypeError,
                  "Tensor has no constructor; use dlbridge.from_dlpack(x) or "
                  "dlbridge.as_tensor(x)");
  return nullptr;
}

// What an extension needs of a Tensor: consumers take it. Every extension compiles this, so it is
// kept short.
DLBRIDGE_LOCAL inline PyType_Slot* plain_tensor_slots() noexcept {
  static PyMethodDef methods[] = {
      dlpack_row(), dlpack_device_row(), {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A tensor for any DLPack consumer: np.from_dlpack(t), "
                                    "torch.from_dlpack(t).")},
      {Py_tp_new, reinterpret_cast<void*>(&refuse_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_tensor)},
      {Py_tp_repr, reinterpret_cast<void*>(&show_plainly)},
      {Py_tp_methods, methods},
      {0, nullptr}};
  return slots;
}

// What the type is made of: the plain slots, unless full_tensor_type has put others here.
DLBRIDGE_LOCAL inline PyType_Slot*& tensor_slots() noexcept {
  static PyType_Slot* chosen = plain_tensor_slots();
  return chosen;
}

DLBRIDGE_LOCAL inline PyTypeObject* make_tensor_type() noexcept {
  PyType_Spec spec{"dlbridge.Tensor", static_cast<int>(sizeof(tensor_object)), 0,
                   Py_TPFLAGS_DEFAULT, tensor_slots()};
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

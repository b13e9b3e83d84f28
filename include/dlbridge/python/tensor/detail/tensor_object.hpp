// tensor_object: defines the object of a Tensor, its creation, sharing and destruction.
// layer: tensor · the object between import and export
#pragma once

#include <new>
#include <utility>

#include <dlbridge/managed.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// A Tensor. Its description does not change; its elements may.
/// @par Thread and GIL
/// Every function on a Tensor requires the GIL.
struct tensor_object {
  PyObject_HEAD PyObject* weak_references;
  tensor_view view;         // the description, with the caller's readonly= applied
  managed_tensor owned;     // the owner until the first export
  shared_tensor shared;     // the owner from then on, as exports may outlive the object
  void* stream;             // the handle of the stream on which the elements are ready
  PyObject* stream_object;  // the owner of that handle, a held reference; or null

  stream_ref ready_on() const noexcept { return stream_ref(view.device(), stream); }
};

inline tensor_object& tensor_in(PyObject* object) noexcept {
  return *reinterpret_cast<tensor_object*>(object);
}

namespace detail {
// The memory of destroyed objects, for reuse: calls create and destroy many.
struct free_tensors {
  static constexpr int capacity = 32;
  PyObject* objects[capacity];
  int count = 0;

  DLBRIDGE_LOCAL static free_tensors& get() noexcept {
    static free_tensors list;
    return list;
  }
};

inline PyObject* allocate_tensor(PyTypeObject* type) noexcept {
#if !defined(Py_GIL_DISABLED)
  free_tensors& list = free_tensors::get();
  if (list.count > 0) {
    return PyObject_Init(list.objects[--list.count], type);
  }
#endif
  return PyObject_New(PyObject, type);
}

inline void deallocate_tensor(PyObject* object) noexcept {
#if !defined(Py_GIL_DISABLED)
  free_tensors& list = free_tensors::get();
  if (list.count < free_tensors::capacity) {
    list.objects[list.count++] = object;
    return;
  }
#endif
  PyObject_Free(object);
}
}  // namespace detail

/// A new object of a Tensor type on the memory of view.
/// @param owned the owner of that memory, unless shared is.
/// @return the object; empty, with MemoryError set, when there is no memory for it; the owner is
///   then freed.
inline ref new_tensor(PyTypeObject* type, tensor_view const& view, managed_tensor owned,
                      shared_tensor shared) noexcept {
  PyObject* const object = detail::allocate_tensor(type);
  if (object == nullptr) {
    error_keeper const pending;
    owned = managed_tensor();
    shared = shared_tensor();
    return ref();
  }
  tensor_object& self = tensor_in(object);
  self.weak_references = nullptr;
  ::new (&self.view) tensor_view(view);
  ::new (&self.owned) managed_tensor(std::move(owned));
  ::new (&self.shared) shared_tensor(std::move(shared));
  self.stream = stream_ref::default_of(view.device()).native_handle();
  self.stream_object = nullptr;
  return ref::steal(object);
}
/// The same on the memory of m, which the object owns.
/// @pre m is not empty.
inline ref new_tensor(PyTypeObject* type, managed_tensor m) noexcept {
  tensor_view const view = m.view();
  return new_tensor(type, view, std::move(m), shared_tensor());
}
/// The same on the memory of another object, whose owner it shares.
inline ref new_tensor(PyTypeObject* type, tensor_view const& view, shared_tensor shared) noexcept {
  return new_tensor(type, view, managed_tensor(), std::move(shared));
}

/// Sets the stream on which the elements are ready.
/// @param stream the stream= argument of the caller: a stream object, to which the Tensor then
///   holds a reference; or null, None or an int.
inline void set_ready(tensor_object& self, stream_ref ready, PyObject* stream) noexcept {
  self.stream = ready.native_handle();
  if (stream != nullptr && stream != Py_None && !PyLong_Check(stream)) {
    Py_INCREF(stream);
    xdecref(std::exchange(self.stream_object, stream));
  }
}

/// Makes the owner of the memory a shared one, and returns it. An export holds a share, which is
/// freed without Python.
/// @throws error out_of_memory; the Tensor is then unchanged.
inline shared_tensor const& share(tensor_object& self) {
  critical_section const section(reinterpret_cast<PyObject*>(&self));
  if (!self.shared) {
    self.shared = shared_tensor(std::move(self.owned));
  }
  return self.shared;
}

/// The managed tensor of a Tensor, shared or not.
inline managed_tensor const& managed_in(tensor_object& self) noexcept {
  critical_section const section(reinterpret_cast<PyObject*>(&self));
  return self.shared ? self.shared.get() : self.owned;
}

/// Implements tp_dealloc. The pending exception is put aside while a foreign deleter runs.
inline void destroy_tensor(PyObject* object) noexcept {
  tensor_object& self = tensor_in(object);
  PyTypeObject* const type = Py_TYPE(object);
  {
    error_keeper const pending;
    if (self.weak_references != nullptr) {
      api<PyObject_ClearWeakRefs>(object);
    }
    self.shared.~shared_tensor();
    self.owned.~managed_tensor();
    xdecref(self.stream_object);
  }
  detail::deallocate_tensor(object);
  decref(reinterpret_cast<PyObject*>(type));
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

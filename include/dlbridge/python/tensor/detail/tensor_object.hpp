// The object behind dlbridge.Tensor: a managed tensor with a Python head, made, shared and freed.
// layer: tensor · between IN and OUT: what Python code holds
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

/// Immutable but for the elements it leads to.
/// thread and GIL: held in everything that touches one.
struct tensor_object {
  PyObject_HEAD PyObject* weak_references;
  tensor_view view;         // of what is owned, with the read-only mark decided
  managed_tensor owned;     // until the first export
  shared_tensor shared;     // from then on, as exports outlive the object
  void* stream;             // of the device, on which the elements are ready
  PyObject* stream_object;  // whose stream that is, held; or null

  stream_ref ready_on() const noexcept { return stream_ref(view.device(), stream); }
};

inline tensor_object& tensor_in(PyObject* object) noexcept {
  return *reinterpret_cast<tensor_object*>(object);
}

namespace detail {
// A few freed objects, to be used again: tensors come and go with each call.
struct free_tensors {
  static constexpr int capacity = 32;
  PyObject* objects[capacity];
  int count = 0;

  DLBRIDGE_LOCAL static free_tensors& get() noexcept {
    static free_tensors kept;
    return kept;
  }
};

inline PyObject* allocate_tensor(PyTypeObject* type) noexcept {
#if !defined(Py_GIL_DISABLED)
  free_tensors& kept = free_tensors::get();
  if (kept.count > 0) {
    return PyObject_Init(kept.objects[--kept.count], type);
  }
#endif
  return PyObject_New(PyObject, type);
}

inline void deallocate_tensor(PyObject* object) noexcept {
#if !defined(Py_GIL_DISABLED)
  free_tensors& kept = free_tensors::get();
  if (kept.count < free_tensors::capacity) {
    kept.objects[kept.count++] = object;
    return;
  }
#endif
  PyObject_Free(object);
}
}  // namespace detail

/// A new object of the given type on what view shows, owned by one of the two. None, with an
/// exception set, when there is no memory for the object; what was owned is then freed.
inline ref new_tensor(PyTypeObject* type, tensor_view const& view, managed_tensor owned,
                      shared_tensor shared) noexcept {
  PyObject* const made = detail::allocate_tensor(type);
  if (made == nullptr) {
    error_keeper const kept;
    owned.reset();
    shared = shared_tensor();
    return ref();
  }
  tensor_object& self = tensor_in(made);
  self.weak_references = nullptr;
  ::new (&self.view) tensor_view(view);
  ::new (&self.owned) managed_tensor(std::move(owned));
  ::new (&self.shared) shared_tensor(std::move(shared));
  self.stream = stream_ref::default_of(view.device()).native_handle();
  self.stream_object = nullptr;
  return ref::steal(made);
}
/// owns: m, which must not be empty.
inline ref new_tensor(PyTypeObject* type, managed_tensor m) noexcept {
  tensor_view const view = m.view();
  return new_tensor(type, view, std::move(m), shared_tensor());
}
/// owns: a share of what another object owns too.
inline ref new_tensor(PyTypeObject* type, tensor_view const& view, shared_tensor shared) noexcept {
  return new_tensor(type, view, managed_tensor(), std::move(shared));
}

/// Says on which stream the elements are ready, and whose that is: an object that is held, or null,
/// None or an integer, which are not.
inline void set_ready(tensor_object& self, stream_ref ready, PyObject* whose) noexcept {
  self.stream = ready.native_handle();
  if (whose != nullptr && whose != Py_None && !PyLong_Check(whose)) {
    Py_INCREF(whose);
    Py_XSETREF(self.stream_object, whose);
  }
}

/// What is owned, shared from now on. An export then needs no Python to free its share.
/// fails: throws out_of_memory.
inline shared_tensor const& share(tensor_object& self) {
#if defined(Py_GIL_DISABLED)
  Py_BEGIN_CRITICAL_SECTION(reinterpret_cast<PyObject*>(&self));
#endif
  if (!self.shared) {
    self.shared = shared_tensor(std::move(self.owned));
  }
#if defined(Py_GIL_DISABLED)
  Py_END_CRITICAL_SECTION();
#endif
  return self.shared;
}

/// What is owned, whether shared yet or not.
inline managed_tensor const& managed_in(tensor_object const& self) noexcept {
  return self.shared ? self.shared.get() : self.owned;
}

/// tp_dealloc. A foreign deleter may run in it, with whatever exception is pending kept.
inline void destroy_tensor(PyObject* object) noexcept {
  tensor_object& self = tensor_in(object);
  PyTypeObject* const type = Py_TYPE(object);
  {
    error_keeper const kept;
    if (self.weak_references != nullptr) {
      PyObject_ClearWeakRefs(object);
    }
    self.shared.~shared_tensor();
    self.owned.~managed_tensor();
    Py_XDECREF(self.stream_object);
  }
  detail::deallocate_tensor(object);
  Py_DECREF(type);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

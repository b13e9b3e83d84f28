// The bodies of tensor_object.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/kept_stream.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/python/detail/block_pool.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_COLD void keep_default_stream(tensor_object& self) noexcept;

// Completes a new object whose owner has the copies.
ref new_sharing_tensor(PyObject* object, managed_tensor& m) noexcept;
}  // namespace python::detail

namespace python {
namespace detail {
using free_tensors = free_list<tensor_object, 32>;

// Without the GIL, an object holds no reference to its type, which lives as long as the process:
// all threads would count these references at one address, and wait for each other there. The
// object is created with an immortal type, whose references are not counted.
inline PyObject* allocate_tensor(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  auto const size = static_cast<std::size_t>(type->tp_basicsize);
  auto* const object = static_cast<PyObject*>(PyObject_Malloc(size));
  if (object == nullptr) {
    return api<PyErr_NoMemory>();
  }
  PyObject_Init(object, &PyBaseObject_Type);
  Py_SET_TYPE(object, type);
  return object;
#else
  void* const memory = free_tensors::get().take();
  return memory != nullptr ? PyObject_Init(static_cast<PyObject*>(memory), type)
                           : PyObject_New(PyObject, type);
#endif
}

inline void deallocate_tensor(PyObject* object) noexcept {
#if defined(Py_GIL_DISABLED)
  PyObject_Free(object);
#else
  PyTypeObject* const type = Py_TYPE(object);
  if (!free_tensors::get().put(object)) {
    PyObject_Free(object);
  }
  decref(reinterpret_cast<PyObject*>(type));
#endif
}

// Whether a new object copies the shape and the strides of its tensor. Otherwise the owner does, as
// it does at the first export: without the GIL, other threads may then read the view.
inline bool can_copy_dims([[maybe_unused]] int rank) noexcept {
#if defined(Py_GIL_DISABLED)
  return false;
#else
  return rank <= direct_rank;
#endif
}

// Constructs the members of a new object except its view, which the caller has constructed in
// place: a processor would wait for the stores of a view before it copied the view.
inline void construct(tensor_object& self, managed_tensor&& owned,
                      shared_tensor&& shared) noexcept {
  self.weak_references = nullptr;
  ::new (&self.owned) managed_tensor(std::move(owned));
  ::new (&self.shared) shared_tensor(std::move(shared));
  ::new (&self.stream) kept_stream();
  if (self.view.device().type != kDLCPU) {
    keep_default_stream(self);
  }
  self.stream_object = nullptr;
  self.array = nullptr;
}
}  // namespace detail

DLBRIDGE_API ref new_tensor(PyTypeObject* type, tensor_view const& view,
                            shared_tensor shared) noexcept {
  PyObject* const object = detail::allocate_tensor(type);
  if (object == nullptr) {
    error_keeper const pending;
    shared = shared_tensor();
    return ref();
  }
  ::new (&tensor_in(object).view) tensor_view(view);
  detail::construct(tensor_in(object), managed_tensor(), std::move(shared));
  return ref::steal(object);
}

namespace detail {
DLBRIDGE_API void copy_dims(tensor_object& self) noexcept {
  tensor_view const& view = self.view;
  bool const has_strides = view.strides() != nullptr;
  dlbridge::detail::copy_extents(view.shape(), view.rank(), self.dims.shape);
  dlbridge::detail::copy_extents(view.strides(), has_strides ? view.rank() : 0, self.dims.strides);
  self.view = view.with_dims(self.dims.shape, has_strides ? self.dims.strides : nullptr);
}
}  // namespace detail

DLBRIDGE_API ref try_new_tensor(PyTypeObject* type, managed_tensor& m) noexcept {
  PyObject* const object = detail::allocate_tensor(type);
  if (object == nullptr) {
    return ref();
  }
  if (!detail::can_copy_dims(m.tensor().ndim)) {
    return detail::new_sharing_tensor(object, m);
  }
  tensor_object& self = tensor_in(object);
  ::new (&self.view) tensor_view(m.view());
  detail::copy_dims(self);
  detail::construct(self, std::move(m), shared_tensor());
  return ref::steal(object);
}

DLBRIDGE_API ref new_tensor(PyTypeObject* type, managed_tensor m) noexcept {
  ref object = try_new_tensor(type, m);
  if (!object) {
    error_keeper const pending;
    m = managed_tensor();
  }
  return object;
}

// Whether there are weak references. Without the GIL, another thread may remove the last one.
inline bool has_weak_references(tensor_object& self) noexcept {
#if defined(Py_GIL_DISABLED)
  return _Py_atomic_load_ptr_relaxed(&self.weak_references) != nullptr;
#else
  return self.weak_references != nullptr;
#endif
}

DLBRIDGE_API void destroy_tensor(PyObject* object) noexcept {
  tensor_object& self = tensor_in(object);
  {
    error_keeper const pending;
    if (has_weak_references(self)) {
      api<PyObject_ClearWeakRefs>(object);
    }
    self.shared.~shared_tensor();
    self.owned.~managed_tensor();
    xdecref(self.stream_object);
    xdecref(self.array);
  }
  detail::deallocate_tensor(object);
}

DLBRIDGE_API stream_ref tensor_object::ready_on() const noexcept {
  return stream.is_none() ? stream_ref(view.device(), static_cast<void*>(nullptr))
                          : stream.get(stream_device(view.device()));
}

namespace detail {
// Stores the stream on which the elements are ready, for use by any thread.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void keep_stream(tensor_object& self,
                                                        stream_ref const& ready) noexcept {
  self.stream = kept_stream(python::in_current_context(ready));
}

DLBRIDGE_NOINLINE DLBRIDGE_API void keep_default_stream(tensor_object& self) noexcept {
  keep_stream(self, stream_ref::default_of(self.view.device()));
}
}  // namespace detail

DLBRIDGE_API ref new_tensor_on_array(PyTypeObject* type, PyObject* array) noexcept {
  PyObject* const object = detail::allocate_tensor(type);
  if (object == nullptr) {
    return ref();
  }
  tensor_object& self = tensor_in(object);
  DLTensor fields;
  std::uint64_t flags = 0;
  if (!detail::read_ndarray(array, fields, self.dims, flags) || !detail::is_sound_ndarray(fields)) {
    detail::deallocate_tensor(object);
    return ref();
  }
  ::new (&self.view) tensor_view(fields, flags);
  detail::construct(self, managed_tensor(), shared_tensor());
  Py_INCREF(array);
  self.array = array;
  return ref::steal(object);
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API ref new_sharing_tensor(PyObject* object,
                                                      managed_tensor& m) noexcept {
  tensor_view view = m.view();
  shared_tensor shared;
  if (!guarded([&] { shared = shared_tensor(std::move(m), view); })) {
    deallocate_tensor(object);
    return ref();
  }
  ::new (&tensor_in(object).view) tensor_view(view);
  construct(tensor_in(object), managed_tensor(), std::move(shared));
  return ref::steal(object);
}
}  // namespace detail

DLBRIDGE_API void set_ready(tensor_object& self, stream_ref const& ready,
                            PyObject* owner) noexcept {
  detail::keep_stream(self, ready);
  if (owner != nullptr) {
    Py_INCREF(owner);
    xdecref(std::exchange(self.stream_object, owner));
  }
}

DLBRIDGE_API void set_queue(tensor_object& self, ref queue) noexcept {
  xdecref(std::exchange(self.stream_object, queue.release()));
}

namespace detail {
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool wait_for_stream(tensor_object const& self) noexcept {
  return succeeded(python::try_host_wait(self.ready_on()));
}
}  // namespace detail

DLBRIDGE_API bool wait_until_ready(tensor_object const& self) noexcept {
  return self.stream.is_none() || detail::wait_for_stream(self);
}

namespace detail {
// Makes a managed tensor the owner of the memory, in place of the ndarray, which it then holds.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void own_array(tensor_object& self) {
  managed_tensor owned =
      own_ndarray(self.array, self.view.to_dltensor(), self.view.flags(), version_of_ndarrays());
  if (!owned) {
    dlbridge::detail::raise_no_memory();
  }
  self.owned = std::move(owned);
  decref(std::exchange(self.array, nullptr));
}
}  // namespace detail

DLBRIDGE_API shared_tensor const& share(tensor_object& self) {
  critical_section const section(reinterpret_cast<PyObject*>(&self));
  if (!self.shared) {
    if (self.array != nullptr) {
      detail::own_array(self);
    }
    self.shared = shared_tensor(std::move(self.owned), self.view);
  }
  return self.shared;
}

DLBRIDGE_API shared_tensor const* try_share(tensor_object& self) noexcept {
#if !defined(Py_GIL_DISABLED)
  if (self.shared) {  // the common case, without a try block
    return &self.shared;
  }
#endif
  return guarded([&] { share(self); }) ? &self.shared : nullptr;
}

DLBRIDGE_API managed_tensor const& owning_tensor(tensor_object const& self) noexcept {
  return self.shared ? self.shared.get() : self.owned;
}

DLBRIDGE_API bool read_producer_version(tensor_object& self, version& out) noexcept {
  critical_section const section(reinterpret_cast<PyObject*>(&self));
  managed_tensor const& own = owning_tensor(self);
  managed_tensor const* const immutable = own ? detail::find_immutable(own) : nullptr;
  managed_tensor const& m = immutable != nullptr ? *immutable : own;
  out = m ? m.version() : detail::version_of_ndarrays();
  return m.kind() == struct_kind::versioned;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

// The bodies of tensor_object.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/build.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API stream_ref tensor_object::ready_on() const noexcept {
  return stream.is_none() ? stream_ref(view.device(), static_cast<void*>(nullptr))
                          : stream.get(stream_device(view.device()));
}

namespace detail {
// Stores the stream on which the elements are ready, for use by any thread.
DLBRIDGE_COLD DLBRIDGE_API void keep_stream(tensor_object& self, stream_ref const& ready) noexcept {
  self.stream = kept_stream(python::in_current_context(ready));
}

DLBRIDGE_API void keep_default_stream(tensor_object& self) noexcept {
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
DLBRIDGE_API ref new_sharing_tensor(PyObject* object, managed_tensor& m) noexcept {
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
DLBRIDGE_COLD DLBRIDGE_API bool wait_for_stream(tensor_object const& self) noexcept {
  return succeeded(python::try_host_wait(self.ready_on()));
}
}  // namespace detail

DLBRIDGE_API bool wait_until_ready(tensor_object const& self) noexcept {
  return self.stream.is_none() || detail::wait_for_stream(self);
}

namespace detail {
// Makes a managed tensor the owner of the memory, in place of the ndarray, which it then holds.
DLBRIDGE_COLD DLBRIDGE_API void own_array(tensor_object& self) {
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

// import_array, share_memory, copy_of_array, import_plainly: import an ndarray or a Tensor without
// a call of its producer, and other objects by their exchange table.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/detail/sycl_queues.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/consume_by_table.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/long_copy.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
/// A new Tensor on the memory of an ndarray, from the fields of the array: without a call of
/// `__dlpack__` and without a managed tensor, which the first export creates.
/// @param entry of the type of the array.
/// @return the Tensor; empty, without an exception, where `__dlpack__` is to be called; with one
///   when there is no memory, or after an exception in the self-test that is not suppressible.
/// @par Ownership
/// The Tensor holds a reference to the array.
/// @par Thread and GIL
/// The caller holds the GIL. Free-threaded builds call `__dlpack__`, as the first export would
/// change the Tensor while other threads read it.
inline ref import_array(type_entry const& entry, PyObject* array) noexcept {
#if defined(Py_GIL_DISABLED)
  static_cast<void>(entry);
  static_cast<void>(array);
  return ref();
#else
  PyTypeObject* const type = can_read_fields(entry, array) ? tensor_type() : nullptr;
  return type != nullptr ? new_tensor_on_array(type, array) : ref();
#endif
}

// Applies readonly= to a new Tensor.
inline PyObject* apply_readonly(ref tensor, PyObject* readonly) noexcept {
  if (tensor && readonly != Py_None) {
    tensor_view& view = tensor_in(tensor.get()).view;
    view = view.with_flags(readonly == Py_True ? view.flags() | flag_read_only
                                               : view.flags() & ~flag_read_only);
  }
  return tensor.release();
}

// Whether the result can share the owner of a Tensor. The protocol would make a new owner that
// holds the previous one, repeated imports a chain of them, and no record of the streams that use
// the memory.
inline bool can_share(PyObject* object, consume_request const& request) noexcept {
  return is_tensor(object) && request.copy != copy_policy::always &&
         (!request.has_target || is_on_device(tensor_in(object).view.device(), request.target));
}

// Another Tensor on the memory of one, whose owner it shares. An empty reference, with an exception
// set, when there is no memory.
DLBRIDGE_INLINE ref share_memory(PyObject* object) noexcept {
  tensor_object& self = tensor_in(object);
  shared_tensor const* const owner = try_share(self);
  if (owner == nullptr) {
    return ref();
  }
  // Read after the owner is shared: the shape outlives self from then on.
  tensor_view const view = self.view.with_flags(self.view.flags() & ~flag_is_copied);
  return new_tensor(Py_TYPE(object), view, shared_tensor(*owner));
}

// The same on a device without streams. On oneAPI, the new Tensor has the queue that stream= names,
// which then waits for the queue of the other one, or else the latter.
DLBRIDGE_COLD inline ref share_on_queue(PyObject* object, PyObject* stream) noexcept {
  PyObject* const earlier = tensor_in(object).stream_object;
  PyObject* named = nullptr;
  if (!read_queue(stream, tensor_in(object).view.device(), named) ||
      (named != nullptr && !order_queues(named, earlier))) {
    return ref();
  }
  ref tensor = share_memory(object);
  if (tensor) {
    set_queue(tensor_in(tensor.get()), ref::borrow(named != nullptr ? named : earlier));
  }
  return tensor;
}

// The same in memory on which streams of CUDA or ROCm work. The new Tensor is ready on the stream
// that stream= names, which then waits for that of the other one: no other stream does. Without
// stream= that is the default stream; pinned memory, which has none, is then ready for the host.
DLBRIDGE_COLD inline ref share_on_stream(PyObject* object, PyObject* stream) noexcept {
  tensor_object& self = tensor_in(object);
  device const where = self.view.device();
  bool const is_named = stream != nullptr && stream != Py_None;
  bool const is_for_host = !is_named && runtime_of(where) == runtime_kind::none;
  stream_ref ready = stream_ref::default_of(where);
  std::int64_t value = 0;
  if (!choose_stream(stream, stream_device(where), ready, &value)) {
    return ref();
  }
  bool const is_ordered = !is_named || value != -1;
  if (!(is_for_host ? wait_until_ready(self)
                    : !is_ordered || succeeded(python::try_order_after(ready, self.ready_on())))) {
    return ref();
  }
  ref tensor = share_memory(object);
  if (tensor && !is_for_host) {
    be_ready_on(tensor_in(tensor.get()), ready, stream);
  }
  return tensor;
}

// stream: the stream= argument of the caller, or null.
DLBRIDGE_COLD inline ref share_on_device(PyObject* object, PyObject* stream) noexcept {
  device const where = tensor_in(object).view.device();
  return runtime_of_memory(where) != runtime_kind::none ? share_on_stream(object, stream)
                                                        : share_on_queue(object, stream);
}
inline PyObject* share_imported(PyObject* object, PyObject* readonly, PyObject* stream) noexcept {
  bool const is_on_cpu = tensor_in(object).view.device().type == kDLCPU;
  return apply_readonly(is_on_cpu ? share_memory(object) : share_on_device(object, stream),
                        readonly);
}

// The order of the dimensions in which NumPy copies an array, by their strides; layout::strided if
// it is neither of the usual two.
inline layout order_in_memory(tensor_view const& view) noexcept {
  bool falls = true;
  bool rises = true;
  for (int i = 1; i < view.rank(); ++i) {
    std::int64_t const outer = std::abs(view.stride(i - 1));
    std::int64_t const inner = std::abs(view.stride(i));
    falls = falls && outer >= inner;
    rises = rises && outer < inner;
  }
  return falls || view.is_row_major()      ? layout::row_major
         : rises || view.is_column_major() ? layout::column_major
                                           : layout::strided;
}

// A copy of an ndarray as its __dlpack__ makes it. Returns an empty reference, with or without an
// exception, where __dlpack__ is to be called: also for a derived class, which may have a
// __dlpack_device__ of its own, to be called before a request for a copy.
inline ref copy_of_array(type_entry const& entry, PyObject* array) noexcept {
  DLTensor fields;
  copied_dims dims;
  std::uint64_t flags = 0;
  if (!entry.reads_fields || !can_read_fields(entry, array) ||
      !read_ndarray(array, fields, dims, flags) || !is_sound_ndarray(fields)) {
    return ref();
  }
  tensor_view const view(fields, flags);
  layout const order = order_in_memory(view);
  if (view.empty() || order == layout::strided) {
    return ref();
  }
  managed_tensor copy;
  ref const kept = ref::borrow(array);  // NumPy resizes no array that has another reference
  guarded([&] { copy = copy_without_gil(view, order); });
  if (copy) {
    state_ndarray_version(copy);
  }
  return wrap_tensor(std::move(copy));
}

// A copy of a Tensor on the host, as its __dlpack__ makes it. Returns an empty reference, with or
// without an exception, where __dlpack__ is to be called.
inline ref copy_of_tensor(PyObject* object) noexcept {
  tensor_view const& view = tensor_in(object).view;
  if (!is_host_accessible(view.device()) ||
      runtime_of_memory(view.device()) != runtime_kind::none) {
    return ref();
  }
  managed_tensor copy;
  ref const kept = ref::borrow(object);
  guarded([&] { copy = copy_without_gil(view); });
  return wrap_tensor(std::move(copy));
}

// The import without keywords of an ndarray, of a Tensor, and of an object whose type has an
// exchange table. Returns an empty reference, with or without an exception, where from_dlpack_with
// decides. must_call_dlpack: set where that is to call __dlpack__, as no other way is left.
DLBRIDGE_INLINE ref import_plainly(PyObject* object, bool& must_call_dlpack) noexcept {
#if defined(Py_GIL_DISABLED)
  // A look-up of the type counts references to its attributes, for which threads would wait.
  if (is_tensor(object) && !uses_protocol_only()) {
    return ref::steal(share_imported(object, Py_None, nullptr));
  }
#endif
  type_entry const* const type = type_cache::get_cached(Py_TYPE(object));
  if (type == nullptr) {
    return ref();
  }
  must_call_dlpack = true;
  if (type->reads_fields || type->array_base != nullptr) {
    return import_array(*type, object);
  }
  if (is_tensor(object)) {
    return ref::steal(share_imported(object, Py_None, nullptr));
  }
  if (!type->defines_table) {
    return ref();
  }
  stream_ref ready = stream_ref::default_of(cpu);
  bool const is_fixed = !type->tests;  // PyTorch changes what it exported
  managed_tensor m = consume_by_table(*type, object, nullptr, ready);
  PyTypeObject* const result = m ? tensor_type() : nullptr;
  ref tensor = result == nullptr ? ref()
               : is_fixed        ? new_tensor_of_fixed(result, std::move(m))
                                 : new_tensor(result, std::move(m));
  if (tensor && runtime_of(ready.device()) != runtime_kind::none) {
    set_ready(tensor_in(tensor.get()), ready, nullptr);
  }
  return tensor;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

// import_directly: imports an ndarray or a Tensor without a call of its producer, and other objects
// by their exchange table.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

#include "sycl_queues.hpp"
#include "tensor/long_copy.hpp"
#include "tensor/tensor_streams.hpp"

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The keyword arguments of from_dlpack and as_tensor.
struct import_arguments {
  import_request request{};
  PyObject* readonly = nullptr;  // True, False or null
  PyObject* producer = nullptr;  // borrowed: the object to import, for the queue that it has
  stream_ref ready = stream_ref::default_of(cpu);  // set by the import: where elements are ready
};

// Applies readonly= to a new Tensor, and device=: where that names the CPU, so does the Tensor, by
// ordinal 0, whatever the ordinal of the producer.
DLBRIDGE_INLINE ref apply(import_request const& request, PyObject* readonly, ref tensor) noexcept {
  if (!tensor) {
    return tensor;
  }
  tensor_view& view = tensor_in(tensor.get()).view;
  if (request.has_target && request.target == cpu) {
    view = view.device().type == kDLCPU ? view.on_device(cpu) : view;
  }
  if (readonly != nullptr) {
    view = view.with_flags(readonly == Py_True ? view.flags() | flag_read_only
                                               : view.flags() & ~flag_read_only);
  }
  return tensor;
}

// A Tensor of the result of an import; empty, with an exception set, if that failed.
DLBRIDGE_INLINE ref try_wrap_imported(managed_tensor m,
                                      import_arguments const& arguments) noexcept {
  ref tensor = m ? wrap_tensor(std::move(m)) : ref();
  if (tensor && runtime_of(arguments.ready.device()) != runtime_kind::none) {
    be_ready_on(tensor_in(tensor.get()), arguments.ready, arguments.request.stream);
  }
  if (tensor && has_queues(tensor_in(tensor.get()).view.device())) {
    set_queue(tensor_in(tensor.get()), queue_of(arguments.producer, arguments.request.stream));
    tensor = PyErr_Occurred() == nullptr ? std::move(tensor) : ref();
  }
  return apply(arguments.request, arguments.readonly, std::move(tensor));
}

// Whether the result can share the owner of a Tensor. The protocol would make a new owner that
// holds the previous one, repeated imports a chain of them, and no record of the streams that use
// the memory.
inline bool can_share(PyObject* object, import_request const& request) noexcept {
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
DLBRIDGE_INLINE ref share_imported(PyObject* object, PyObject* stream) noexcept {
  bool const is_on_cpu = tensor_in(object).view.device().type == kDLCPU;
  return is_on_cpu ? share_memory(object) : share_on_device(object, stream);
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
  if (!entry.is_ndarray() || !can_read_fields(entry, array) ||
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

/// Imports without a call of `__dlpack__`: from the fields of an ndarray, of which the first export
/// creates a managed tensor; by the owner of a Tensor; or by the exchange table of the type.
/// @return the Tensor; empty, with or without an exception, where import_managed decides.
/// @par Thread and GIL
/// The caller holds the GIL. Free-threaded builds do not read the fields, as the first export would
/// change the Tensor while other threads read it.
DLBRIDGE_INLINE ref import_directly(PyObject* object, import_request const& request,
                                    PyObject* readonly) noexcept {
  // First: a look-up of the type counts references, for which threads without the GIL would wait.
  if (can_share(object, request)) {
    return apply(request, readonly, share_imported(object, request.stream));
  }
  if (request.has_target || request.copy == copy_policy::never) {
    return ref();
  }
  type_entry const& type = type_cache::get(Py_TYPE(object));
  if (request.copy == copy_policy::always) {
    return apply(request, readonly,
                 is_tensor(object) ? copy_of_tensor(object) : copy_of_array(type, object));
  }
#if !defined(Py_GIL_DISABLED)
  if (type.array_type != nullptr) {
    PyTypeObject* const result = can_read_fields(type, object) ? tensor_type() : nullptr;
    return apply(request, readonly,
                 result != nullptr ? new_tensor_on_array(result, object) : ref());
  }
#endif
  import_arguments done{request, readonly, object};
  managed_tensor m = import_by_table(type, object, request.stream, done.ready);
  return m ? try_wrap_imported(std::move(m), done) : ref();
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

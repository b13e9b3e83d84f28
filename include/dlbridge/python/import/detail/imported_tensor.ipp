// The bodies of imported_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/exchange_table.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/work_stream.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API imported_tensor::imported_tensor(imported_tensor&& other) noexcept
    : tensor_(other.tensor_),
      flags_(other.flags_),
      owned_(std::move(other.owned_)),
      dims_(other.dims_),
      calls_python_(other.calls_python_) {
  if (tensor_.shape == other.dims_.shape) {
    tensor_.shape = dims_.shape;
    tensor_.strides = tensor_.strides != nullptr ? dims_.strides : nullptr;
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool imported_tensor::borrow_again(
    PyObject* object, import_mode mode, requirement const& need) noexcept {
  // Looks the type up again if the type of another argument replaced its entry.
  static_cast<void>(type_cache::get(Py_TYPE(object)));
  if (try_borrow_fast(object, need)) {
    return true;
  }
  if (PyErr_Occurred() != nullptr) {
    return false;
  }
  bool const is_lent = import_by_table(object, mode) ||
                       (PyErr_Occurred() == nullptr && import_ndarray(object, mode));
  return is_lent && meets(view(), need) && make_ready(object, need.where);
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool imported_tensor::is_current(PyObject* object,
                                                                bool to_write) noexcept {
  type_entry const& type = type_cache::get(Py_TYPE(object));
  if (type.has_head || view().is_copied()) {
    return true;
  }
  imported_tensor now;
  now.flags_ = 0;
  if (type.has_table && type.exchange.can_lend()) {
    return type.exchange.try_lend(object, now.tensor_)
               ? detail::has_same_elements(now.view(), view())
               : calls_python_ != 0 && suppress_exception();  // as at the import
  }
  bool const is_buffer = type.dlpack == nullptr && PyObject_CheckBuffer(object) != 0;
  if (!is_buffer && !detail::exports_fields(type, object)) {
    return PyErr_Occurred() == nullptr;
  }
  bool const is_described = !is_buffer && now.describe_ndarray(object);
  if (PyErr_Occurred() != nullptr ||
      !(is_described ||
        now.own(is_buffer ? from_buffer(object) : detail::import_producer(object)))) {
    return false;
  }
  return (!to_write || !now.view().read_only()) && detail::has_same_elements(now.view(), view());
}

DLBRIDGE_API void imported_tensor::replace(managed_tensor other) noexcept {
  free_owned();
  own(std::move(other));
}

DLBRIDGE_NOINLINE DLBRIDGE_API void imported_tensor::free_owned() noexcept {
  require_thread_state();
  error_keeper const pending;  // an exception may be pending while a foreign deleter runs
  owned_ = managed_tensor();
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool imported_tensor::describe_ndarray(PyObject* object) noexcept {
  return detail::can_read_fields(type_cache::get(Py_TYPE(object)), object) &&
         detail::read_ndarray(object, tensor_, dims_, flags_) && detail::is_sound_ndarray(tensor_);
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool imported_tensor::wait_for_elements(PyObject* object) noexcept {
  device const own(tensor_.device);
  if (runtime_of(own) == runtime_kind::none || !is_host_accessible(own)) {
    return true;
  }
  if (device_operations::get().host_wait == nullptr) {
    managed_tensor for_host = detail::import_to_host(object, own);
    if (for_host) {
      replace(std::move(for_host));
    }
    return PyErr_Occurred() == nullptr;
  }
  stream_ref const ready =
      work_stream_of(object, type_cache::get_copy(Py_TYPE(object)).exchange, own);
  return PyErr_Occurred() == nullptr && succeeded(python::try_host_wait(ready));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

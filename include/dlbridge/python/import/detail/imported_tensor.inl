// The inline bodies of imported_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/check.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/block_pool.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/imported_tensor.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/torch_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
imported_tensor::~imported_tensor() {
  if (owned_) {
    free_owned();
  }
}

inline bool imported_tensor::import_object(PyObject* object, import_mode mode,
                                           device_filter where) noexcept {
  calls_python_ = 0;
  // try_borrow_fast may have left an exception.
  bool is_imported = PyErr_Occurred() == nullptr && import_by_table(object, mode);
  if (!is_imported && PyErr_Occurred() == nullptr) {
    is_imported = import_ndarray(object, mode);
  }
  if (!is_imported && PyErr_Occurred() == nullptr) {
    calls_python_ = 1;
    is_imported = own(detail::import_producer(object));
  }
  return is_imported && make_ready(object, where);
}

bool imported_tensor::try_borrow_fast(PyObject* object, requirement const& need) noexcept {
  type_entry const* const type = type_cache::find(Py_TYPE(object));
  if (type == nullptr) {
    return false;
  }
  if (type->has_head) {
    tensor_view const& view = detail::view_of_tensor(object);
    return meets(view, need) && view.device().type == kDLCPU && describe_by(view);
  }
  if (type->is_ndarray()) {
    return detail::can_read_ndarrays(Py_TYPE(object)) &&
           detail::read_ndarray(object, tensor_, dims_, flags_) &&
           (!need.writable || flags_ == 0) && dlbridge::detail::fits_fast_path(tensor_, need);
  }
  if (!type->has_table || (need.writable && !type->is_torch) || !type->exchange.can_lend()) {
    return false;
  }
  if (type->is_torch && !detail::is_torch_tested()) {
    return false;  // import_object tests it
  }
  flags_ = 0;
  bool const is_tested = static_cast<bool>(type->tests);
  if (!type->is_torch || !detail::read_torch_tensor(object, tensor_)) {
    if (need.writable) {
      return false;
    }
    if (!type->exchange.try_lend(object, tensor_)) {  // Python code may run, and replace the entry
      suppress_exception();                           // import_object calls __dlpack__
      return false;
    }
  }
  bool const is_taken =
      need.other_count == 0 ? !is_complex(need.type) : !is_complex(dtype(tensor_.dtype));
  bool const fits =
      is_taken && copy_dims() && dlbridge::detail::fits_fast_path(tensor_, need) &&
      detail::holds_its_values(tensor_, object, is_tested, detail::import_path::protocol);
  if (fits && need.writable && !detail::may_write(object)) {
    suppress_exception();  // import_object raises it again
    return false;
  }
  return fits;
}

bool imported_tensor::is_unchanged(PyObject* object) const noexcept {
  type_entry const* const type = type_cache::find(Py_TYPE(object));
  return type != nullptr && type->has_head && tensor_.device.device_type == kDLCPU;
}

bool imported_tensor::make_ready(PyObject* object, device_filter where) noexcept {
  return tensor_.device.device_type == kDLCPU || where.type != device_filter::host ||
         wait_for_elements(object);
}

inline managed_tensor imported_tensor::take_to_keep(PyObject* object) noexcept {
  type_entry const* const type = type_cache::find(Py_TYPE(object));
  bool const is_fixed =
      type != nullptr && (type->is_ndarray() || (type->has_table && !type->tests) ||
                          (type->known() != nullptr && type->known()->is_immutable));
  managed_tensor kept;
  if (owned_ && !is_fixed) {
    kept = dlbridge::detail::own_copied<detail::block_pool>(
        std::move(owned_), owned_.tensor(), owned_.flags(), version{stated_major, stated_minor});
  }
  return kept ? std::move(kept) : std::move(owned_);
}

bool imported_tensor::own(managed_tensor&& m) noexcept {
  owned_.swap(m);
  if (owned_) {
    tensor_ = owned_.tensor();
    flags_ = owned_.flags();
  }
  return static_cast<bool>(owned_);
}

bool imported_tensor::describe_by(tensor_view const& view) noexcept {
  tensor_ = view.to_dltensor();
  flags_ = view.flags();
  return true;
}

inline bool imported_tensor::import_by_table(PyObject* object, import_mode mode) noexcept {
  if (type_cache::get(Py_TYPE(object)).is_torch && !detail::is_torch_tested()) {
    detail::test_torch(type_cache::get(Py_TYPE(object)).exchange);
    if (PyErr_Occurred() != nullptr) {
      return false;
    }
  }
  type_entry const& type = type_cache::get(Py_TYPE(object));
  if (type.has_head) {
    tensor_view const& view = detail::view_of_tensor(object);
    bool const has_stream = runtime_of(view.device()) != runtime_kind::none;
    if (has_stream || (mode != import_mode::own && view.device().type == kDLCPU)) {
      describe_by(view);
      flags_ &= ~flag_is_copied;  // the caller's Tensor, which may own a copy
      return mode != import_mode::own;
    }
  }
  if (!type.has_table) {
    return false;
  }
  if (mode != import_mode::borrow_to_read || !type.exchange.can_lend()) {
    return own(detail::export_by_table(type, object, detail::import_path::protocol));
  }
  bool const is_tested = static_cast<bool>(type.tests);
  if (!type.exchange.try_lend(object, tensor_)) {  // Python code may run, and replace the entry
    suppress_exception();
    return false;
  }
  flags_ = 0;
  report const why = check_tensor(tensor_);
  if (!why.ok()) {
    set_error(why);
    return false;
  }
  return copy_dims() ? !is_complex(dtype(tensor_.dtype)) &&
                           detail::holds_its_values(tensor_, object, is_tested,
                                                    detail::import_path::protocol)
                     : import_by_table(object, import_mode::own);
}

inline bool imported_tensor::import_ndarray(PyObject* object, import_mode mode) noexcept {
  bool const is_lent = mode != import_mode::own;
  if ((is_lent && type_cache::find(Py_TYPE(object)) == nullptr) || !describe_ndarray(object)) {
    return false;
  }
  if (is_lent) {
    return mode == import_mode::borrow_to_read || flags_ == 0;
  }
  if (!own(detail::own_ndarray(object, tensor_, flags_, detail::version_of_ndarrays()))) {
    api<PyErr_NoMemory>();
  }
  return static_cast<bool>(owned_);
}

bool imported_tensor::copy_dims() noexcept {
  if (tensor_.ndim < 0 || tensor_.ndim > detail::direct_rank ||
      (tensor_.ndim > 0 && tensor_.shape == nullptr)) {
    return false;
  }
  dlbridge::detail::copy_extents(tensor_.shape, tensor_.ndim, dims_.shape);
  tensor_.shape = dims_.shape;
  if (tensor_.strides != nullptr) {
    dlbridge::detail::copy_extents(tensor_.strides, tensor_.ndim, dims_.strides);
    tensor_.strides = dims_.strides;
  }
  return true;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

// The bodies of origin.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include <dlbridge/exchange_table.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/python/call/detail/caller_scope.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/detail/work_stream.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API managed_tensor origin::allocate(dtype type, dims const& shape, device where,
                                             ref& object) const noexcept {
  managed_tensor result;
  if (object_ == nullptr) {
    set_error(dlbridge::detail::empty_owner());
    return result;
  }
  detail::path_to_library const path = detail::export_path_of(object_);
  if (PyErr_Occurred() != nullptr) {
    return result;
  }
  // Allocators read the extents unchecked.
  if (report const why = dlbridge::detail::check_extents(shape.size(), shape.data()); !why.ok()) {
    set_error(why);
    return result;
  }
  if (path.table && path.table.can_allocate()) {
    DLTensor prototype{};
    prototype.dtype = type.abi();
    prototype.device = where.abi();
    prototype.ndim = shape.size();
    prototype.shape = const_cast<std::int64_t*>(shape.data());
    report why;
    result = path.table.try_allocate(prototype, why);
    if (!why.ok()) {
      library_row const* const row = detail::find_library(Py_TYPE(object_));
      why.expected.append(", of ").append(name_of(type).c_str()).append(" for ");
      why.expected.append(row != nullptr ? row->root : detail::type_name(Py_TYPE(object_)).c_str());
      set_error(why);
    }
  } else if (path.row != nullptr && path.row->empty != nullptr) {
    if (detail::numpy_arrays const* const arrays = path.arrays()) {
      result = arrays->allocate(type, shape, object);
    }
    if (!result && PyErr_Occurred() == nullptr) {
      result = make_empty(*path.row, type, shape, object);
    }
  } else if (!is_host_accessible(where)) {
    report r = refusal(errc::device_mismatch, "an allocator for ",
                       detail::type_name(Py_TYPE(object_)).c_str(),
                       "For the author: take the result as an argument of its own");
    append_name(r.expected, where);
    set_error(r);
  } else {
    guarded([&] { result = build_empty(type, shape); });
  }
  return result;
}

DLBRIDGE_API origin& origin::operator=(origin other) noexcept {
  std::swap(object_, other.object_);
  std::swap(is_argument_, other.is_argument_);
  return *this;
}

DLBRIDGE_API ref origin::give(managed_tensor m, bool narrows) const noexcept {
  detail::path_to_library const path =
      object_ != nullptr ? detail::export_path_of(object_) : detail::path_to_library();
  if (PyErr_Occurred() != nullptr) {
    error_keeper const pending;
    m = managed_tensor();
    return ref();
  }
  if (!detail::accept_strides(path.is_torch(), m)) {
    return ref();
  }
  if (path.table) {
    ref object = detail::try_give_by_table(path.table, m);
    if (!object && m && path.row == nullptr && PyErr_ExceptionMatches(PyExc_BufferError) != 0) {
      api<PyErr_Clear>();  // a class refuses it, such as one that has another dtype
      return detail::give_stated(std::move(m), narrows);
    }
    error_keeper const pending;
    m = managed_tensor();
    return object;
  }
  return path.function ? detail::give_by_function(path, std::move(m), {std::nullopt, narrows})
                       : detail::give_stated(std::move(m), narrows);
}

DLBRIDGE_API ref detail::give_default(managed_tensor m, bool narrows) noexcept {
  ref const argument = caller_scope::current();
  return argument ? origin(argument.get()).give(std::move(m), narrows)
                  : give_stated(std::move(m), narrows);
}

DLBRIDGE_API ref origin::give_back(managed_tensor m, ref object, result_choice as) const noexcept {
  bool is_of = !as.which && object_ != nullptr;  // whether the object is of the library
  if (object_ != nullptr) {
    type_entry const& type = type_cache::get(Py_TYPE(object_));
    // A capsule, a number and a buffer have no __dlpack__; a copy is other memory.
    if (is_argument_ && type.dlpack != nullptr && m && !m.view().is_copied()) {
      object = ref::borrow(object_);
    }
    is_of = is_of || (as.which == library::dlbridge && type.has_head);
  }
  if (object && !is_of) {
    library_row const* const row = detail::export_path_of(object_).row;
    is_of = row != nullptr && row->which == as.which;
  }
  if (PyErr_Occurred() == nullptr && !(object && is_of)) {
    return as.which ? detail::give_as(*as.which, std::move(m), as.narrows)
                    : give(std::move(m), as.narrows);
  }
  error_keeper const pending;
  m = managed_tensor();
  return is_of ? std::move(object) : ref();
}

DLBRIDGE_API stream_ref origin::stream(device where) const {
  if (runtime_of(where) == runtime_kind::none || object_ == nullptr) {
    return stream_ref::default_of(where);
  }
  stream_ref const result =
      work_stream_of(object_, type_cache::get_copy(Py_TYPE(object_)).exchange, where);
  if (PyErr_Occurred() != nullptr) {
    throw python_error();
  }
  return result;
}

DLBRIDGE_API managed_tensor origin::make_empty(library_row const& row, dtype type,
                                               dims const& shape, ref& object) const noexcept {
  ref const function = detail::import_function(row.module, row.empty);
  ref const extents = function ? ref::steal(api<PyTuple_New>(shape.size())) : ref();
  for (int i = 0; extents && i < shape.size(); ++i) {
    PyObject* const extent = PyLong_FromLongLong(shape[i]);
    if (extent == nullptr) {
      return managed_tensor();
    }
    detail::set_tuple_item(extents.get(), i, extent);
  }
  ref const name = extents ? ref::steal(api<PyUnicode_FromString>(name_of(type).c_str())) : ref();
  if (!name) {
    return managed_tensor();
  }
  object = ref::steal(
      api<PyObject_CallFunctionObjArgs>(function.get(), extents.get(), name.get(), nullptr));
  return object ? detail::import_producer(object.get()) : managed_tensor();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

// The inline bodies of origin.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/host_memory.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
inline managed_tensor origin::allocate(dtype type, dims const& shape, device where,
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
      why.expected.append(row != nullptr ? row->root : Py_TYPE(object_)->tp_name);
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
    report r = refusal(errc::device_mismatch, "an allocator for ", Py_TYPE(object_)->tp_name,
                       "For the author: take the result as an argument of its own");
    append_name(r.expected, where);
    set_error(r);
  } else {
    guarded([&] { result = build_empty(type, shape); });
  }
  return result;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE

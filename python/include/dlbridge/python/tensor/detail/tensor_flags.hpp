// flags_of: the flags of a Tensor, an int with the names of NumPy's flags as attributes and keys.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/check.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_views.hpp>
#include <dlbridge/view.hpp>

namespace core DLBRIDGE_LOCAL {
// The bits of ndarray.flags.num of an array on the memory of a Tensor, as _flags.py names them.
inline int array_bits(tensor_view const& view) noexcept {
  return (view.is_row_major() ? 0x1 : 0) | (view.is_column_major() ? 0x2 : 0) |
         (is_aligned(view, view.dtype()) ? 0x100 : 0) | (view.read_only() ? 0 : 0x400);
}

DLBRIDGE_LOCAL inline ref flags_of(PyObject* self, void*) {
  static lazy_object type;
  tensor_view const& view = tensor_in(self).view;
  PyObject* const known =
      type.get([]() noexcept { return import_function("dlbridge._flags", "flags"); });
  require(known != nullptr);
  ref const arguments = checked(
      api<Py_BuildValue>("(Ki)", static_cast<unsigned long long>(view.flags()), array_bits(view)));
  return checked(api<PyObject_CallObject>(known, arguments.get()));
}
}  // namespace core DLBRIDGE_LOCAL

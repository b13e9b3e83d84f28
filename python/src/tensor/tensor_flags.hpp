// flags_of: the flags of a Tensor, an int with the names of NumPy's flags as attributes and keys.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/check.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "tensor/tensor_views.hpp"

namespace core DLBRIDGE_LOCAL {
// The bits of ndarray.flags.num of an array on the memory of a Tensor, as _flags.py names them.
inline int array_bits(tensor_view const& view) noexcept {
  return (view.is_row_major() ? 0x1 : 0) | (view.is_column_major() ? 0x2 : 0) |
         (is_aligned(view, view.dtype()) ? 0x100 : 0) | (view.read_only() ? 0 : 0x400);
}

DLBRIDGE_COLD inline ref make_flags(std::uint64_t flags, int bits) noexcept {
  ref const type = import_function("dlbridge._flags", "flags");
  ref const arguments =
      type ? ref::steal(api<Py_BuildValue>("(Ki)", static_cast<unsigned long long>(flags), bits))
           : ref();
  return arguments ? ref::steal(api<PyObject_CallObject>(type.get(), arguments.get())) : ref();
}

// The objects are immutable: one for each combination of the flags that DLPack defines is kept.
DLBRIDGE_LOCAL inline ref flags_of(PyObject* self, void*) {
  static lazy_object known[64];
  tensor_view const& view = tensor_in(self).view;
  std::uint64_t const flags = view.flags();
  int const bits = array_bits(view);
  if (flags > 7) {
    return make_flags(flags, bits);
  }
  std::size_t const index = flags | (bits & 3) << 3 | (bits & 0x100) >> 3;
  return ref::borrow(known[index].get([&]() noexcept { return make_flags(flags, bits); }));
}
}  // namespace core DLBRIDGE_LOCAL

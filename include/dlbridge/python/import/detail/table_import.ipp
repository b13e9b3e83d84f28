// The bodies of table_import.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_NOINLINE DLBRIDGE_API bool has_odd_stride(int rank, std::int64_t const* shape,
                                                   std::int64_t const* strides) noexcept {
  for (int i = strides != nullptr ? rank : 0; i > 0; --i) {
    if (strides[i - 1] % 2 != 0 && shape[i - 1] != 1) {
      return true;
    }
  }
  return false;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool order_by_table(exchange_table table, device where,
                                                   PyObject* stream, stream_ref& ready) noexcept {
  stream_ref working = stream_ref::default_of(where);
  std::int64_t named = 0;
  if (runtime_of(where) == runtime_kind::none || !table.has_work_stream() ||
      device_operations::get().order_after == nullptr ||
      !choose_stream(stream, where, ready, &named)) {
    return false;
  }
  bool const is_ordered = named == -1 ||  // by the caller
                          (table.try_work_stream(where, working) &&
                           guarded([&] { python::order_after(ready, working); }));
  if (!is_ordered) {
    suppress_exception();
  }
  return is_ordered;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

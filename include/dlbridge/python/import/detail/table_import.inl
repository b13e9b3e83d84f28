// The inline bodies of table_import.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Whether a stride is odd. Strides of extents of 1 have no meaning. Out of line and by value, so
// that compilers keep the fields in registers.
bool has_odd_stride(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept;

// Orders a stream after the one on which a library works, as __dlpack__ of the library would: the
// stream that the caller named, or the default one. Returns false, with or without an exception,
// where that is not possible: the producer orders the streams itself, or states the reason.
DLBRIDGE_COLD bool order_by_table(exchange_table table, device where, PyObject* stream,
                                  stream_ref& ready) noexcept;

bool holds_its_values(DLTensor const& t, PyObject* object, bool is_tested,
                      import_path path) noexcept {
  return !is_tested ||
         (path == import_path::protocol && has_odd_stride(t.ndim, t.shape, t.strides)) ||
         may_import(object, path);
}

managed_tensor export_by_table(type_entry const& type, PyObject* object,
                               import_path path) noexcept {
  if (!type.exchange.can_export()) {
    return managed_tensor();
  }
  bool const is_tested = static_cast<bool>(type.tests);
  report why;
  managed_tensor tensor = type.exchange.try_export(object, why);
  if (!why.ok()) {
    set_error(why);
  } else if (!tensor) {
    suppress_exception();
  } else if (is_complex(dtype(tensor.tensor().dtype)) ||
             !holds_its_values(tensor.tensor(), object, is_tested, path)) {
    error_keeper const pending;
    tensor = managed_tensor();
  }
  return tensor;
}

managed_tensor import_by_table(type_entry const& type, PyObject* object, PyObject* stream,
                               stream_ref& ready) noexcept {
  if (!type.defines_table) {
    return managed_tensor();
  }
  exchange_table const table = type.exchange;
  managed_tensor tensor = export_by_table(type, object, import_path::table);
  device const where = tensor ? device(tensor.tensor().device) : cpu;
  if (where != cpu && !order_by_table(table, where, stream, ready)) {
    error_keeper const pending;
    tensor = managed_tensor();
  }
  return tensor;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

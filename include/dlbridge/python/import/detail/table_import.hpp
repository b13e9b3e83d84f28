// export_by_table, import_by_table: import the tensor of an object by the exchange table of its
// type, with the result that its __dlpack__ would have.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/stream_ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Whether a stride is odd. Strides of extents of 1 have no meaning. Out of line and by value, so
// that compilers keep the fields in registers.
DLBRIDGE_NOINLINE inline bool has_odd_stride(int rank, std::int64_t const* shape,
                                             std::int64_t const* strides) noexcept {
  for (int i = strides != nullptr ? rank : 0; i > 0; --i) {
    if (strides[i - 1] % 2 != 0 && shape[i - 1] != 1) {
      return true;
    }
  }
  return false;
}

/// Whether a tensor that a table describes has the values that the object states. If not, an
/// exception may be set, as by pass_tests. torch negates lazily only imaginary parts, which are
/// every second number of their memory, so that all their strides are even: `__dlpack__` of other
/// tensors is not tested.
/// @param is_tested whether the type of the object has properties
DLBRIDGE_INLINE bool holds_its_values(DLTensor const& t, PyObject* object, bool is_tested,
                                      import_path path) noexcept {
  return !is_tested ||
         (path == import_path::protocol && has_odd_stride(t.ndim, t.shape, t.strides)) ||
         may_import(object, path);
}

/// Exports the tensor of an object by the exchange table of its type, which exists.
/// @return the tensor. Empty with an exception set for one that is malformed, or that pass_tests
///   refuses. Empty without one where `__dlpack__` is to be called: its exception states why the
///   table refuses; pass_tests requires it; torch's table exports conjugated views, which are
///   complex, as if they were not conjugated.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run, after which the entry is not valid.
inline managed_tensor export_by_table(type_entry const& type, PyObject* object,
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

// Orders a stream after the one on which a library works, as __dlpack__ of the library would: the
// stream that the caller named, or the default one. Returns false, with or without an exception,
// where that is not possible: the producer orders the streams itself, or states the reason.
DLBRIDGE_COLD inline bool order_by_table(exchange_table table, device where, PyObject* stream,
                                         stream_ref& ready) noexcept {
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

/// As import_tensor() by the exchange table of a type.
/// @param type the entry of that type.
/// @param stream the value of stream=, or null.
/// @param[out] ready as for consume; unchanged for memory without streams.
/// @return as export_by_table; also empty without an exception if the type inherits its table, and
///   if the streams of the device cannot be ordered; and with one for a wrong stream.
/// @par Thread and GIL
/// As export_by_table.
DLBRIDGE_INLINE managed_tensor import_by_table(type_entry const& type, PyObject* object,
                                               PyObject* stream, stream_ref& ready) noexcept {
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
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

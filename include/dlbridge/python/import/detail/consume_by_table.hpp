// consume_by_table: imports the tensor of an object by the exchange table of its type, with the
// result that its __dlpack__ would have.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/property_tests.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Orders a stream after the one on which a library works, as __dlpack__ of the library would: the
// stream that the caller named, or the default one. Returns false, with or without an exception,
// where that is not possible.
DLBRIDGE_COLD inline bool order_by_table(exchange_table table, device where, PyObject* stream,
                                         stream_ref& ready) noexcept {
  stream_ref working = stream_ref::default_of(where);
  std::int64_t named = 0;
  if (runtime_of(where) == runtime_kind::none || !table.has_work_stream() ||
      device_operations::get().order_after == nullptr ||
      !choose_stream(stream, where, ready, &named)) {
    return false;
  }
  if (named == -1) {  // the caller orders the streams
    return true;
  }
  if (!table.try_work_stream(where, working)) {
    suppress_exception();
    return false;
  }
  if (guarded([&] { python::order_after(ready, working); })) {
    return true;
  }
  suppress_exception();  // the producer orders the streams itself, or states the reason
  return false;
}

// Explains why a table returned no tensor: why, or the exception of the library, which is cleared,
// as that of __dlpack__ states the reason.
DLBRIDGE_COLD inline managed_tensor refuse_export(report const& why) noexcept {
  if (!why.ok()) {
    set_error(why);
  } else {
    suppress_exception();
  }
  return managed_tensor();
}

/// As consume() by the exchange table of the type.
/// @param type the entry of that type.
/// @param stream the value of stream=, or null.
/// @param[out] ready as for consume; unchanged for memory without streams.
/// @return the tensor. Empty with an exception set, for a tensor that is malformed, or a wrong
///   stream. Empty without one where `__dlpack__` is to be called: the type has no table of its
///   own; `__dlpack__` refuses what the table exports (property_tests.hpp); the table refuses, and
///   the exception of `__dlpack__` states the reason; the tensor is complex, as torch's table
///   exports conjugated views as if they were not conjugated; the streams of the device cannot be
///   ordered.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
DLBRIDGE_INLINE managed_tensor consume_by_table(type_entry const& type, PyObject* object,
                                                PyObject* stream, stream_ref& ready) noexcept {
  if (!type.defines_table || !type.exchange.can_export()) {
    return managed_tensor();
  }
  exchange_table const table = type.exchange;  // the entry is not valid once Python code has run
  bool const is_tested = static_cast<bool>(type.tests);
  report why;
  managed_tensor tensor = table.try_export(object, why);
  if (!tensor) {
    return refuse_export(why);
  }
  device const where(tensor.tensor().device);
  bool const serves =
      !is_complex(dtype(tensor.tensor().dtype)) &&
      (!is_tested || run_tests(object, import_path::table) == test_outcome::table) &&
      (where == cpu || order_by_table(table, where, stream, ready));
  if (!serves) {
    error_keeper const pending;
    tensor = managed_tensor();
  }
  return tensor;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

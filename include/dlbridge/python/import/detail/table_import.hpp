// export_by_table, import_by_table: import the tensor of an object by the exchange table of its
// type, with the result that its __dlpack__ would have.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/device.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_entry.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// Whether a tensor that a table describes has the values that the object states. If not, an
/// exception may be set, as by pass_tests. torch negates lazily only imaginary parts, which are
/// every second number of their memory, so that all their strides are even: `__dlpack__` of other
/// tensors is not tested.
/// @param is_tested whether the type of the object has properties
DLBRIDGE_INLINE bool holds_its_values(DLTensor const& t, PyObject* object, bool is_tested,
                                      import_path path) noexcept;

/// Exports the tensor of an object by the exchange table of its type, which exists.
/// @return the tensor. Empty with an exception set for one that is malformed, or that pass_tests
///   refuses. Empty without one where `__dlpack__` is to be called: its exception states why the
///   table refuses; pass_tests requires it; torch's table exports conjugated views, which are
///   complex, as if they were not conjugated.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run, after which the entry is not valid.
inline managed_tensor export_by_table(type_entry const& type, PyObject* object,
                                      import_path path) noexcept;

/// As import_tensor() by the exchange table of a type.
/// @param type the entry of that type.
/// @param stream the value of stream=, or null.
/// @param[out] ready as for import_tensor; unchanged for memory without streams.
/// @return as export_by_table; also empty without an exception if the type inherits its table, and
///   if the streams of the device cannot be ordered; and with one for a wrong stream.
/// @par Thread and GIL
/// As export_by_table.
DLBRIDGE_INLINE managed_tensor import_by_table(type_entry const& type, PyObject* object,
                                               PyObject* stream, stream_ref& ready) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/import/detail/table_import.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/table_import.ipp>
#endif

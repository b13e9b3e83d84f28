// from_buffer, from_array_interface: import memory by the buffer protocol or an array interface.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/import/detail/type_entry.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// A shape, and strides in bytes.
struct byte_layout {
  int rank = 0;
  std::int64_t shape[max_rank];
  std::int64_t strides[max_rank];
};

// Converts the strides to elements. A stride that leads to no second element is not checked, and
// becomes 1. False, with an exception set, when another one is not a multiple of the item size.
bool to_elements(byte_layout& from, std::int64_t item_bytes) noexcept;

// A tensor that owns a reference to a Python object; empty, with an exception set, on failure.
managed_tensor build_on_object(ref owner, description const& d) noexcept;

// Reads at most 64 integers of a sequence; returns false, with or without an exception set, for
// other values, such as sets, which have no order. It reads a copy, as the __index__ of an item may
// modify a list.
bool read_integers(PyObject* sequence, std::int64_t* out, int& count) noexcept;

DLBRIDGE_COLD managed_tensor refuse_interface(PyObject* value, char const* name,
                                              char const* expected) noexcept;
}  // namespace detail

/// A tensor on the memory of an object with the buffer protocol; read-only where the buffer is.
/// @return the tensor; empty on failure, with the exporter's own exception set, or that of
///   dtype_mismatch (structures, foreign byte order), layout_mismatch (strides that are no multiple
///   of the item size, indirect buffers), or as managed_tensor::steal.
/// @par Ownership
/// The tensor keeps the buffer exported.
/// @pre The caller holds the GIL.
managed_tensor from_buffer(PyObject* exporter) noexcept;

/// A tensor on memory that an array interface describes.
/// @param object the object.
/// @param described object.`__array_interface__`, or object.`__cuda_array_interface__` (3).
/// @param where the device of the memory.
/// @return the tensor; empty on failure, with an exception set as by from_buffer, or that of
///   malformed.
/// @par Ownership
/// The tensor holds a reference to the object.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD managed_tensor from_array_interface(PyObject* object, PyObject* described,
                                                  device where) noexcept;

namespace detail {
// Whether the buffer of an object has its elements. False, with an exception set, for a date or a
// duration of NumPy: such a scalar exports its bytes as a buffer, and only its array interface
// states what they are. False too with what its look-up raises.
bool may_read_buffer(PyObject* object) noexcept;

// Imports an ndarray that NumPy does not export by its array interface: one of a dtype of
// ml_dtypes, and a read-only one before NumPy 2.1. Refuses others with the reason, of which the
// pending exception of NumPy is the cause. That exception stays if the object is no such array.
// @param copies whether to import a copy, which NumPy makes
DLBRIDGE_COLD managed_tensor own_refused_ndarray(type_entry const& type, PyObject* object,
                                                 bool copies) noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/buffers.ipp>
#endif

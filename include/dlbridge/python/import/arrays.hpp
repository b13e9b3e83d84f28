// from_array_method, from_arrow: import an object by its __array__, or by Arrow's PyCapsule
// interface.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Whether the class of an object has `__array_interface__` or `__array__`. Runs no Python code.
bool has_array_method(PyObject* object) noexcept;
/// Whether the class has `__arrow_c_array__` or `__arrow_c_stream__`. Runs no Python code.
bool has_arrow(PyObject* object) noexcept;

/// A read-only tensor of the array that an object describes by `__array_interface__`, or else of
/// the ndarray that its `__array__` returns, which may be a copy.
/// @return the tensor; empty on failure, with the object's own exception set, or that of
///   from_array_interface or import_tensor.
/// @par Ownership
/// The tensor owns the ndarray, or a reference to the object.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs.
DLBRIDGE_COLD managed_tensor from_array_method(PyObject* object) noexcept;

/// A read-only tensor of rank 1 on the memory of an Arrow array, of the one chunk of a stream, or
/// of the one column of a table; of a column with a dtype of NumPy, such as a pandas.Series, on the
/// memory of its array, as from_array_method.
/// @return the tensor; empty on failure, with the object's own exception set, or that of
///   dtype_mismatch (other elements than integers and floats), layout_mismatch (nulls, several
///   chunks or columns, an object whose `ndim` is not 1), producer_failed (the stream), malformed.
/// @par Ownership
/// The tensor owns the Arrow array, whose release callback its deleter calls with the GIL.
/// @par Thread and GIL
/// The caller holds the GIL, which the function releases while a stream makes its chunks.
DLBRIDGE_COLD managed_tensor from_arrow(PyObject* object) noexcept;

/// Replaces the pending refusal of an object by that of from_arrow, which has a remedy for an array
/// with nulls or of bits; the former one is its cause. Other exceptions stay.
/// @par Thread and GIL
/// The caller holds the GIL. Python code runs.
DLBRIDGE_COLD void explain_by_arrow(PyObject* object) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/arrays.ipp>
#endif

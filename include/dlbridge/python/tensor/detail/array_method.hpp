// array_method, get_buffer: __array__ and the buffer of a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Py_bf_getbuffer and Py_bf_releasebuffer of Tensor.
int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept;
inline void free_buffer(PyObject*, Py_buffer* buffer) noexcept { release_buffer(buffer); }

// The dtype of ml_dtypes for a dtype that NumPy lacks. Empty, with BufferError set, if there is
// none.
ref dtype_of_ml_dtypes(tensor_view const& view) noexcept;

// A NumPy array on the memory of a Tensor. The dtypes that NumPy lacks, such as bfloat16, are those
// of ml_dtypes.
DLBRIDGE_COLD ref to_numpy(PyObject* object, PyObject* numpy) noexcept;

// __array__(dtype=None, copy=None) of a Tensor. It refuses copy=False where the dtype changes;
// numpy.array takes that as a wish before NumPy 2.
DLBRIDGE_COLD PyObject* array_method(PyObject* object, PyObject* arguments,
                                     PyObject* keywords) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/tensor/detail/array_method.ipp>
#endif

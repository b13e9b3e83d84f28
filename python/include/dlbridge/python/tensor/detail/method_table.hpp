// tensor_methods: lists the methods of the package's Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_copies.hpp>
#include <dlbridge/python/tensor/detail/tensor_numpy.hpp>
#include <dlbridge/python/tensor/detail/tensor_pickle.hpp>
#include <dlbridge/python/tensor/detail/tensor_shapes.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>
#include <dlbridge/python/tensor/detail/tensor_text.hpp>
#include <dlbridge/python/tensor/detail/tensor_values.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

namespace core DLBRIDGE_LOCAL {
/// The table for Py_tp_methods of the complete type.
DLBRIDGE_LOCAL inline PyMethodDef* tensor_methods() noexcept {
  static PyMethodDef table[] = {
      dlpack_row(),
      dlpack_device_row(),
      {"__array__", method(&array_method), METH_VARARGS | METH_KEYWORDS,
       "__array__($self, /, dtype=None, copy=None)\n--\n\n"
       "Return a NumPy array on the same memory.\n\n"
       "Parameters\n----------\n"
       "dtype : numpy.dtype, optional\n    The dtype to which the elements are converted.\n"
       "copy : bool, optional\n    As for numpy.array.\n\n"
       "Returns\n-------\nnumpy.ndarray\n\n"
       "Raises\n------\n"
       "BufferError\n"
       "    If the CPU cannot read the memory, or neither NumPy nor ml_dtypes has the dtype."},
      {"__reduce_ex__", method(&reduce_method), METH_O,
       "__reduce_ex__($self, protocol, /)\n--\n\n"
       "Support pickle for tensors in host memory.\n\n"
       "From protocol 5 on the bytes are an out-of-band buffer. The tensor is copied only if\n"
       "it is not compact.\n\n"
       "Raises\n------\nTypeError\n    If the CPU cannot read the memory."},
      {"__complex__", &complex_method, METH_NOARGS,
       "__complex__($self, /)\n--\n\nReturn the only element as a complex. Errors as item."},
      {"__format__", &format_method, METH_O,
       "__format__($self, format, /)\n--\n\n"
       "Format the element of a 0-d tensor; str(t) without a format.\n\n"
       "Raises\n------\nTypeError\n    If the tensor is not 0-d, and format is not empty."},
      {"_repr_html_", &html_method, METH_NOARGS,
       "_repr_html_($self, /)\n--\n\nReturn a picture of the memory, for notebooks."},
      {"item", &item_method, METH_NOARGS,
       "item($self, /)\n--\n\n"
       "Return the only element as a Python bool, int, float or complex.\n\n"
       "Waits for the tensor's stream.\n\n"
       "Raises\n------\n"
       "ValueError\n    If the tensor has another number of elements.\n"
       "BufferError\n    If the CPU cannot read the memory.\n"
       "TypeError\n    If Python has no such number."},
      {"tolist", &tolist_method, METH_NOARGS,
       "tolist($self, /)\n--\n\n"
       "Return the elements as nested lists; the element itself for a 0-d tensor.\n\n"
       "Raises\n------\n"
       "BufferError\n    If the CPU cannot read the memory.\n"
       "TypeError\n    If Python has no such number."},
      {"tobytes", &tobytes_method, METH_NOARGS,
       "tobytes($self, /)\n--\n\n"
       "Return the bytes of the elements in row-major order.\n\n"
       "Raises\n------\nBufferError\n    If the CPU cannot read the memory."},
      {"to_numpy", &numpy_method, METH_NOARGS,
       "to_numpy($self, /)\n--\n\nAs numpy(), by the name that matplotlib and others call."},
      {"numpy", &numpy_method, METH_NOARGS,
       "numpy($self, /)\n--\n\n"
       "Return a NumPy array on the same memory, as np.asarray.\n\n"
       "Raises\n------\n"
       "BufferError\n"
       "    If the CPU cannot read the memory, or neither NumPy nor ml_dtypes has the dtype."},
      {"permute", &permute_method, METH_VARARGS,
       "permute($self, /, *axes)\n--\n\n"
       "Return a view whose dimension i is the dimension axes[i] of this tensor.\n\n"
       "Parameters\n----------\n"
       "*axes : int, or one tuple of int\n    Each axis once; negative ones count from the end.\n\n"
       "Raises\n------\nValueError\n    If axes is no permutation."},
      {"reshape", &reshape_method, METH_VARARGS,
       "reshape($self, /, *shape)\n--\n\n"
       "Return a view with another shape of the same elements in row-major order. Never copies.\n\n"
       "Parameters\n----------\n"
       "*shape : int, or one tuple of int\n    The extents, of which one may be -1.\n\n"
       "Raises\n------\n"
       "CopyForbiddenError\n    If the strides allow no such view.\n"
       "ValueError\n    If the shape has another number of elements."},
      {"view", method(&view_method), METH_VARARGS | METH_KEYWORDS,
       "view($self, /, dtype)\n--\n\n"
       "Return a view of the same bytes as elements of another dtype. Never copies.\n\n"
       "The last dimension changes by the ratio of the sizes.\n\n"
       "Raises\n------\n"
       "CopyForbiddenError\n"
       "    If the elements of the last dimension are not adjacent, or not aligned for the dtype.\n"
       "ValueError\n    If they are not a whole number of elements of the dtype."},
      {"to", method(&to_method), METH_VARARGS | METH_KEYWORDS,
       "to($self, /, device, *, stream=None, copy=None)\n--\n\n"
       "Return the tensor on a device, as dlbridge.from_dlpack(t, device=device).\n\n"
       "Shares the memory if the tensor is there already, unless copy is True. Parameters and\n"
       "errors are those of from_dlpack."},
      {"copy", &copy_method, METH_NOARGS,
       "copy($self, /)\n--\n\n"
       "Return a writable copy on the same device, as dlbridge.from_dlpack(t, copy=True).\n\n"
       "Of host memory that a driver allocated, the copy is on the CPU where the driver is\n"
       "missing.\n\n"
       "Raises\n------\n"
       "BufferError\n    If dlbridge cannot copy memory of this device.\n"
       "RuntimeError\n    If the driver of the device is missing or fails."},
      {"ravel", &ravel_method, METH_NOARGS,
       "ravel($self, /)\n--\n\n"
       "Return the elements in row-major order in one dimension; copies where no view can.\n\n"
       "Raises\n------\nException\n    As copy."},
      {"synchronize", &synchronize_method, METH_NOARGS,
       "synchronize($self, /)\n--\n\n"
       "Block this thread until the elements are ready.\n\n"
       "Waits for the work on the tensor's stream, with the GIL released. Returns at once for\n"
       "memory of the CPU. Buffers, __array__, bool() and pickling wait on their own.\n\n"
       "Raises\n------\nRuntimeError\n"
       "    If the stream is being captured, or the driver fails.\n"
       "ValueError\n    If the queue of a tensor on oneAPI is not known."},
      {"record_stream", &record_stream_method, METH_O,
       "record_stream($self, stream, /)\n--\n\n"
       "Keep the memory until the work that is on a stream when it is dropped has completed.\n\n"
       "For memory of a device that dlbridge allocated, and a stream on which the caller\n"
       "uses its elements.\n\n"
       "Parameters\n----------\n"
       "stream : int or object\n"
       "    As for from_dlpack. A stream that is given as an integer must exist as long as the\n"
       "    memory.\n\n"
       "Raises\n------\nValueError\n"
       "    If the memory belongs to another library, or stream has an invalid value."},
      {nullptr, nullptr, 0, nullptr}};
  return table;
}
}  // namespace core DLBRIDGE_LOCAL

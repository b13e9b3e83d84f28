// numpy, ctypes, __array_interface__, __numpy_dtype__: give NumPy the elements of a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "tensor/tensor_attributes.hpp"
#include "tensor/tensor_values.hpp"

namespace core DLBRIDGE_LOCAL {
// The same for an attribute that NumPy computes, where NumPy is missing or cannot describe the
// tensor. Other exceptions stay pending.
[[noreturn]] DLBRIDGE_COLD inline void lacks_numpy_attribute(tensor_view const& view,
                                                             char const* name) {
  require(
      (PyErr_ExceptionMatches(PyExc_ImportError) || PyErr_ExceptionMatches(PyExc_BufferError)) &&
      suppress_exception());
  lacks_attribute(view, name);
}

// ctypes: as that of an ndarray, for libraries that read ctypes.data.
inline ref array_ctypes(PyObject* object, void*) {
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  ref const array = numpy ? to_numpy(object, numpy.get()) : ref();
  if (!array) {
    lacks_numpy_attribute(tensor_in(object).view, "ctypes");
  }
  return checked(api<PyObject_GetAttrString>(array.get(), "ctypes"));
}

// numpy()
inline ref numpy_array(PyObject* object, PyObject*) {
  tensor_view const& view = tensor_in(object).view;
  if (!is_host_accessible(view.device())) {
    fail(refusal(errc::device_mismatch, "memory that the CPU can read", name_of(view).c_str(),
                 advice_to_copy(view, "Copy it first, with t.to('cpu').numpy()")),
         "numpy");
  }
  return to_numpy(object, checked(api<PyImport_ImportModule>("numpy")).get());
}

// __array_interface__, unless the CPU cannot read the memory or the dtype has no typestr. It waits
// for the tensor's stream.
DLBRIDGE_COLD inline ref array_interface(PyObject* object, void*) {
  ref const kept = ref::borrow(object);
  tensor_object const& self = tensor_in(object);
  tensor_view const& view = self.view;
  format_row const* const format = find_format(view.dtype());
  if (!is_host_accessible(view.device()) || format == nullptr) {
    lacks_attribute(view, "__array_interface__");
  }
  require(wait_until_ready(self));
  // NumPy states no strides for a row-major array, and Pillow copies where there are any.
  ref const strides =
      view.is_row_major() ? ref::borrow(Py_None) : strides_tuple(view, element_bytes(view.dtype()));
  return make_interface(view, *format, checked(PyLong_FromVoidPtr(nonnull_address(view))).get(),
                        strides.get());
}

// __numpy_dtype__: NumPy 2.4 and later read the dtype of an object from this attribute if the
// object's attribute `dtype` is not a NumPy dtype. AttributeError without NumPy, and for a dtype
// that neither NumPy nor ml_dtypes has.
inline ref numpy_dtype(PyObject* object, void*) {
  tensor_view const& view = tensor_in(object).view;
  format_row const* const format = find_format(view.dtype());
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    lacks_attribute(view, "__numpy_dtype__");
  }
  ref const make = import_function("numpy", "dtype");
  ref const type = !make               ? ref()
                   : format != nullptr ? to_python(typestr_of(*format).c_str())
                                       : dtype_of_ml_dtypes(view);
  if (!type) {
    lacks_numpy_attribute(view, "__numpy_dtype__");
  }
  return checked(api<PyObject_CallOneArg>(make.get(), type.get()));
}
}  // namespace core DLBRIDGE_LOCAL

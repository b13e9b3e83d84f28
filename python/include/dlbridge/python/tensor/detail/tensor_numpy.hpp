// numpy, ctypes, __array_interface__, __numpy_dtype__: give NumPy the elements of a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/tensor_attributes.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_values.hpp>
#include <dlbridge/view.hpp>

namespace core DLBRIDGE_LOCAL {
DLBRIDGE_COLD inline PyObject* lacks_attribute(tensor_view const& view, char const* name) noexcept {
  api<PyErr_Format>(PyExc_AttributeError, "a tensor %s has no %s", name_of(view).c_str(), name);
  return nullptr;
}

// The same for an attribute that NumPy computes, where NumPy is missing or cannot describe the
// tensor. Other exceptions stay pending.
DLBRIDGE_COLD inline PyObject* lacks_numpy_attribute(tensor_view const& view,
                                                     char const* name) noexcept {
  bool const is_missing =
      PyErr_ExceptionMatches(PyExc_ImportError) || PyErr_ExceptionMatches(PyExc_BufferError);
  return is_missing && suppress_exception() ? lacks_attribute(view, name) : nullptr;
}

// ctypes: as that of an ndarray, for libraries that read ctypes.data. AttributeError, so that
// hasattr returns False, where there is none.
inline PyObject* get_ctypes(PyObject* object, void*) noexcept {
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  ref const array = numpy ? to_numpy(object, numpy.get()) : ref();
  return array ? api<PyObject_GetAttrString>(array.get(), "ctypes")
               : lacks_numpy_attribute(tensor_in(object).view, "ctypes");
}

// numpy()
inline PyObject* numpy_method(PyObject* object, PyObject*) noexcept {
  tensor_view const& view = tensor_in(object).view;
  if (!is_host_accessible(view.device())) {
    set_error(refusal(errc::device_mismatch, "memory that the CPU can read", name_of(view).c_str(),
                      advice_to_copy(view, "Copy it first, with t.to('cpu').numpy()")),
              "numpy");
    return nullptr;
  }
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  return numpy ? to_numpy(object, numpy.get()).release() : nullptr;
}

// __array_interface__. AttributeError, so that hasattr returns False, unless the CPU can read the
// memory and the dtype has a typestr. It waits for the tensor's stream.
DLBRIDGE_COLD inline PyObject* get_array_interface(PyObject* object, void*) noexcept {
  ref const kept = ref::borrow(object);
  tensor_object const& self = tensor_in(object);
  tensor_view const& view = self.view;
  format_row const* const format = find_format(view.dtype());
  if (!is_host_accessible(view.device()) || format == nullptr) {
    return lacks_attribute(view, "__array_interface__");
  }
  if (!wait_until_ready(self)) {
    return nullptr;
  }
  ref const shape = int_tuple(view.rank(), view.shape());
  // NumPy states none for a row-major array, and Pillow copies where there are any.
  ref const strides =
      view.is_row_major() ? ref::borrow(Py_None) : strides_tuple(view, element_bytes(view.dtype()));
  ref const address = ref::steal(PyLong_FromVoidPtr(nonnull_address(view)));
  return shape && strides && address
             ? api<Py_BuildValue>("{s:O,s:s,s:(OO),s:O,s:i}", "shape", shape.get(), "typestr",
                                  typestr_of(*format).c_str(), "data", address.get(),
                                  view.read_only() ? Py_True : Py_False, "strides", strides.get(),
                                  "version", 3)
             : nullptr;
}

// __numpy_dtype__: NumPy 2.4 and later read the dtype of an object from this attribute if the
// object's attribute `dtype` is not a NumPy dtype. AttributeError without NumPy, and for a dtype
// that neither NumPy nor ml_dtypes has.
inline PyObject* get_numpy_dtype(PyObject* object, void*) noexcept {
  tensor_view const& view = tensor_in(object).view;
  format_row const* const format = find_format(view.dtype());
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    return lacks_attribute(view, "__numpy_dtype__");
  }
  ref const make = import_function("numpy", "dtype");
  ref const type = !make ? ref()
                   : format != nullptr
                       ? ref::steal(api<PyUnicode_FromString>(typestr_of(*format).c_str()))
                       : dtype_of_ml_dtypes(view);
  return type ? api<PyObject_CallOneArg>(make.get(), type.get())
              : lacks_numpy_attribute(view, "__numpy_dtype__");
}
}  // namespace core DLBRIDGE_LOCAL

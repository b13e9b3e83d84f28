// __array__, numpy, __array_interface__, __numpy_dtype__: give NumPy the elements of a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_attributes.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_truth.hpp>
#include <dlbridge/python/tensor/detail/tensor_views.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// The same elements as unsigned integers of their size, for a dtype without a PEP 3118 format.
inline ref as_unsigned(PyObject* object) noexcept {
  description d = describe_view(tensor_in(object).view);
  d.type = dtype(kDLUInt, static_cast<int>(element_bytes(d.type) * 8));
  return retyped(object, d);
}

// The dtype of ml_dtypes for a dtype that NumPy lacks. Empty, with BufferError set, if there is
// none.
inline ref dtype_of_ml_dtypes(tensor_view const& view) noexcept {
  ref const types = ref::steal(api<PyImport_ImportModule>("ml_dtypes"));
  ref type =
      types ? ref::steal(api<PyObject_GetAttrString>(types.get(), name_of(view.dtype()).c_str()))
            : ref();
  if (!type &&
      (PyErr_ExceptionMatches(PyExc_ImportError) || PyErr_ExceptionMatches(PyExc_AttributeError))) {
    set_error(refusal(errc::dtype_mismatch, "a dtype that NumPy or ml_dtypes has",
                      name_of(view).c_str(),
                      types ? "View it as another dtype, with t.view(...), or convert it first"
                            : "Install ml_dtypes, or convert it first"));
  }
  return type;
}

// A NumPy array on the tensor's memory. The dtypes that NumPy lacks, such as bfloat16, are those of
// ml_dtypes.
DLBRIDGE_COLD inline ref to_numpy(PyObject* object, PyObject* numpy) noexcept {
  tensor_view const& view = tensor_in(object).view;
  if (find_format(view.dtype()) != nullptr || !is_host_accessible(view.device())) {
    ref const memory = ref::steal(api<PyMemoryView_FromObject>(object));
    return memory ? ref::steal(api<PyObject_CallMethod>(numpy, "asarray", "O", memory.get()))
                  : ref();
  }
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    report r = refusal(errc::dtype_mismatch, "elements of whole bytes", name_of(view).c_str(),
                       "NumPy has no packed dtypes; unpack it first");
    r.got.append(", packed");
    set_error(r);
    return ref();
  }
  ref const type = dtype_of_ml_dtypes(view);
  if (!type) {
    return ref();
  }
  ref const plain = as_unsigned(object);
  ref const array = plain ? to_numpy(plain.get(), numpy) : ref();
  return array ? ref::steal(api<PyObject_CallMethod>(array.get(), "view", "O", type.get())) : ref();
}

// __array__(dtype=None, copy=None), which np.asarray calls when the buffer protocol fails.
inline PyObject* array_method(PyObject* object, PyObject* arguments, PyObject* keywords) noexcept {
  char const* accepted[] = {"dtype", "copy", nullptr};
  PyObject* type = Py_None;
  PyObject* copy = Py_None;
  if (!api<PyArg_ParseTupleAndKeywords>(arguments, keywords, "|OO:__array__",
                                        const_cast<char**>(accepted), &type, &copy)) {
    return nullptr;
  }
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  ref array = numpy ? to_numpy(object, numpy.get()) : ref();
  if (!array || (type == Py_None && copy == Py_None)) {
    return array.release();
  }
  ref const positional = ref::steal(api<PyTuple_Pack>(1, array.get()));
  ref const named = copy == Py_None
                        ? ref::steal(api<Py_BuildValue>("{s:O}", "dtype", type))
                        : ref::steal(api<Py_BuildValue>("{s:O,s:O}", "dtype", type, "copy", copy));
  ref const function =
      ref::steal(api<PyObject_GetAttrString>(numpy.get(), copy == Py_None ? "asarray" : "array"));
  return positional && named && function
             ? api<PyObject_Call>(function.get(), positional.get(), named.get())
             : nullptr;
}

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
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
